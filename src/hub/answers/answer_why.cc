// Why tasks and jobs wait.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
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
constexpr size_t kMostRunning = 1000;

// A task that waits for a node may wait for a pilot. `request`: its request, if known.
void AddPools(const engine::Engine& engine, const Pools& pools, JobId job,
              const std::optional<TaskClass>& request, Why& why) {
  if (why.empty()) return;
  auto info = engine.Info(job);
  if (!info || !request || info->held != HoldReason::kNone) return;
  AppendPools(why, pools.Explain(info->user, *request));
}

// Empty: it does not wait for what its command left running.
Why WhyLeftRunning(const Nodes& nodes, JobId job, uint32_t task) {
  for (const LeftRunningFacts& left : nodes.LeftRunning(job, SIZE_MAX)) {
    if (left.task != task) continue;
    return {{ReasonKind::kLeftRunning, {}, {}, {left.processes, left.node}}};
  }
  return {};
}

// The reason for a task that a node has, and that is not known to run.
Why WhyGiven(const engine::Engine& engine, const Nodes& nodes, const AttemptRef& ref) {
  for (const auto& [id, node] : nodes.all()) {
    if (!node.channel || !engine.Holds(id, ref)) continue;
    Why why = Nodes::WhyHeldUp(node, ref.job);
    if (!why.empty()) return why;
    return {{ReasonKind::kGiven, {}, {}, {node.row.name}}};
  }
  return {{ReasonKind::kGiven}};
}

using RunsOfJob = std::map<TaskIndex, std::vector<RunningFacts>>;

// The ranks that a node has of a gang.
void AddRanks(const std::vector<engine::GangLeased::Part>& parts, NodeId node,
              RunningFacts& facts) {
  uint32_t first = 0;
  for (const engine::GangLeased::Part& part : parts) {
    if (part.node == node) {
      facts.first_rank = first;
      facts.ranks = part.procs;
    }
    first += part.procs;
  }
}

// Places of wanted tasks that nodes have told to run, up to `most` in all. Cost: the slots of the
// nodes that have told of the job's tasks.
RunsOfJob RunsOf(const engine::Engine& engine, const Nodes& nodes, JobId job,
                 const std::function<bool(const AttemptRef&)>& is_wanted, size_t most = SIZE_MAX) {
  RunsOfJob runs;
  std::map<TaskIndex, std::vector<engine::GangLeased::Part>> parts;
  for (NodeId id : nodes.WithRunsOf(job)) {
    const Nodes::Node& node = nodes.all().at(id);
    if (node.waits) continue;  // it has not been heard since
    for (const wire::NodeState::Run& run : node.state->runs) {
      const AttemptRef& ref = run.ref;
      // Its end may be known here before the node's next word.
      if (ref.job != job || !is_wanted(ref) || !engine.Holds(id, ref)) continue;
      if (most-- == 0) return runs;
      RunningFacts facts{ref.index + 1, ref.attempt.value, node.row.name,
                         nodes.loop().ToWall(run.since)};
      auto [gang, is_new] = parts.try_emplace(ref.index);
      if (is_new) gang->second = engine.PartsOf(job, ref.index);
      AddRanks(gang->second, id, facts);
      runs[ref.index].push_back(std::move(facts));
    }
  }
  for (auto& [index, of_task] : runs) std::ranges::sort(of_task, {}, &RunningFacts::first_rank);
  return runs;
}

// Leased tasks of which nothing else is to be said: where they run, as nodes have told. Cost: the
// slots of the nodes that have told of their jobs' tasks, and all nodes for each of the first
// kMostLookedAt that do not run.
void TellGiven(const engine::Engine& engine, const Nodes& nodes,
               const std::map<JobId, std::set<AttemptRef>>& leased, std::vector<TaskWhy>& answers) {
  size_t left = kMostLookedAt;
  for (const auto& [job, refs] : leased) {
    RunsOfJob runs =
        RunsOf(engine, nodes, job, [&](const AttemptRef& ref) { return refs.contains(ref); });
    for (const AttemptRef& ref : refs) {
      TaskWhy& answer = answers.emplace_back(TaskWhy{job, ref.index + 1});
      if (auto run = runs.find(ref.index); run != runs.end()) {
        answer.running = std::move(run->second);
        const RunningFacts& first = answer.running.front();
        const Duration since = std::max(nodes.loop().Wall() - first.since, Duration());
        answer.why = {{ReasonKind::kRunning, {}, {since}, {first.node}}};
      } else {
        answer.why = left > 0 ? WhyGiven(engine, nodes, ref) : Why{{ReasonKind::kGiven}};
        left -= left > 0;
      }
    }
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
  std::map<JobId, std::set<AttemptRef>> leased;
  for (const TasksOfJob& tasks : asked.tasks) {
    auto job = TRY(PickJob(jobs, asking.caller(), tasks));
    uint32_t number = tasks.ranges.empty() ? 1 : tasks.ranges.front().first;
    auto counts = engine.Counts(job);
    bool here = counts && number <= counts->total;
    Why why = here ? engine.Explain(job, number - 1, asking.now) : Why();
    const bool queued = engine.StateOf(job, number - 1) == TaskState::kQueued;
    why = nodes.Complete(std::move(why));
    if (queued) AddPools(engine, pools, job, engine.ClassOf(job, number - 1), why);
    if (why.empty() && here) why = WhyLeftRunning(nodes, job, number);
    if (!why.empty()) {
      answers.push_back({job, number, std::move(why)});
    } else if (auto ref = engine.CurrentLease(job, number - 1)) {
      leased[job].insert(*ref);
    }
  }
  TellGiven(engine, nodes, leased, answers);
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
    // Tasks that a node was given are next.
    Why waits = nodes.Complete(jobs.engine().WhyStalled(job, asking.now));
    const bool may_start = waits.empty() && entry->held == HoldReason::kNone;
    Why here = may_start ? nodes.WhyHeldUp(job) : Why();
    if (waits.empty() && here.empty()) {
      waits = nodes.Complete(jobs.engine().WhyWaits(job, asking.now));
    }
    AddPools(jobs.engine(), pools, job, jobs.engine().NewestRequest(job), waits);
    if (waits.empty()) waits = std::move(here);
    wire::JobNow now{job,
                     entry->held,
                     nodes.connected(),
                     jobs.known().WhyStalled(job),
                     std::move(waits),
                     nodes.LeftRunning(job, kMostLeftRunning),
                     /*bash=*/false,
                     {}};
    for (auto& [index, of_task] :
         RunsOf(jobs.engine(), nodes, job, [](const AttemptRef&) { return true; }, kMostRunning)) {
      std::ranges::move(of_task, std::back_inserter(now.running));
    }
    if (asked.shell && named.size() == 1) {  // it is read from disk
      auto settings = TRY(jobs.hub().SettingsOf(job));
      now.bash = settings->bash;
    }
    asking.Give(std::move(now));
    if (--left == 0) break;
  }
  asking.End();
  return {};
}

}  // namespace spate::hub
