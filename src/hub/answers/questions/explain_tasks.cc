// Why tasks wait, or where they run.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "hub/answers/pick.h"
#include "hub/answers/question.h"
#include "hub/answers/task_facts.h"

namespace spate::hub {
namespace {

// Each may be a walk over a job's tasks.
constexpr size_t kMostExplained = 1'000;
constexpr size_t kMostGivenLookedAt = 50;

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

// Leased tasks of which nothing else is to be said: where they run, as nodes have told. Cost: the
// slots of the nodes that have told of their jobs' tasks, and all nodes for each of the first
// kMostGivenLookedAt that do not run.
void TellGiven(const engine::Engine& engine, const Nodes& nodes,
               const std::map<JobId, std::set<AttemptRef>>& leased, std::vector<TaskWhy>& answers) {
  size_t left = kMostGivenLookedAt;
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

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ExplainTasks& asked) {
  Jobs& jobs = hub.jobs;
  const Nodes& nodes = hub.nodes;
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
    if (queued) AddPools(engine, hub.pools, job, engine.ClassOf(job, number - 1), why);
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
  for (const TaskWhy& answer : answers) return asking.EndWith(answer);
}

}  // namespace

extern const HubQuestion kExplainTasks = QuestionOf<wire::ExplainTasks, Answer>(
    {.who = kOwner, .cost = kNamedRuns, .tells = "why others go before"});

}  // namespace spate::hub
