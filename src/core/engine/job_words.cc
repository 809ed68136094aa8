#include "core/engine/job_words.h"

namespace spate::engine {

void JobWords::Add(const Record& record, JobId job) {
  if (const auto* hold = std::get_if<JobHeld>(&record)) {
    held_at = hold->at;
  } else if (const auto* sick = std::get_if<NodeSick>(&record)) {
    if (sick->job == job) why_aside[sick->node] = sick->text;
  } else if (const auto* all = std::get_if<JobCancelled>(&record)) {
    cancelled.push_back({{}, all->reason});
  } else if (const auto* some = std::get_if<TasksCancelled>(&record)) {
    cancelled.push_back({some->tasks, some->reason});
  } else if (const auto* gone = std::get_if<TasksWithdrawn>(&record)) {
    if (gone->reason.empty() && !gone->parent) return;
    cancelled.push_back({gone->tasks, gone->reason, gone->parent});
  } else if (const auto* steered = std::get_if<JobSteered>(&record)) {
    if (!steered->excess || steered->tasks.empty()) return;
    if (excesses.size() == JobDetails::kMostExcesses) excesses.erase(excesses.begin());
    excesses.push_back({steered->tasks.front().first + 1, steered->at, *steered->excess});
  } else if (const auto* gang = std::get_if<GangReserved>(&record)) {
    GangStory& story = stories[gang->index];
    if (story_ended.erase(gang->index) > 0) story = {};
    if (story.news.size() == GangStory::kMost) {
      story.news.erase(story.news.begin() + 1);
      ++story.left_out;
    }
    auto told = [&](Instant at) { return at == Instant::Never() ? at : at + gang->clock_ahead; };
    story.news.push_back({told(gang->at), told(gang->told()), gang->reason});
    newest_story = gang->index;
  } else if (const auto* leased = std::get_if<GangLeased>(&record)) {
    if (!stories.contains(leased->index)) return;
    if (story_ended.insert(leased->index).second) return;
    stories.erase(leased->index);  // of a try before
    if (newest_story == leased->index) newest_story.reset();
  }
}

}  // namespace spate::engine
