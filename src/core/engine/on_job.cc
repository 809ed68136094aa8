// Events of jobs: submitted, grown, held, released, finished.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <span>

#include "base/check.h"
#include "base/units.h"
#include "core/engine/engine_state.h"
#include "core/engine/other_requests.h"
#include "core/model/ranges.h"

namespace spate::engine {
namespace {

// Records of a bounded size, which one commit makes durable together.
void Link(StepContext& step, JobId job, std::span<const Edge> edges) {
  constexpr size_t kMost = 100'000;
  for (; !edges.empty(); edges = edges.subspan(std::min(kMost, edges.size()))) {
    auto some = edges.first(std::min(kMost, edges.size()));
    step.Record(TasksLinked{job, {some.begin(), some.end()}});
  }
}

// A few classes tell it of gangs, as all of a submission have one shape.
Why WhyNever(const StepContext& step, const SubmitJob& event) {
  constexpr size_t kGangs = 16;
  size_t gangs = 0;
  for (const TaskClass& each : event.plan.requests) {
    if (!each.gang.empty() && ++gangs > kGangs) continue;
    Why why = WhyNeverRuns(step.live, event.plan.user, each, step.now, event.expects_nodes);
    if (!why.empty()) return why;
  }
  return {};
}

// A user without limits gets those of new users, as the user's own.
void BoundNewUser(StepContext& step, const std::string& user) {
  if (step.durable.rules().contains(user)) return;
  if (const UserRule* rule = step.durable.RuleOf(user)) step.Record(UserChanged{user, *rule});
}

}  // namespace

void On(StepContext& step, const SubmitJob& event) {
  if (Why why = WhyNever(step, event); !why.empty()) {
    step.out.notices.push_back(NoticeRefused{event.job, std::move(why)});
    return;
  }
  BoundNewUser(step, event.plan.user);
  step.live.Settle();
  if (Why why = WhyQueueIsFull(step.board, event.plan.user, event.plan.task_count); !why.empty()) {
    step.out.notices.push_back(NoticeRefused{event.job, std::move(why), /*may_later=*/true});
    return;
  }
  step.Record(JobAccepted{event.job, event.plan});
  Link(step, event.job, event.edges);
  step.out.notices.push_back(NoticeAccepted{event.job});
  const JobState& job = *step.durable.FindJob(event.job);
  SettleKnown(step, job, event.outcomes);
  CheckJob(step, job);
}

namespace {

JobSteered Killed(const StepContext& step, JobId job, std::vector<TaskRange> tasks,
                  const std::string& by) {
  return {.job = job,
          .what = Steering::kKill,
          .tasks = std::move(tasks),
          .by = by,
          .since = step.now,
          .at = step.wall()};
}

std::string KilledBy(const std::string& user) {
  return user.empty() ? "a user killed it" : fmt::format("{} killed it", user);
}

}  // namespace

void On(StepContext& step, const CancelJob& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->finished()) return;
  if (event.kill) step.Record(Killed(step, event.job, {}, event.by));
  if (job->cancelled())
    return event.kill ? RecallJob(step, event.job, /*end_running=*/true) : void();
  Cancel(step, *job, event.kill ? KilledBy(event.by) : "");
}

void Cancel(StepContext& step, const JobState& job, std::string reason) {
  const bool held = job.held() != HoldReason::kNone;
  step.Record(JobCancelled{job.id(), std::move(reason)});
  if (held) step.out.notices.push_back(NoticeReleased{job.id()});
  RecallJob(step, job.id(), /*end_running=*/true);
  CheckJob(step, job);
}

void On(StepContext& step, const CancelTasks& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr) return;
  auto those = [&](TaskState state) {
    return Select(*job, event.tasks,
                  [&](TaskIndex i) { return job->StateOf(i) == state && !job->Cancelled(i); });
  };
  auto queued = those(TaskState::kQueued);
  auto leased = those(TaskState::kLeased);
  std::string reason = event.reason;
  if (event.kill) {
    auto all = Select(*job, event.tasks, [&](TaskIndex i) {
      return job->StateOf(i) == TaskState::kQueued || job->StateOf(i) == TaskState::kLeased;
    });
    if (all.empty()) return;
    reason = KilledBy(event.by);
    step.Record(Killed(step, event.job, std::move(all), event.by));
  }
  if (!queued.empty()) step.Record(TasksWithdrawn{event.job, std::move(queued), reason});
  if (!leased.empty() || event.kill) {
    if (!leased.empty()) step.Record(TasksCancelled{event.job, std::move(leased), reason});
    for (const auto& [id, node] : step.durable.nodes()) {
      if (step.board.nodes.at(id).present) StopCancelled(step, id, *job);
    }
  }
  CheckJob(step, *job);
}

void StopCancelled(StepContext& step, NodeId id, const JobState& job) {
  const auto& leases = step.durable.NodeOf(id).leases;
  SendStop stop{id, job.id(), {}, job.killed()};
  SendStop kill{id, job.id(), {}, true};
  auto lease = leases.lower_bound({job.id(), Attempt(), 0});
  for (; lease != leases.end() && lease->first.job == job.id() && !job.cancelled(); ++lease) {
    TaskIndex first = lease->first.first;
    for (TaskIndex i = first; i < first + lease->second.count; ++i) {
      bool here = job.CurrentAttempt(i) == lease->first.attempt;
      if (here && job.Cancelled(i)) AppendIndex(job.Killed(i) ? kill.tasks : stop.tasks, i);
    }
  }
  if (!kill.tasks.empty()) step.out.sends.push_back(std::move(kill));
  if (job.cancelled() || !stop.tasks.empty()) step.out.sends.push_back(std::move(stop));
}

void On(StepContext& step, const ChangePriority& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->finished() || job->priority() == event.priority) return;
  step.Record(PriorityChanged{event.job, event.priority});
}

void On(StepContext& step, const SetUser& event) {
  step.Record(UserChanged{event.user, event.rule});
}

namespace {

// The nodes that a batch which goes on had set aside before its last end.
std::vector<NodeId> BadNodesOf(const StepContext& step, const JobState& job) {
  std::vector<NodeId> bad;
  if (!job.policy().pause_despite_success) return bad;
  for (const auto& [id, node] : step.durable.nodes()) {
    if (node.IsBlamedBy(job.id())) bad.push_back(id);
  }
  return bad;
}

// It goes on avoiding them, where others can run what was added.
void AvoidAgain(StepContext& step, const JobState& job, const std::vector<NodeId>& nodes,
                const std::vector<RequestRun>& added) {
  constexpr size_t kMost = 100;
  for (NodeId node : nodes) {
    const bool others = std::ranges::all_of(added | std::views::take(kMost), [&](const auto& run) {
      return OthersTake(step.board, job, run.request, {node}, step.now);
    });
    if (others) step.Record(NodeSick{node, job.id(), "it failed earlier tasks of the job"});
  }
}

}  // namespace

void On(StepContext& step, const GrowJob& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || event.count == 0 || (job->cancelled() && !job->finished())) return;
  if (job->AdditionOf(event.key)) return;
  bool goes_on = job->finished();
  std::vector<RequestRun> runs = event.runs;
  for (RequestRun& run : runs) {
    if (run.request >= event.known_requests) {
      run.request += job->request_count() - event.known_requests;
    }
  }
  std::vector<Edge> edges = event.edges;
  const uint32_t shift = job->task_count() - event.known_tasks;
  for (Edge& edge : edges) {
    if (edge.parent >= event.known_tasks) edge.parent += shift;
    edge.child += shift;
  }
  const std::vector<NodeId> bad = goes_on ? BadNodesOf(step, *job) : std::vector<NodeId>();
  if (goes_on) ForgetBlamesBy(step, event.job);
  const std::vector<RequestRun> added = bad.empty() ? std::vector<RequestRun>() : runs;
  step.Record(JobGrown{event.job, event.count, event.new_requests, std::move(runs), event.key});
  Link(step, event.job, edges);
  AvoidAgain(step, *job, bad, added);
  if (!edges.empty()) CheckJob(step, *job);  // none of them may be left
  // Nobody waits for a job that has finished to be released.
  if (goes_on && job->held() != HoldReason::kNone) {
    step.out.notices.push_back(NoticeHeld{event.job, job->held()});
  }
}

void On(StepContext& step, const SealJob& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || !job->open()) return;
  step.Record(JobSealed{event.job});
  CheckJob(step, *job);
}

void On(StepContext& step, const ChangePolicy& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr) return;
  step.Record(PolicyChanged{event.job, event.policy});
  CheckJob(step, *job);
}

namespace {

// The existing tasks of these ranges: in their order, or where some overlap in that of the tasks.
std::vector<TaskRange> Disjoint(std::vector<TaskRange> tasks, uint32_t task_count) {
  for (TaskRange& range : tasks) {
    range.first = std::min(range.first, task_count);
    range.count = std::min(range.count, task_count - range.first);
  }
  std::vector<TaskRange> sorted = tasks;
  std::sort(sorted.begin(), sorted.end(),
            [](const TaskRange& a, const TaskRange& b) { return a.first < b.first; });
  bool overlap = false;
  TaskIndex end = 0;
  for (TaskRange& range : sorted) {
    TaskIndex range_end = std::max(end, range.first + range.count);
    overlap |= range.first < end;
    range.first = std::max(range.first, end);
    range.count = range_end - range.first;
    end = range_end;
  }
  return overlap ? sorted : tasks;
}

}  // namespace

std::vector<TaskRange> Select(const JobState& job, const std::vector<TaskRange>& tasks,
                              const std::function<bool(TaskIndex)>& wanted) {
  std::vector<TaskRange> selected;
  for (const TaskRange& range : Disjoint(tasks, job.task_count())) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (wanted(i)) AppendIndex(selected, i);
    }
  }
  return selected;
}

std::vector<TaskRange> HeldNow(const NodeRecord& node, const JobState& job, Attempt attempt) {
  std::vector<TaskRange> tasks;
  auto lease = node.leases.lower_bound({job.id(), attempt, 0});
  for (; lease != node.leases.end(); ++lease) {
    const auto& [key, range] = *lease;
    if (key.job != job.id() || key.attempt != attempt) break;
    for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
      if (IsCurrent(node, job, {key.job, i, attempt})) AppendIndex(tasks, i);
    }
  }
  return tasks;
}

std::vector<TaskRange> SelectHeld(const NodeRecord& node, const JobState& job, Attempt attempt,
                                  const std::vector<TaskRange>& tasks) {
  const std::vector<TaskRange> held = HeldNow(node, job, attempt);
  std::vector<TaskRange> selected;
  for (const TaskRange& range : Disjoint(tasks, job.task_count())) {
    const TaskIndex end = range.first + range.count;
    auto each = std::ranges::partition_point(
        held, [&](const TaskRange& other) { return other.first + other.count <= range.first; });
    for (; each != held.end() && each->first < end; ++each) {
      TaskIndex first = std::max(range.first, each->first);
      AppendRange(selected, {first, std::min(end, each->first + each->count) - first});
    }
  }
  return selected;
}

void On(StepContext& step, const WithdrawTasks& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr) return;
  auto tasks = Select(*job, event.tasks, [&](TaskIndex i) {
    TaskState state = job->StateOf(i);
    if (event.left_list) return state != TaskState::kLeased && !job->LeftList(i);
    return state == TaskState::kQueued;
  });
  if (tasks.empty()) return;
  TasksWithdrawn withdrawn{.job = event.job, .tasks = std::move(tasks), .reason = ""};
  withdrawn.left_list = event.left_list;
  step.Record(std::move(withdrawn));
  CheckJob(step, *job);
}

NeedsChanged WithChange(const JobState& job, std::vector<TaskRange> tasks,
                        const std::function<void(TaskClass&)>& change) {
  OtherRequests others(job);
  std::map<uint32_t, uint32_t> becomes;
  auto number = [&](uint32_t request) {
    auto [at, is_new] = becomes.try_emplace(request, 0);
    if (!is_new) return at->second;
    TaskClass other = job.requests()[request];
    change(other);
    return at->second = others.NumberOf(std::move(other));
  };
  std::sort(tasks.begin(), tasks.end(),
            [](const TaskRange& a, const TaskRange& b) { return a.first < b.first; });
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      others.Add(i, number(job.RequestOf(i)));
    }
  }
  return others.Take();
}

namespace {

// The jobs that it was submitted to start after, and that go on. Of a job that is under way only
// the tasks that are reopened can wait, for their counterparts.
std::vector<After> WaitsAgain(const StepContext& step, const JobState& job) {
  std::vector<After> again;
  for (const After& after : job.planned_after()) {
    const JobState* other = step.durable.FindJob(after.job);
    const bool goes_on = other != nullptr && other != &job && !other->finished();
    const bool each = after.kind == AfterKind::kEach;
    // A job that has grown since has no pairs any more.
    const bool may = each ? goes_on && other->task_count() == job.task_count() : job.finished();
    if (goes_on && may && !job.WaitsFor(after)) again.push_back(after);
  }
  return again;
}

}  // namespace

void On(StepContext& step, const ReopenTasks& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr) return;
  auto tasks =
      Select(*job, event.tasks, [&](TaskIndex i) { return job->MayReopen(i, event.succeeded); });
  if (tasks.empty()) return;
  if (!job->graph().empty() && AddDescendants(*job, event.succeeded, tasks) && event.succeeded) {
    return;
  }
  if (!event.change.empty()) {
    auto again = Select(*job, tasks, [&](TaskIndex i) {
      return event.succeeded || job->StateOf(i) != TaskState::kSucceeded;
    });
    NeedsChanged changed = WithChange(*job, std::move(again), [&](TaskClass& each) {
      each.needs = Changed(std::move(each.needs), event.change);
    });
    if (!changed.runs.empty()) step.Record(std::move(changed));
  }
  if (job->finished()) ForgetBlamesBy(step, event.job);
  step.Record(TasksReopened{event.job, std::move(tasks), WaitsAgain(step, *job), event.succeeded});
  // Tasks that wait for a task that was not reopened will not run now either.
  WithdrawAllDescendants(step, *job);
  if (!job->graph().empty() || job->AllEnded()) CheckJob(step, *job);
}

void On(StepContext& step, const ChangeNeeds& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr) return;
  OtherRequests others(*job);
  for (const RequestRun& run : event.runs) {
    std::optional<uint32_t> number;  // only of a request that one of them makes
    for (TaskIndex i = run.first; i < std::min(run.first + run.count, job->task_count()); ++i) {
      if (job->StateOf(i) != TaskState::kQueued) continue;
      if (!number) number = others.NumberOf(event.requests.at(run.request));
      others.Add(i, *number);
    }
  }
  NeedsChanged changed = others.Take();
  if (!changed.runs.empty()) step.Record(std::move(changed));
}

void On(StepContext& step, const ChangeTimes& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->finished()) return;
  auto queued = Select(*job, {{0, job->task_count()}},
                       [&](TaskIndex i) { return job->StateOf(i) == TaskState::kQueued; });
  NeedsChanged changed = WithChange(*job, std::move(queued), [&](TaskClass& each) {
    if (event.time) each.needs.time = *event.time;
    if (event.deadline) each.deadline = event.deadline;
    if (each.deadline == Instant::Never()) each.deadline.reset();
  });
  if (!changed.runs.empty()) step.Record(std::move(changed));
}

void On(StepContext& step, const HoldJob& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || (job->cancelled() && !job->finished())) return;
  if (job->finished() && !event.even_ended) return;
  if (job->held() == HoldReason::kNone) {
    step.Record(JobHeld{event.job, event.reason, step.wall()});
    // For an ended job this notice waits until it is resumed.
    if (!job->finished()) step.out.notices.push_back(NoticeHeld{event.job, event.reason});
  }
  RecallJob(step, event.job, event.end_running);
}

void On(StepContext& step, const ReleaseJob& event) {
  const JobState* job = step.durable.FindJob(event.job);
  if (job == nullptr || job->held() == HoldReason::kNone) return;
  // Nodes that are suspect, or were set aside without a success elsewhere, are tried again.
  const auto& troubles = job->troubles();
  bool suspects = std::any_of(troubles.begin(), troubles.end(), [job](const auto& each) {
    const auto& [node, trouble] = each;
    return job->Suspects(node) || (trouble.set_aside && !job->SucceededBeside(node));
  });
  if (suspects) step.Record(NodeCleared{NodeId(), event.job});
  step.Record(JobReleased{event.job});
  step.out.notices.push_back(NoticeReleased{event.job});
  CheckJob(step, *job);  // --max-failures holds it again unless it was raised
}

void RecallJob(StepContext& step, JobId job, bool end_running) {
  for (const auto& [id, node] : step.durable.nodes()) {
    auto first = node.leases.lower_bound({job, Attempt(), 0});
    if (!step.board.nodes.at(id).present || first == node.leases.end() || first->first.job != job)
      continue;
    if (end_running) {
      step.out.sends.push_back(SendStop{id, job, {}, step.durable.FindJob(job)->killed()});
    } else {
      step.out.sends.push_back(SendRecall{id, job});
    }
  }
}

namespace {

// How many tasks have ended in the rule's way since the job was last released.
uint32_t HaltCount(const HaltRule& rule, const JobState& job) {
  const JobCounts& now = job.counts();
  const JobCounts& then = job.counts_at_release();
  switch (rule.what) {
    case HaltRule::What::kFail:
      return now.failed + now.unknown - then.failed - then.unknown;
    case HaltRule::What::kSuccess:
      return now.succeeded - then.succeeded;
    case HaltRule::What::kDone:
      break;
  }
  return now.finished() - then.finished();
}

// At how many of them the job is held; at least 1.
uint32_t HaltAt(const HaltRule& rule, const JobState& job) {
  if (rule.percent == 0) return std::max(rule.count, 1u);
  uint64_t at = (uint64_t{rule.percent} * job.counts().total + 99) / 100;
  return static_cast<uint32_t>(std::max<uint64_t>(at, 1));
}

bool HaltReached(const HaltRule& rule, const JobState& job) {
  return rule.when != HaltRule::When::kNever && HaltCount(rule, job) >= HaltAt(rule, job);
}

}  // namespace

uint32_t LeasesBeforeHold(const JobState& job) {
  const JobPolicy& policy = job.policy();
  // Tasks that were leased and lost end as unknown then, so nothing is leased that does not run.
  uint32_t left = policy.retry.once ? 1 : UINT32_MAX;
  if (policy.halt.when != HaltRule::When::kNever) {
    uint32_t at = HaltAt(policy.halt, job);
    uint32_t count = HaltCount(policy.halt, job);
    left = std::min(left, at > count ? at - count : 1);
  }
  if (policy.max_failures > 0) {
    uint32_t failed = job.counts().failed;
    left = std::min(left, policy.max_failures > failed ? policy.max_failures - failed : 1);
  }
  if (policy.pause_after_failures > 0 && job.counts().succeeded == 0) {
    uint32_t row = job.failures_in_row();
    left =
        std::min(left, policy.pause_after_failures > row ? policy.pause_after_failures - row : 1);
  }
  return left;
}

namespace {

// So much failed in a row that the job is to blame, not a node: a few failures happened beside
// those of the worst node, or there is no second one to try.
bool AllFail(const StepContext& step, const JobState& job) {
  const JobPolicy& policy = job.policy();
  if (policy.pause_after_failures == 0) return false;
  if (job.failures_in_row() < policy.pause_after_failures) return false;
  if (job.counts().succeeded > 0 && !policy.pause_despite_success) return false;
  uint32_t few = std::min(step.board.limits.node_failures, policy.pause_after_failures - 1);
  return job.FailuresBesideWorst() >= few || NodesFor(step.board, job, step.now) < 2;
}

}  // namespace

namespace {

// A batch that others will add to, sick as it is, must refuse them: it does not finish before it is
// released, also when nothing of it was left to hold.
bool StaysSick(const StepContext& step, const JobState& job) {
  if (!job.policy().pause_despite_success || job.cancelled()) return false;
  return job.held() == HoldReason::kAllFail ||
         (job.held() == HoldReason::kNone && AllFail(step, job));
}

}  // namespace

void CheckJob(StepContext& step, const JobState& job) {
  if (job.finished()) return;
  if (job.AllEnded() && !StaysSick(step, job)) {
    RememberBlames(step, job);
    step.Record(JobFinished{job.id(), job.counts()});
    step.out.notices.push_back(NoticeFinished{job.id(), job.counts()});
    step.finished.push_back(job.id());
    return;
  }
  if (job.held() != HoldReason::kNone || job.cancelled()) return;
  const JobPolicy& policy = job.policy();
  HoldReason reason = HoldReason::kNone;
  if (policy.max_failures > 0 && job.counts().failed >= policy.max_failures) {
    reason = HoldReason::kMaxFailures;
  }
  if (AllFail(step, job)) reason = HoldReason::kAllFail;
  // The stricter of the two: --halt may end what runs. A sick batch that has ended has nothing.
  if (HaltReached(policy.halt, job) && !job.AllEnded()) reason = HoldReason::kHaltRule;
  if (reason == HoldReason::kNone) return;
  step.Record(JobHeld{job.id(), reason, step.wall()});
  step.out.notices.push_back(NoticeHeld{job.id(), reason});
  bool now = reason == HoldReason::kHaltRule && policy.halt.when == HaltRule::When::kNow;
  RecallJob(step, job.id(), now);
}

}  // namespace spate::engine
