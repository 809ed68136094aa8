// Queries of people, and of tests.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/advice.h"
#include "base/check.h"
#include "core/engine/engine_state.h"
#include "core/engine/place/place.h"
#include "core/model/pool_facts.h"

namespace spate::engine {

std::optional<JobCounts> Engine::Counts(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return std::nullopt;
  return job->counts();
}

std::optional<TaskState> Engine::StateOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return std::nullopt;
  return job->StateOf(index);
}

std::optional<AttemptRef> Engine::CurrentLease(JobId id, TaskIndex index) const {
  if (StateOf(id, index) != TaskState::kLeased) return std::nullopt;
  return AttemptRef{id, index, state_->durable().FindJob(id)->CurrentAttempt(index)};
}

std::vector<GangLeased::Part> Engine::PartsOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  const GangRun* gang = job == nullptr ? nullptr : job->GangOf(index);
  return gang == nullptr ? std::vector<GangLeased::Part>() : gang->parts;
}

uint32_t Engine::TaskCount(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? 0 : job->task_count();
}

std::optional<TaskIndex> Engine::AdditionOf(JobId id, const std::string& key) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::nullopt : job->AdditionOf(key);
}

bool Engine::LeftList(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  return job != nullptr && index < job->task_count() && job->LeftList(index);
}

bool Engine::Holds(NodeId id, const AttemptRef& ref) const {
  const JobState* job = state_->durable().FindJob(ref.job);
  return job != nullptr && IsCurrent(state_->durable().NodeOf(id), *job, ref);
}

uint32_t Engine::Leased(NodeId id) const {
  auto node = state_->live.board.nodes.find(id);
  return node == state_->live.board.nodes.end() ? 0 : node->second.leased;
}

uint32_t Engine::Leased(NodeId id, JobId job) const {
  auto node = state_->live.board.nodes.find(id);
  const bool has = node != state_->live.board.nodes.end() && node->second.jobs.contains(job);
  return has ? node->second.jobs.at(job).leased : 0;
}

uint64_t Engine::EndedOn(NodeId id) const {
  auto node = state_->live.board.nodes.find(id);
  return node == state_->live.board.nodes.end() ? 0 : node->second.ended;
}

HoldReason Engine::Held(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? HoldReason::kNone : job->held();
}

std::optional<JobPolicy> Engine::Policy(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::nullopt : std::optional(job->policy());
}

std::vector<TaskClass> Engine::Requests(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::vector<TaskClass>{} : job->requests();
}

std::optional<TaskClass> Engine::NewestRequest(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->requests().empty()) return std::nullopt;
  return job->requests().back();
}

std::optional<TaskClass> Engine::ClassOf(JobId id, TaskIndex index) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return std::nullopt;
  return job->requests()[job->RequestOf(index)];
}

std::vector<Edge> Engine::Edges(JobId id) const {
  std::vector<Edge> edges;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->graph().empty()) return edges;
  edges.reserve(job->graph().edge_count());
  for (TaskIndex i = 0; i < job->task_count(); ++i) {
    job->graph().ForChildren(i, [&](TaskIndex child) { edges.push_back({i, child}); });
  }
  return edges;
}

Result<std::vector<TaskRange>> Engine::RunAgain(JobId id, std::vector<TaskRange> tasks,
                                                bool idle) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || tasks.empty()) return std::vector<TaskRange>();
  const auto others = Select(*job, tasks, [&](TaskIndex i) {
    return job->StateOf(i) != TaskState::kSucceeded || !job->MayReopen(i, true);
  });
  if (!others.empty()) {
    const TaskIndex other = others.front().first;
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("task {}.{} {}", id.value, uint64_t{other} + 1,
                    job->LeftList(other) ? "is no longer in its list" : "has not succeeded"),
        Remedy("; to retry failed tasks: {}", Advice("job retry", id.value)));
  }
  const auto leased = AddDescendants(*job, true, tasks);
  if (!leased || idle) return Normalized(std::move(tasks));
  std::string task = fmt::format("{}.{}", id.value, uint64_t{*leased} + 1);
  std::string text = fmt::format("task {}, which waited for them, is running", task);
  return Fail(ErrorKind::kBusy, std::move(text),
              Remedy("; wait for it ({}), or end it: {}", Advice("job wait", id.value),
                     Advice("job cancel", std::move(task))));
}

std::vector<TaskRange> Engine::Unended(JobId id, TaskIndex from, TaskIndex until) const {
  std::vector<TaskRange> ranges;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return ranges;
  for (TaskIndex i = from; i < std::min(until, job->task_count()); ++i) {
    TaskState state = job->StateOf(i);
    if (state == TaskState::kQueued || state == TaskState::kLeased) AppendIndex(ranges, i);
  }
  return ranges;
}

std::vector<JobTrouble> Engine::Troubles(JobId id) const {
  std::vector<JobTrouble> troubles;
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->finished()) {
    // For an ended job, only the nodes that it set aside are remembered.
    for (const auto& [node, known] : state_->durable().nodes()) {
      if (known.IsBlamedBy(id)) troubles.push_back({node, kLimits.node_failures, true});
    }
    return troubles;
  }
  for (const auto& [node, trouble] : job->troubles()) {
    // One that was set aside before the job's last end has no failures since.
    const uint32_t least = trouble.set_aside ? kLimits.node_failures : 0;
    troubles.push_back({node, std::max(trouble.failures, least), job->Avoids(node)});
  }
  return troubles;
}

uint32_t Engine::FailuresInRow(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? 0 : job->failures_in_row();
}

bool Engine::Finished(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job != nullptr && job->finished();
}

namespace {

Why One(Reason reason) {
  Why why;
  why.push_back(std::move(reason));
  return why;
}

Reason HeldReason(const JobState& job) {
  return {ReasonKind::kHeld, {job.id().value, static_cast<int64_t>(job.held())}};
}

Why WhyHeld(const JobState& job) {
  return job.held() == HoldReason::kNone ? Why() : One(HeldReason(job));
}

Why WhyStopped(const JobState& job, const StopFact& stop, Instant now, int64_t task = 0,
               Freezing freezing = Freezing::kNone) {
  Reason why{ReasonKind::kStopped,
             {job.id().value, task, static_cast<int64_t>(freezing)},
             {std::max(now - stop.since, Duration())}};
  if (!stop.by.empty()) why.names.push_back(stop.by);
  return One(std::move(why));
}

// Only so many jobs of a chain, or that one job waits for, are looked at: each costs a walk over
// the nodes.
constexpr int kMostFollowed = 16;

// `left`: how many other jobs may still be looked at.
Why WhyStalled(const EngineState& state, const JobState& job, Instant now, int& left);

// Why the other job does not end, if that takes somebody to act: the first one of a chain.
Why WhyAfterStuck(const EngineState& state, const After& after, Instant now, int& left) {
  const JobState* other = state.durable().FindJob(after.job);
  if (other == nullptr || left == 0) return {};
  --left;
  Why its = WhyHeld(*other);
  if (its.empty()) its = WhyStalled(state, *other, now, left);
  if (its.empty()) return {};
  const ReasonKind first = its.front().kind;
  const bool named = first == ReasonKind::kHeld || first == ReasonKind::kOpen;
  Why why =
      One({named ? ReasonKind::kAfterHeld : ReasonKind::kAfterStuck, {int64_t{after.job.value}}});
  Append(why, std::move(its));
  return why;
}

Why WhyAfter(const EngineState& state, const JobState& job, TaskIndex index, Instant now) {
  int left = kMostFollowed;
  for (const After& after : job.after()) {
    if (after.kind == AfterKind::kEach && !job.Blocked(index)) continue;
    if (Why stuck = WhyAfterStuck(state, after, now, left); !stuck.empty()) return stuck;
    return One({ReasonKind::kAfterJob,
                {after.job.value, static_cast<int64_t>(after.kind), int64_t{index} + 1}});
  }
  return {};
}

// Cost: the job's edges.
Why WhyParents(const JobState& job, TaskIndex index) {
  constexpr size_t kNamed = 5;
  const uint32_t left = job.graph().Left(index);
  if (left == 0) return {};
  uint32_t parents = 0;
  std::vector<int64_t> named;
  bool more = false;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    job.graph().ForChildren(i, [&](TaskIndex child) {
      if (child != index) return;
      ++parents;
      if (job.StateOf(i) == TaskState::kSucceeded) return;
      more = named.size() == kNamed;
      if (!more) named.push_back(int64_t{i} + 1);
    });
  }
  Reason reason{ReasonKind::kParents, {left, parents, more ? 1 : 0}};
  reason.numbers.insert(reason.numbers.end(), named.begin(), named.end());
  return One(std::move(reason));
}

Why WhyLimited(const EngineState& state, const JobState& job) {
  uint32_t most = job.policy().max_running;
  if (most > 0 && job.counts().leased >= most) return One({ReasonKind::kJobLimit, {most}});
  const place::User& user = state.live.board.users.at(job.user());
  most = user.rule.max_running;
  if (most > 0 && user.leased >= most) {
    return One({ReasonKind::kUserLimit, {most}, {}, {job.user()}});
  }
  if (user.group->IsBound()) {
    return One({ReasonKind::kUserLimit, {user.group->rule.max_running}, {}, {*user.group_name}});
  }
  return {};
}

// Why a node does not fit a task, were it idle.
std::optional<Reason> Misfit(const Offer& offer, const JobState& job, const Needs& needs,
                             Instant now) {
  if (auto never = WhyNever(offer, needs)) return never;
  if (FitCount(offer, needs) == 0) {
    return Reason{ReasonKind::kMoreThanOffered, {}, {}, {offer.node_name}};
  }
  if (!TakesUser(offer, job.user())) {
    return Reason{ReasonKind::kOtherUsersNode, {}, {}, {job.user(), offer.node_name, offer.user}};
  }
  if (OutlivesTask(offer, needs, now)) return std::nullopt;
  return Reason{ReasonKind::kNodeEndsFirst,
                {},
                {needs.time, std::max(offer.end_of_life - now, Duration{})},
                {offer.node_name}};
}

// Why no node can run it at all; empty when one could.
Why WhyNowhere(const EngineState& state, const JobState& job, uint32_t request, Instant now) {
  const TaskClass& of_tasks = job.requests()[request];
  if (!of_tasks.gang.empty()) {
    Why why = WhyGangNowhere(state.live.board, job.user(), of_tasks, now);
    if (!why.empty()) return why;
  }
  Reason stands{ReasonKind::kNodesTakeNone};
  const Offer* largest = nullptr;
  Reason never;
  for (const auto& [id, node] : state.live.board.nodes) {
    if (node.offer.slots == 0) continue;
    if (const std::string* pool = OtherPool(of_tasks.needs, node.offer.labels)) {
      const Reason lacks{ReasonKind::kLacksLabel, {}, {}, {*pool, node.offer.node_name}};
      if (never.kind == ReasonKind::kUnknown) never = lacks;
      continue;
    }
    auto misfit = Misfit(node.offer, job, of_tasks.needs, now);
    if (!misfit) {
      // One that is set aside is the last resort, and takes it when there is no other.
      if (node.IsThere()) return {};
      const auto trouble = !node.present  ? NodeTrouble::kAway
                           : node.drained ? NodeTrouble::kDrained
                                          : NodeTrouble::kFull;
      stands.numbers.push_back(static_cast<int64_t>(trouble));
      stands.names.push_back(node.offer.node_name);
    } else if (misfit->kind == ReasonKind::kOnOtherNode) {  // the wanted one's own says more
      if (never.kind == ReasonKind::kUnknown) never = std::move(*misfit);
    } else if (largest == nullptr || node.offer.milli_cpus > largest->milli_cpus) {
      largest = &node.offer;
      never = std::move(*misfit);
    }
  }
  if (!stands.names.empty()) return One(std::move(stands));
  if (never.kind == ReasonKind::kUnknown) return One({ReasonKind::kNoNodeJoined});
  return {{ReasonKind::kNoNodeFits}, std::move(never)};
}

Why WhyElsewhere(const EngineState& state, const JobState& job, TaskIndex index, Instant now) {
  NodeId id = job.TraceOf(index).blamed[0];
  auto node = state.live.board.nodes.find(id);  // it may have been removed meanwhile
  if (node == state.live.board.nodes.end()) return {};
  if (!GoesElsewhere(state.live.board, job, index, id, now)) return {};
  return One({ReasonKind::kElsewhere, {}, {}, {node->second.offer.node_name}});
}

// Nodes that would have room for it, and get few of its job's tasks as those fail there.
Why WhySuspect(const EngineState& state, const JobState& job, uint32_t request, Instant now) {
  for (const auto& [id, trouble] : job.troubles()) {
    if (!job.Suspects(id) || trouble.set_aside) continue;
    auto node = state.live.board.nodes.find(id);
    if (node == state.live.board.nodes.end() || FitNow(node->second, job, request, now) == 0) {
      continue;
    }
    if (!OthersTake(state.live.board, job, request, {id}, now)) continue;
    const bool may_now = now < trouble.failed_at || now >= trouble.trial_at;
    const Duration left = may_now ? Duration() : trouble.trial_at - now;
    return One(
        {ReasonKind::kSuspectNode, {trouble.failures}, {left}, {node->second.offer.node_name}});
  }
  return {};
}

// It asks for more time than it was planned to take, and no node has so much left.
Why WhyCutOff(const JobState& job, TaskIndex index, Why nowhere) {
  CutOffs cut = job.CutOffsOf(index);
  if (cut.count >= kLimits.cut_offs) {
    nowhere.push_back({ReasonKind::kWasCutOff, {cut.count}, {cut.longest}});
  }
  return nowhere;
}

// Why the nodes that there are do not have room for the gang at once, were they idle; empty: they
// would.
Why WhyTooLarge(const EngineState& state, const JobState& job, uint32_t request, Instant now) {
  const TaskClass& of_gang = job.requests()[request];
  const GangShape& shape = of_gang.gang;
  uint64_t procs = 0;
  uint32_t nodes = 0;
  for (const auto& [id, node] : state.live.board.nodes) {
    if (FitNow(node, job, request, now, /*even_sick=*/true) == 0) continue;
    const uint32_t fit = place::ProcsThatFit(node.offer, {}, of_gang);
    procs += fit;
    nodes += shape.nodes > 0 && fit >= shape.procs_per_node() ? 1 : 0;
  }
  if (shape.nodes > 0) {
    if (nodes >= shape.nodes) return {};
    return One({ReasonKind::kTooFewNodes, {shape.nodes, shape.procs_per_node(), nodes}});
  }
  if (procs >= shape.procs) return {};
  return One({ReasonKind::kTooFewPlaces, {shape.procs, static_cast<int64_t>(procs)}});
}

int64_t FateOf(const JobState& job, uint32_t request, bool cancelled) {
  SilentFate fate = SilentFate::kElsewhere;
  if (!job.requests()[request].needs.on_node.empty()) fate = SilentFate::kSameNode;
  if (job.policy().retry.once) fate = SilentFate::kUnknown;
  return static_cast<int64_t>(cancelled ? SilentFate::kCancelled : fate);
}

// Its name is empty until it has joined in this life; the hub knows it by its number.
void AddSilent(Reason& reason, NodeId id, const place::Node& node) {
  reason.numbers.push_back(id.value);
  if (!node.offer.node_name.empty()) reason.names.push_back(node.offer.node_name);
}

// Nodes of which nothing is heard run all that runs of the job: how much, and when that is lost.
Why WhySilent(const EngineState& state, const JobState& job, Instant now) {
  constexpr size_t kNamed = 3 + 5;  // numbers
  Reason reason{ReasonKind::kSilentNodes, {0, 0, FateOf(job, 0, job.cancelled())}};
  for (const auto& [lost_at, id] : state.live.silent) {
    const place::Node& node = state.live.board.nodes.at(id);
    auto here = node.jobs.find(job.id());
    if (here == node.jobs.end() || here->second.leased == 0) continue;
    if (reason.times.empty()) reason.times.push_back(std::max(lost_at - now, Duration()));
    reason.numbers[0] += here->second.leased;
    reason.numbers[1] = reason.numbers.size() == kNamed ? 1 : 0;
    if (reason.numbers.size() < kNamed) AddSilent(reason, id, node);
  }
  return reason.numbers[0] > 0 && reason.numbers[0] == job.counts().leased ? One(std::move(reason))
                                                                           : Why();
}

// The same of a task.
Why WhyTaskSilent(const EngineState& state, const JobState& job, TaskIndex index, Instant now) {
  const AttemptRef ref{job.id(), index, job.CurrentAttempt(index)};
  for (const auto& [lost_at, id] : state.live.silent) {
    if (!IsCurrent(state.durable().NodeOf(id), job, ref)) continue;
    const int64_t fate = FateOf(job, job.RequestOf(index), job.Cancelled(index));
    Reason reason{ReasonKind::kSilentNodes, {1, 0, fate}, {std::max(lost_at - now, Duration())}};
    AddSilent(reason, id, state.live.board.nodes.at(id));
    return One(std::move(reason));
  }
  return {};
}

// The stop of one of the job's tasks that the node has.
const StopFact* StopOn(const NodeRecord& node, const JobState& job) {
  auto lease = node.leases.lower_bound({job.id(), Attempt(), 0});
  for (; lease != node.leases.end() && lease->first.job == job.id(); ++lease) {
    if (job.stopped() != nullptr) return job.stopped();
    for (TaskIndex i = 0; i < lease->second.count; ++i) {
      const StopFact* stop = job.StopOf(lease->first.first + i);
      if (stop != nullptr) return stop;
    }
  }
  return nullptr;
}

// A stopped job that keeps room on a node which could run tasks of the request. Cost: the stopped
// jobs, and the nodes.
Why WhoIsFrozen(const EngineState& state, const JobState& job, uint32_t request, Instant now) {
  for (const auto& [since, id] : state.live.stops) {
    const JobState* other = state.durable().FindJob(id);
    if (other == nullptr || other->counts().leased == 0) continue;
    if (other->stopped() == nullptr && other->stopped_tasks().empty()) continue;
    for (const auto& [node_id, node] : state.durable().nodes()) {
      const StopFact* stop = StopOn(node, *other);
      const place::Node& place = state.live.board.nodes.at(node_id);
      if (stop == nullptr || FitNow(place, job, request, now) == 0) continue;
      return One({ReasonKind::kRoomFrozen,
                  {id.value},
                  {std::max(now - stop->since, Duration())},
                  {other->user(), place.offer.node_name}});
    }
  }
  return {};
}

// The jobs that go before it.
Why WhoIsAhead(const EngineState& state, const JobState& job) {
  const place::User& user = state.live.board.users.at(job.user());
  if (!user.line.empty()) {
    const place::JobTurn& first = user.line.fronts().begin()->turn;
    if (first.priority > job.priority()) {
      return One({ReasonKind::kPriority, {first.job.value, first.priority}});
    }
  }
  uint64_t all = 0;
  for (const auto& [name, group] : state.live.board.groups) all += group.leased;
  const uint64_t others = all - user.group->leased;
  if (others > 0 && IsGroup(*user.group_name)) {
    return One({ReasonKind::kFairShare,
                {static_cast<int64_t>(others), user.group->leased},
                {},
                {*user.group_name}});
  }
  if (all > user.leased) {
    return One({ReasonKind::kFairShare, {static_cast<int64_t>(all - user.leased), user.leased}});
  }
  return One({ReasonKind::kOthersAhead});
}

Why WhyStalled(const EngineState& state, const JobState& job, Instant now, int& left) {
  constexpr uint32_t kRequests = 16;
  if (job.held() != HoldReason::kNone || job.cancelled() || job.finished()) return {};
  if (job.stopped() != nullptr) return WhyStopped(job, *job.stopped(), now);
  for (const After& after : job.after()) {
    if (Why stuck = WhyAfterStuck(state, after, now, left); !stuck.empty()) return stuck;
  }
  if (job.open() && job.counts().queued + job.counts().leased == 0) {
    return One({ReasonKind::kOpen, {job.id().value}});
  }
  if (!job.Runnable()) return {};
  if (Why silent = WhySilent(state, job, now); !silent.empty()) return silent;
  bool waits = job.counts().queued > 0 && job.waiting() == 0 && job.counts().leased == 0;
  if (waits && !job.graph().empty() && job.after().empty()) {
    return One({ReasonKind::kCircle, {job.counts().queued, job.id().value}});
  }
  Why why;
  uint64_t misfits = 0;
  bool some_fit = job.counts().leased > 0;
  for (uint32_t i = 0; i < std::min(job.request_count(), kRequests); ++i) {
    uint32_t waiting = job.WaitingOf(i);
    if (waiting == 0) continue;
    Why nowhere = WhyNowhere(state, job, i, now);
    if (nowhere.empty() && job.IsGang(i)) nowhere = WhyTooLarge(state, job, i, now);
    some_fit |= nowhere.empty();
    if (nowhere.empty()) continue;
    misfits += waiting;
    if (why.empty()) why = std::move(nowhere);
  }
  if (why.empty() || !some_fit) return why;
  why.insert(why.begin(), {ReasonKind::kSomeCannotRun, {static_cast<int64_t>(misfits)}});
  return why;
}

}  // namespace

Why Engine::Explain(JobId id, TaskIndex index, Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || index >= job->task_count()) return One({ReasonKind::kNoSuchTask});
  if (job->StateOf(index) == TaskState::kLeased) {
    if (const StopFact* stop = job->StopOf(index)) {
      const int64_t task = job->stopped() == nullptr ? int64_t{index} + 1 : 0;
      return WhyStopped(*job, *stop, now, task, FreezingOf(id, index));
    }
    Why waits = WhyNoRoom(*state_, *job, index);
    if (waits.empty()) waits = WhyTaskSilent(*state_, *job, index, now);
    if (waits.empty() && job->Cancelled(index)) {
      waits = One({ReasonKind::kCancelled, {id.value, 1}});
    }
    return waits;
  }
  if (job->StateOf(index) != TaskState::kQueued) return {};
  if (Why why = WhyHeld(*job); !why.empty()) return why;
  if (const StopFact* stop = job->StopOf(index)) {
    return WhyStopped(*job, *stop, now, job->stopped() == nullptr ? int64_t{index} + 1 : 0);
  }
  if (Why why = WhyAfter(*state_, *job, index, now); !why.empty()) return why;
  if (Why why = WhyParents(*job, index); !why.empty()) return why;
  if (Why why = WhyElsewhere(*state_, *job, index, now); !why.empty()) return why;
  if (Instant due = job->DueOf(index); due > now) {
    return One({ReasonKind::kNextTry, {}, {due - now}});
  }
  const uint32_t request = job->RequestOf(index);
  Why nowhere = WhyNowhere(*state_, *job, request, now);
  if (!nowhere.empty()) return WhyCutOff(*job, index, std::move(nowhere));
  if (Why why = WhyLimited(*state_, *job); !why.empty()) return why;
  if (job->IsGang(request)) {
    if (Why why = WhyTooLarge(*state_, *job, request, now); !why.empty()) return why;
    if (Why why = WhoIsFrozen(*state_, *job, request, now); !why.empty()) return why;
    if (Why why = WhyGangWaits(*state_, *job, index, now); !why.empty()) return why;
  } else if (Why why = WhySuspect(*state_, *job, request, now); !why.empty()) {
    return why;
  } else if (Why kept = WhoKeepsNodes(*state_, *job, request, now); !kept.empty()) {
    return kept;
  }
  if (Why frozen = WhoIsFrozen(*state_, *job, request, now); !frozen.empty()) return frozen;
  return WhoIsAhead(*state_, *job);
}

Why Engine::WhyWaits(JobId id, Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr || job->finished()) return {};
  if (job->cancelled()) {
    Why silent = WhySilent(*state_, *job, now);
    return silent.empty() ? One({ReasonKind::kCancelled, {id.value, job->counts().leased}})
                          : silent;
  }
  if (job->counts().queued == 0) return WhyStalled(id, now);
  const place::Job& known = *state_->live.board.FindJob(id);
  const auto& order = known.ready.empty() ? known.gangs.order() : known.ready.order();
  if (!order.empty()) {
    Head head = job->Peek(order.begin()->number, now, 1, place::kNoTurn);
    if (head.count > 0) return Explain(id, head.tasks.front().first, now);
  }
  TaskIndex index = 0;
  while (job->StateOf(index) != TaskState::kQueued) ++index;
  return Explain(id, index, now);
}

Why Engine::WhyStalled(JobId id, Instant now) const {
  const JobState* job = state_->durable().FindJob(id);
  int left = kMostFollowed;
  return job == nullptr ? Why() : engine::WhyStalled(*state_, *job, now, left);
}

Why WhyQueueIsFull(const place::Board& board, const std::string& name, uint64_t more) {
  auto known = board.users.find(name);
  if (known == board.users.end()) return {};
  const place::User& user = known->second;
  auto full = [more](const std::string& of, const UserRule& rule, const place::Totals& has) -> Why {
    const uint64_t queued = has.unended + more;
    if (rule.max_queued == 0 || queued <= rule.max_queued) return {};
    return One(
        {ReasonKind::kQueueIsFull, {rule.max_queued, static_cast<int64_t>(queued)}, {}, {of}});
  };
  if (Why why = full(name, user.rule, user); !why.empty()) return why;
  return full(*user.group_name, user.group->rule, *user.group);
}

Why Engine::WhyNotGrown(JobId id, uint32_t tasks) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? Why() : WhyQueueIsFull(state_->live.board, job->user(), tasks);
}

Why Engine::WhyNeverRuns(const std::string& user, const TaskClass& of_tasks, Instant now,
                         bool expects_nodes) const {
  return engine::WhyNeverRuns(state_->live, user, of_tasks, now, expects_nodes);
}

// ---- Lists -------------------------------------------------------------------------------------

namespace {

NodeStanding StandingOf(const place::Node& node) {
  if (node.lost_at != Instant::Never()) return NodeStanding::kSilent;
  if (!node.present) return NodeStanding::kUnknown;
  if (node.drained) return NodeStanding::kDrained;
  if (!node.no_room.empty()) return NodeStanding::kFull;
  return node.sick.empty() ? NodeStanding::kJoined : NodeStanding::kSick;
}

std::string TroubleOf(const place::Node& node, const NodeRecord& known) {
  if (!known.why_drained.empty()) return known.why_drained;
  if (!node.no_room.empty()) return node.no_room;
  if (!node.sick.empty() || node.set_aside.empty()) return node.sick;
  std::string jobs;
  for (const auto& [job, user] : node.set_aside) {
    jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", job.value);
  }
  return "excluded for job " + jobs;
}

JobInfo InfoOf(const JobState& job) {
  return {job.id(),   job.user(),      job.priority(), job.counts(),
          job.held(), job.cancelled(), job.finished(), job.after()};
}

}  // namespace

std::optional<JobInfo> Engine::Info(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  if (job == nullptr) return std::nullopt;
  return InfoOf(*job);
}

std::vector<After> Engine::PlannedAfter(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::vector<After>() : job->planned_after();
}

std::vector<JobInfo> Engine::Jobs() const {
  std::vector<JobInfo> jobs;
  for (const auto& [id, job] : state_->durable().jobs()) jobs.push_back(InfoOf(job));
  return jobs;
}

std::optional<std::string> Engine::WhyDrained(NodeId node) const {
  const NodeRecord& known = state_->durable().NodeOf(node);
  return known.drained ? std::optional(known.why_drained) : std::nullopt;
}

bool Engine::IsBlamed(NodeId node) const { return !state_->durable().NodeOf(node).blames.empty(); }

std::vector<NodeInfo> Engine::Nodes() const {
  std::vector<NodeInfo> nodes;
  for (const auto& [id, node] : state_->live.board.nodes) {
    nodes.push_back({id, node.offer, StandingOf(node),
                     TroubleOf(node, state_->durable().NodeOf(id)), node.leased,
                     static_cast<double>(place::Used(node.offer, node.held)) / place::kWhole,
                     node.ended, node.failed});
  }
  return nodes;
}

UserRule Engine::RuleOf(const std::string& user) const {
  const UserRule* rule = state_->durable().RuleOf(user);
  return rule == nullptr ? UserRule() : *rule;
}

namespace {

template <typename T>
UserInfo InfoOf(const std::string& name, const UserRule& rule, const T& of,
                const place::Board& board) {
  constexpr double kMillionth = 1e-6;
  return {.user = name,
          .rule = rule,
          .jobs = of.jobs,
          .queued = static_cast<uint32_t>(of.unended - of.leased),
          .leased = of.leased,
          .used = static_cast<double>(of.used) * kMillionth,
          .kept = static_cast<double>(of.kept) * kMillionth,
          .use = board.UseOf(of) * kMillionth};
}

}  // namespace

bool Engine::HasRule(const std::string& user) const {
  return state_->durable().rules().contains(user);
}

size_t Engine::user_count() const { return state_->live.board.users.size(); }

uint64_t Engine::unended() const { return state_->live.board.all.unended; }

std::vector<UserInfo> Engine::Users() const {
  std::vector<UserInfo> users;
  for (const auto& [name, user] : state_->live.board.users) {
    users.push_back(InfoOf(name, user.rule, user, state_->live.board));
  }
  return users;
}

std::vector<UserInfo> Engine::Groups() const {
  std::vector<UserInfo> groups;
  for (const auto& [name, group] : state_->live.board.groups) {
    if (IsGroup(name)) groups.push_back(InfoOf(name, group.rule, group, state_->live.board));
  }
  return groups;
}

// ---- For tests ---------------------------------------------------------------------------------

uint64_t Engine::Digest() const { return state_->durable().Digest(); }

uint64_t Engine::StateBytes() const {
  return sizeof(EngineState) + state_->durable().StateBytes() +
         state_->live.board.nodes.size() * sizeof(place::Node);
}

}  // namespace spate::engine
