// All about a job.
#include <algorithm>

#include "history/job_facts.h"
#include "history/log_facts.h"
#include "history/pick.h"
#include "history/question.h"
#include "os/batch_job.h"

namespace spate::history {
namespace {

void AddTask(FailureFacts& kind, TaskIndex index) {
  ++kind.count;
  if (!kind.tasks.empty() && kind.tasks.back().first + kind.tasks.back().count == index) {
    ++kind.tasks.back().count;
  } else if (kind.tasks.size() < FailureFacts::kMostRanges) {
    kind.tasks.push_back({index, 1});
  }
}

// In which ways tasks failed, and on which nodes.
struct Failures {
  std::vector<FailureFacts> kinds;
  std::map<NodeId, uint64_t> by_node;
};

Result<Failures> FailuresOf(store::JobJournal& history) {
  std::map<std::pair<Cause, int32_t>, FailureFacts> kinds;
  Failures failures;
  uint32_t states =
      store::TaskFilter::Bit(TaskState::kFailed) | store::TaskFilter::Bit(TaskState::kUnknown);
  const store::TaskFilter filter{.states = states, .left_list = false};
  TRY(history.Tasks(filter, [&](const store::TaskSummary& task) {
    if (!task.last) return true;
    const AttemptEnd& end = task.last->record.end;
    FailureFacts& kind = kinds[{end.cause, end.status}];
    if (kind.count == 0) {
      kind.end = end;
      if (!IsCutOff(end)) kind.end.note.clear();
      kind.end.peak_memory = 0;
    }
    AddTask(kind, task.index);
    ++failures.by_node[task.last->record.node];
    return true;
  }));
  for (auto& [key, kind] : kinds) failures.kinds.push_back(std::move(kind));
  std::ranges::stable_sort(failures.kinds, std::greater<>(), &FailureFacts::count);
  return failures;
}

// A few failures may be their tasks' own.
Result<std::vector<BlamedFacts>> BlamedOf(const Source& source, const engine::JobState& job,
                                          const std::map<NodeId, uint64_t>& failed) {
  std::vector<BlamedFacts> blamed;
  for (const auto& [node, count] : failed) {
    if (count < kLimits.node_failures || job.SucceededOn(node) || !job.SucceededBeside(node)) {
      continue;
    }
    auto name = TRY(source.history->index().NodeName(node));
    blamed.push_back({std::move(name), count});
  }
  std::ranges::stable_sort(blamed, std::greater<>(), &BlamedFacts::failed);
  return blamed;
}

Result<std::vector<PartedFacts>> PartedOf(const Source& source, const engine::JobState& job) {
  std::vector<PartedFacts> parted;
  for (const PartedFrom& from : job.parted()) {
    auto name = TRY(source.history->index().NodeName(from.node));
    parted.push_back({from.job, job.id(), std::move(name), from.slowed, from.kind, from.alone,
                      from.with, from.at});
  }
  return parted;
}

Result<std::vector<SetAsideFacts>> SetAsideOf(const Source& source, const LogFacts& log) {
  std::vector<SetAsideFacts> nodes;
  for (const auto& [node, why] : log.set_aside) {
    auto name = TRY(source.history->index().NodeName(node));
    nodes.push_back({std::move(name), why});
  }
  return nodes;
}

// A hub writes a job's row about once a second; its journal knows at once whether it is held.
void CorrectStanding(const LogFacts& log, JobStanding& standing) {
  if (log.replay->job().stopped() != nullptr) {
    if (!IsStopped(standing)) standing = JobStanding::kFreezing;
  } else if (log.held != HoldReason::kNone) {
    standing = JobStanding::kHeld;
  } else if (standing == JobStanding::kHeld) {
    standing = JobStanding::kRunning;
  }
}

// Among the tasks that are in their list.
uint64_t EdgesOf(const engine::JobState& job) {
  if (job.task_count() == job.counts().total) return job.graph().edge_count();
  uint64_t edges = 0;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    if (job.LeftList(i)) continue;
    job.graph().ForChildren(i, [&](TaskIndex child) { edges += job.LeftList(child) ? 0 : 1; });
  }
  return edges;
}

Status AddLog(const Source& source, const LogFacts& log, JobDetails& details) {
  details.policy = log.policy;
  details.held = log.held;
  if (log.held != HoldReason::kNone && log.held_at.ns > 0) details.held_since = log.held_at;
  details.has_cancelled = !log.cancelled.empty();
  details.edges = EdgesOf(log.replay->job());
  details.withdrawn = log.replay->job().task_count() - log.replay->job().counts().total;
  details.priority = log.replay->job().priority();
  if (const StopFact* stop = log.replay->job().stopped()) details.stop = *stop;
  details.stopped_tasks = log.replay->job().stopped_tasks().size();
  for (const auto& [index, change] : log.replay->job().resizes()) {
    if (details.changed.size() < JobDetails::kMostChanged) {
      details.changed.push_back({index, change.fact});
    }
    ++details.changed_tasks;
  }
  details.time_limit = log.replay->job().time_limit();
  const TaskIndex count = log.replay->job().task_count();
  if (const TaskClass* of_tasks = count == 0 ? nullptr : log.ClassOf(count - 1)) {
    details.newest = *of_tasks;
  }
  const engine::JobWords& words = log.replay->words();
  details.excesses = words.excesses;
  if (words.newest_story) {
    details.story = words.stories.at(*words.newest_story);
    details.story_task = *words.newest_story + 1;
  }
  if (!source.on_hub() || details.job.state == JobStanding::kFinished) return {};
  CorrectStanding(log, details.job.state);
  auto set_aside = TRY(SetAsideOf(source, log));
  details.set_aside = std::move(set_aside);
  return {};
}

Status AddSums(const Source& source, store::JobJournal& history, const LogFacts& log,
               JobDetails& details) {
  auto statistics = TRY(history.Statistics());
  details.statistics = statistics;
  // A hub's row says what its list says, also between two writes of it.
  if (!source.on_hub()) {
    auto counts = TRY(history.Counts());
    details.job.counts = counts;
    // Runs of earlier versions count tasks that left their list as cancelled.
    if (!details.has_cancelled) {
      details.withdrawn += counts.cancelled;
      details.job.counts.total -= std::exchange(details.job.counts.cancelled, 0);
    }
  }
  auto failures = TRY(FailuresOf(history));
  details.failures = std::move(failures.kinds);
  if (!source.on_hub()) return {};
  auto blamed = TRY(BlamedOf(source, log.replay->job(), failures.by_node));
  details.blamed = std::move(blamed);
  auto parted = TRY(PartedOf(source, log.replay->job()));
  details.parted = std::move(parted);
  return {};
}

Result<JobDetails> DetailsOf(const Source& source, uint32_t number) {
  auto summary = TRY(source.history->Summarize(number));
  JobDetails details;
  details.bytes = source.history->index().StoredBytes(summary);
  details.for_admin = source.viewer.is_admin;
  auto facts = TRY(FactsOf(source, summary, true));
  details.job = std::move(facts);
  if (!IsReadable(details.job.state)) return details;
  auto history = TRY(source.Open(number));
  if (summary.owner) details.owner = *summary.owner;
  auto log = TRY(ReadLog(*history));
  TRY(AddLog(source, log, details));
  TRY(AddSums(source, *history, log, details));
  auto settings = source.settings(history->summary().row);
  if (!settings) return details;
  if (source.on_hub()) details.foreign = os::ForeignVariables(settings->environment);
  details.comment = std::move(settings->comment);
  details.limits = {.max_processes = settings->max_processes,
                    .on_excess_memory = ActionOf(*settings, Resource::kMemory),
                    .on_excess_processes = ActionOf(*settings, Resource::kProcesses),
                    .on_excess_cpu = settings->on_excess_cpu,
                    .limits = std::move(settings->limits),
                    .soft_limits = std::move(settings->soft_limits),
                    .nice = settings->nice};
  return details;
}

Status Answer(const Asking& call, const wire::DescribeJobs& asked) {
  auto numbers = TRY(PickJobs(call.source, asked.jobs));
  for (uint32_t number : numbers) {
    auto details = DetailsOf(call.source, number);
    if (!details) {
      // One of several that was never accepted.
      if (details.error().kind == ErrorKind::kNotFound && numbers.size() > 1) continue;
      return std::unexpected(std::move(details.error()));
    }
    TRY(call.SendAnswer(*details));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kDescribeJobs =
    QuestionOf<wire::DescribeJobs, Answer>({.who = kOwner});

}  // namespace spate::history
