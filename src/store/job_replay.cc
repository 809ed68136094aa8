#include "store/job_replay.h"

#include "store/record_job.h"

namespace spate::store {
namespace {

void TakeWords(const engine::Record& record, JobId job, JobWords& words) {
  if (const auto* held = std::get_if<engine::JobHeld>(&record)) {
    words.held_at = held->at;
  } else if (const auto* sick = std::get_if<engine::NodeSick>(&record)) {
    if (sick->job == job) words.why_aside[sick->node] = sick->text;
  } else if (const auto* all = std::get_if<engine::JobCancelled>(&record)) {
    words.cancelled.push_back({{}, all->reason});
  } else if (const auto* some = std::get_if<engine::TasksCancelled>(&record)) {
    words.cancelled.push_back({some->tasks, some->reason});
  } else if (const auto* gone = std::get_if<engine::TasksWithdrawn>(&record)) {
    if (gone->reason.empty() && !gone->parent) return;
    words.cancelled.push_back({gone->tasks, gone->reason, gone->parent});
  } else if (const auto* gang = std::get_if<engine::GangReserved>(&record)) {
    GangStory& story = words.stories[gang->index];
    if (words.story_ended.erase(gang->index) > 0) story = {};
    if (story.news.size() == GangStory::kMost) {
      story.news.erase(story.news.begin() + 1);
      ++story.left_out;
    }
    story.news.push_back({gang->at, gang->told(), gang->reason});
    words.newest_story = gang->index;
  } else if (const auto* leased = std::get_if<engine::GangLeased>(&record)) {
    if (!words.stories.contains(leased->index)) return;
    if (words.story_ended.insert(leased->index).second) return;
    words.stories.erase(leased->index);  // of a try before
    if (words.newest_story == leased->index) words.newest_story.reset();
  }
}

}  // namespace

const engine::JobState& JobReplay::job() const {
  static const engine::JobState kNone = [] {
    engine::Stirred stirred;
    return engine::JobState(JobId(), JobPlan(), stirred);
  }();
  const engine::JobState* job = state_.FindJob(job_);
  return job == nullptr ? kNone : *job;
}

bool JobReplay::IsOfJob(const engine::Record& record) const {
  JobId of = JobOf(record);
  return of == job_ || of == JobId();
}

bool JobReplay::Apply(uint64_t seq, const engine::Record& record) {
  if (!IsOfJob(record) || !state_.Admits(record)) return false;
  changes_.Clear();
  state_.Apply(record, changes_);
  if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
    TaskEnds& ends = ends_[ended->end.ref.index];
    ends.last_seq = seq;
    if (ended->verdict == Verdict::kPart) {
      ends.has_parts = true;
      return true;
    }
    if (ends.attempts < UINT16_MAX) ++ends.attempts;
    if (ended->counts && ends.tries < UINT16_MAX) ++ends.tries;
    return true;
  }
  if (const auto* reopened = std::get_if<engine::TasksReopened>(&record)) {
    for (TaskRange range : reopened->tasks) {
      for (uint32_t i = 0; i < range.count; ++i) ends_[range.first + i].tries = 0;
    }
  }
  TakeWords(record, job_, words_);
  ends_.resize(job().task_count());
  return true;
}

}  // namespace spate::store
