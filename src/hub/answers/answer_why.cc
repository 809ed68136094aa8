// Why tasks and jobs wait.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hub/answers/answers.h"
#include "hub/answers/pick.h"

namespace spate::hub {
namespace {

// Each may be a walk over a job's tasks.
constexpr size_t kMostExplained = 1'000;
constexpr size_t kMostLookedAt = 50;
constexpr size_t kMostLeftRunning = 1000;

// What waits for a node may wait for a pilot. `request`: what it requests, if that is known.
void AddPools(const engine::Engine& engine, const Pools& pools, JobId job,
              const std::optional<TaskClass>& request, Why& why) {
  if (why.empty() || pools.count() == 0) return;
  auto info = engine.Info(job);
  if (!info || !request || info->held != HoldReason::kNone) return;
  AppendNext(why, pools.Explain(info->user, *request));
}

// Empty: it does not wait for what its command left running.
Why WhyLeftRunning(const Nodes& nodes, JobId job, uint32_t task) {
  for (const LeftRunningFacts& left : nodes.LeftRunning(job, SIZE_MAX)) {
    if (left.task != task) continue;
    return {{ReasonKind::kLeftRunning, {}, {}, {left.processes, left.node}}};
  }
  return {};
}

// Of a task that a node has, and is not known to run.
Why WhyGiven(const engine::Engine& engine, const Nodes& nodes, const AttemptRef& ref) {
  for (const auto& [id, node] : nodes.all()) {
    if (!node.channel || !engine.Holds(id, ref)) continue;
    Why why = Nodes::WhyHeldUp(node, ref.job);
    if (!why.empty()) return why;
    return {{ReasonKind::kGiven, {}, {}, {node.row.name}}};
  }
  return {{ReasonKind::kGiven}};
}

// Leased tasks of which nothing else is to be said, by attempt: where they run, as nodes have told.
// Cost: the slots of all nodes, and all nodes for each of the first kMostLookedAt that do not run.
void TellGiven(const engine::Engine& engine, const Nodes& nodes, std::set<AttemptRef> leased,
               Instant now, std::vector<TaskWhy>& answers) {
  if (leased.empty()) return;
  for (const auto& [id, node] : nodes.all()) {
    if (!node.state) continue;
    for (const wire::NodeState::Run& run : node.state->runs) {
      if (leased.erase(run.ref) == 0) continue;
      const Duration since = std::max(now - run.since, Duration());
      answers.push_back(
          {run.ref.job, run.ref.index + 1, {{ReasonKind::kRunning, {}, {since}, {node.row.name}}}});
    }
  }
  size_t left = kMostLookedAt;
  for (const AttemptRef& ref : leased) {
    Why why = left > 0 ? WhyGiven(engine, nodes, ref) : Why{{ReasonKind::kGiven}};
    left -= left > 0;
    answers.push_back({ref.job, ref.index + 1, std::move(why)});
  }
}

}  // namespace

Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, const Pools& pools,
              const wire::ExplainTasks& asked) {
  const engine::Engine& engine = jobs.engine();
  if (asked.tasks.size() > kMostExplained) {
    return Fail(ErrorKind::kInvalid, fmt::format("these are more than {} tasks; name fewer at once",
                                                 FormatCount(kMostExplained)));
  }
  std::vector<TaskWhy> answers;
  std::set<AttemptRef> leased;
  for (const TasksOfJob& tasks : asked.tasks) {
    auto job = TRY(PickJob(jobs, asking.caller(), tasks));
    uint32_t number = tasks.ranges.empty() ? 1 : tasks.ranges.front().first;
    auto counts = engine.Counts(job);
    bool here = counts && number <= counts->total;
    Why why = here ? engine.Explain(job, number - 1, asking.now) : Why();
    const bool queued = engine.StateOf(job, number - 1) == TaskState::kQueued;
    if (queued) AddPools(engine, pools, job, engine.ClassOf(job, number - 1), why);
    if (why.empty() && here) why = WhyLeftRunning(nodes, job, number);
    if (!why.empty()) {
      answers.push_back({job, number, std::move(why)});
    } else if (auto ref = engine.CurrentLease(job, number - 1)) {
      leased.insert(*ref);
    }
  }
  TellGiven(engine, nodes, std::move(leased), asking.now, answers);
  if (answers.empty()) return Fail(ErrorKind::kNotFound, "the journal tells of these tasks");
  std::ranges::sort(answers, {},
                    [](const TaskWhy& each) { return std::pair(each.job, each.task); });
  for (const TaskWhy& answer : answers) asking.Give(answer);
  asking.End();
  return {};
}

Status Answer(Asking& asking, Jobs& jobs, const Nodes& nodes, const Pools& pools,
              const wire::LookAtJobs& asked) {
  auto named = TRY(NamedJobs(jobs, asking.caller(), asked.jobs));
  size_t left = kMostLookedAt;
  for (JobId job : named) {
    if (!jobs.CheckRight(asking.caller(), job)) continue;
    const KnownJobs::Job* entry = jobs.known().Find(job);
    if (entry == nullptr || entry->finished) continue;
    Why waits = jobs.engine().WhyWaits(job, asking.now);
    if (waits.empty()) waits = nodes.WhyHeldUp(job);
    AddPools(jobs.engine(), pools, job, jobs.engine().NewestRequest(job), waits);
    wire::JobNow now{job,
                     entry->held,
                     nodes.connected(),
                     jobs.known().WhyStalled(job),
                     std::move(waits),
                     nodes.LeftRunning(job, kMostLeftRunning),
                     {},
                     {}};
    if (asked.shell && named.size() == 1) {  // it is read from disk
      auto settings = TRY(jobs.ReadSettings(job));
      now.shell = settings->shell;
      for (const std::string& variable : settings->environment) {
        now.variables.push_back(variable.substr(0, variable.find('=')));
      }
    }
    asking.Give(std::move(now));
    if (--left == 0) break;
  }
  asking.End();
  return {};
}

}  // namespace spate::hub
