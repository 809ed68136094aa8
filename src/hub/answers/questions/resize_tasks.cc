// Tasks that are to have other requests. Nothing is changed unless every named task can be; of
// whole jobs, and of several tasks, those that cannot are listed.
#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/ranges.h"
#include "hub/answers/meant.h"
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

using Outcome = wire::ResizeTasks::Answer;

// Running tasks of one question; each of them is a record and an order of its own.
constexpr size_t kMostRunning = 1'000;
constexpr size_t kMostRefused = 100;

void Refuse(Outcome& answer, JobId job, TaskIndex index, std::string why) {
  if (answer.refused.size() == kMostRefused) {
    ++answer.more_refused;
  } else {
    answer.refused.push_back({job, index + 1, std::move(why)});
  }
}

std::vector<engine::Engine::LeasedOn> RunningOf(const Jobs& jobs, const Meant& meant) {
  auto leases = jobs.engine().LeasesOf(meant.job);
  std::erase_if(leases, [&](const auto& each) {
    return !meant.whole && !SortedContains(meant.tasks.tasks, each.ref.index);
  });
  // A gang's parts are one task.
  std::set<TaskIndex> seen;
  std::erase_if(leases, [&](const auto& each) { return !seen.insert(each.ref.index).second; });
  return leases;
}

// The tasks that are to be changed, without those that cannot be.
std::vector<TaskRange> Changeable(const Jobs& jobs, const Meant& meant, const TaskSize& to,
                                  Instant now, Outcome& answer) {
  const engine::Engine& engine = jobs.engine();
  std::set<TaskIndex> refused;
  for (const auto& each : RunningOf(jobs, meant)) {
    std::string why = engine.WhyNotResized(meant.job, each.ref.index, to, now);
    if (why.empty()) continue;
    refused.insert(each.ref.index);
    Refuse(answer, meant.job, each.ref.index, std::move(why));
  }
  std::vector<TaskRange> tasks = meant.whole ? engine.Unended(meant.job) : meant.tasks.tasks;
  std::vector<TaskRange> kept;
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (refused.contains(i)) continue;
      if (engine.StateOf(meant.job, i) == TaskState::kQueued) {
        ++answer.queued;
        // Only of gangs: others wait until a node has room.
        std::string why = meant.whole ? "" : engine.WhyNotResized(meant.job, i, to, now);
        if (!why.empty()) {
          --answer.queued;
          Refuse(answer, meant.job, i, std::move(why));
          continue;
        }
      }
      AppendIndex(kept, i);
    }
  }
  return kept;
}

// How far the change has come.
void CountAnswers(const Jobs& jobs, const Nodes& nodes, const std::vector<Meant>& all,
                  Instant since, Outcome& answer) {
  std::set<NodeId> unanswered;
  for (const Meant& meant : all) {
    for (const auto& each : RunningOf(jobs, meant)) {
      auto fact = jobs.engine().ResizeOf(meant.job, each.ref.index);
      if (!fact || fact->since < since) continue;
      if (fact->stage == ResizeStage::kDone) ++answer.done;
      if (fact->stage == ResizeStage::kRefused) {
        Refuse(answer, meant.job, each.ref.index, fact->reason);
      }
      if (fact->stage != ResizeStage::kOrdered) continue;
      ++answer.ordered;
      unanswered.insert(each.node);
    }
  }
  for (NodeId id : unanswered) {
    auto node = nodes.all().find(id);
    if (node != nodes.all().end()) answer.unanswered.push_back(node->second.row.name);
  }
}

Status Check(const wire::ResizeTasks& asked) {
  const TaskSize& to = asked.to;
  if (to.memory.value_or(0) > kLimits.size) return wire::Defect("to.memory", "is out of range");
  if (to.memory == uint64_t{0}) return wire::Defect("to.memory", "is out of range");
  const Duration limit = to.time_limit.value_or(Duration{1});
  return limit.ns <= 0 ? wire::Defect("to.time_limit", "is out of range") : Status();
}

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ResizeTasks& asked) {
  Jobs& jobs = hub.jobs;
  const Nodes& nodes = hub.nodes;
  Outcome done;
  const auto all =
      TRY(PickMeant(asking, jobs, asked.jobs, asked.tasks, /*running_only=*/false, done.ended));
  if (asked.look) {
    done.since = *asked.look;
    CountAnswers(jobs, nodes, all, done.since, done);
    return asking.EndWhenSettled(std::move(done));
  }
  if (asked.to.empty()) return Fail(ErrorKind::kInvalid, "nothing to change");
  size_t running = 0;
  for (const Meant& meant : all) running += RunningOf(jobs, meant).size();
  if (running > kMostRunning) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("these are {} running tasks; at most {} can be changed at once",
                            FormatCount(running), FormatCount(kMostRunning)));
  }
  const Instant now = jobs.loop().Now();
  std::vector<std::pair<JobId, std::vector<TaskRange>>> orders;
  uint64_t changes = 0;
  for (const Meant& meant : all) {
    auto tasks = Changeable(jobs, meant, asked.to, now, done);
    if (tasks.empty()) continue;
    // A new time limit of the whole job counts for tasks that are added, too.
    const bool whole = meant.whole && done.refused.empty();
    orders.emplace_back(meant.job, whole ? std::vector<TaskRange>() : std::move(tasks));
    changes += 2;
  }
  if (!TRY(asking.client.MayChange(changes + 2 * running))) return {};
  if (orders.empty() && done.refused.size() == 1) {
    const auto& [job, task, why] = done.refused.front();
    return Fail(ErrorKind::kInvalid, fmt::format("task {}: {}", NameOf(job, task), why),
                SeeAlso("task info", NameOf(job, task)));
  }
  for (auto& [job, tasks] : orders) {
    jobs.hub().Post(engine::ResizeTasks{job, std::move(tasks), asked.to, asking.caller().user});
  }
  asking.client.WhenSettled([client = &asking.client, &jobs, &nodes, all, done, now, running] {
    Outcome answer = done;
    answer.since = now;
    CountAnswers(jobs, nodes, all, now, answer);
    const size_t changed = answer.ordered + answer.done + answer.refused.size();
    answer.same = static_cast<uint32_t>(running - std::min(running, changed));
    client->SendAnswer(answer);
    client->End();
  });
  return {};
}

}  // namespace

extern const HubQuestion kResizeTasks = QuestionOf<wire::ResizeTasks, Answer, Check>(
    {.who = kOwner, .cost = {.node = 5'000, .run = 8'000, .task = 3, .named = 20'000}});

}  // namespace spate::hub
