// Apply: what each record changes. The only place that changes the state; what it derives beside
// (use, turns, open nodes) is told in engine_state.h.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// A node keeps the speed of so many jobs without leases there.
constexpr size_t kIdleJobsHere = 16;

JobHere& Here(NodeState& node, JobId job) {
  auto it = node.jobs.find(job);
  if (it != node.jobs.end()) return it->second;
  if (node.jobs.size() >= kIdleJobsHere) {
    std::erase_if(node.jobs, [](const auto& each) { return each.second.leased == 0; });
  }
  return node.jobs[job];
}

class Applier {
 public:
  explicit Applier(EngineState& state) : state_(state) {}

  void operator()(const JobAccepted& record) {
    CHECK(!state_.jobs.contains(record.job));
    JobState& job = state_.jobs.try_emplace(record.job, record.job, record.plan).first->second;
    ++state_.users[job.user()].jobs;
    for (const After& after : record.plan.after) state_.dependents[after.job].insert(record.job);
    BlockTasks(job, 0);
    state_.UpdateTurn(job);
    LookAtOne();
  }
  void operator()(const JobGrown& record) {
    JobState& job = JobOf(record.job);
    Resumed(job);
    TaskIndex first = job.task_count();
    job.Grow(record);
    BlockTasks(job, first);
    Changed(job);
  }
  void operator()(const JobSealed& record) { JobOf(record.job).Seal(); }
  void operator()(const PolicyChanged& record) {
    JobOf(record.job).SetPolicy(record.policy);
    Changed(JobOf(record.job));
  }
  void operator()(const TasksWithdrawn& record) {
    JobOf(record.job).Withdraw(record.tasks);
    Changed(JobOf(record.job));
  }
  void operator()(const TasksCancelled& record) { JobOf(record.job).CancelLeased(record.tasks); }
  void operator()(const TasksReopened& record) {
    JobState& job = JobOf(record.job);
    Resumed(job);
    job.Reopen(record.tasks);
    Changed(job);
  }
  void operator()(const NeedsChanged& record) { JobOf(record.job).ChangeNeeds(record); }
  void operator()(const JobHeld& record) {
    JobOf(record.job).Hold(record.reason);
    Changed(JobOf(record.job));
  }
  void operator()(const JobReleased& record) {
    JobOf(record.job).Release();
    Changed(JobOf(record.job));
  }
  void operator()(const Leased& record) {
    JobState& job = JobOf(record.job);
    NodeState& node = state_.nodes[record.node];
    for (TaskRange range : record.tasks) {
      uint32_t request = job.RequestOf(range.first);
      job.Lease(range, record.attempt);
      LeaseKey key{record.job, record.attempt, range.first};
      LeasedRange& leased = node.leases[key] = {range.count, range.count, request};
      leased.sequence = ++state_.leases;
      leased.lossy = range.count == 1 && job.Lossy(range.first);
      node.lossy += leased.lossy ? 1 : 0;
      state_.AddUse(job, node, leased);
      state_.CountGiven(job, range.count);
    }
    state_.UpdateTurn(job);
  }
  void operator()(const Returned& record) {
    JobState& job = JobOf(record.job);
    for (TaskRange range : record.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        TakeFromLease(record.node, job, {record.job, i, record.attempt});
      }
      job.Return(range, record.attempt);
    }
    state_.UpdateTurn(job);
  }
  void operator()(const AttemptEnded& record) {
    JobState& job = JobOf(record.end.ref.job);
    TakeFromLease(record.node, job, record.end.ref);
    job.End(record);
    state_.UpdateTurn(job);
    if (record.verdict != Verdict::kSucceeded || state_.dependents.empty()) return;
    auto dependents = state_.dependents.find(job.id());
    if (dependents == state_.dependents.end()) return;
    for (JobId id : dependents->second) {
      JobState& dependent = JobOf(id);
      if (!dependent.WaitsForEachOf(job.id())) continue;
      state_.Unblock(dependent, record.end.ref.index);
      state_.UpdateTurn(dependent);
    }
  }
  void operator()(const JobFinished& record) {
    JobState& job = JobOf(record.job);
    for (const After& after : job.after()) DropDependent(after.job, record.job);
    job.Finish();
    --state_.UserOf(job).jobs;
    Changed(job);
  }
  void operator()(const JobCancelled& record) {
    JobState& job = JobOf(record.job);
    for (const After& after : job.after()) DropDependent(after.job, record.job);
    job.Cancel();
    Changed(job);
  }
  void operator()(const DependencyMet& record) {
    JobState& job = JobOf(record.job);
    bool each = job.WaitsForEachOf(record.on);
    DropDependent(record.on, record.job);
    job.Meet(record.on);
    for (TaskIndex i = 0; each && i < job.task_count(); ++i) state_.Unblock(job, i);
    Changed(job);
  }
  void operator()(const UserChanged& record) {
    auto user = state_.users.try_emplace(record.user).first;
    user->second.rule = record.rule;
    state_.UpdateTurn(user->first, user->second);
    state_.look_at_all = true;
  }
  void operator()(const NodeDrained& record) { state_.nodes[record.node].drained = true; }
  void operator()(const NodeUndrained& record) {
    NodeState& node = state_.nodes[record.node];
    node.drained = false;
    if (node.present) state_.open.insert(record.node);
    state_.unpark = true;
  }
  void operator()(const NodeRemoved& record) {
    for (auto& [id, job] : state_.jobs) Trust(job, record.node);
    auto node = state_.nodes.find(record.node);
    if (node == state_.nodes.end()) return;  // it had only joined, which replay does not know
    CHECK(node->second.leases.empty());
    state_.silent.erase({node->second.lost_at, record.node});
    state_.open.erase(record.node);
    state_.nodes.erase(node);
  }
  void operator()(const NodeSick& record) {
    NodeState& node = state_.nodes[record.node];
    if (record.job == JobId()) {
      node.sick = record.text;
      return;
    }
    JobState& job = JobOf(record.job);
    node.set_aside[record.job] = job.user();
    DropOldest(node.set_aside, job.user());
    job.SetAside(record.node);
    state_.UpdateTurn(job);
  }
  void operator()(const NodeCleared& record) {
    for (auto& [id, node] : state_.nodes) {
      if (record.node != NodeId() && record.node != id) continue;
      if (record.job == JobId()) {
        node.sick.clear();
        node.set_aside.clear();
      } else {
        node.set_aside.erase(record.job);
      }
    }
    for (auto& [id, job] : state_.jobs) {
      if (record.job == JobId() || record.job == id) Trust(job, record.node);
    }
    state_.look_at_all = true;
  }

 private:
  // A user may have had any number of jobs; a few that have finished tell what many would.
  void DropOldest(std::map<JobId, std::string>& set_aside, const std::string& user) {
    constexpr int kMost = 16;
    auto is_past = [&](const auto& each) {
      const JobState* job = state_.FindJob(each.first);
      return each.second == user && (job == nullptr || job->finished());
    };
    if (std::ranges::count_if(set_aside, is_past) <= kMost) return;
    set_aside.erase(std::ranges::find_if(set_aside, is_past));
  }
  JobState& JobOf(JobId id) {
    JobState* job = state_.FindJob(id);
    CHECK(job != nullptr);
    return *job;
  }
  void Changed(JobState& job) {
    state_.UpdateTurn(job);
    if (job.account.place) state_.UserOf(job).line.Refresh(job.account.place->group);
    LookAtOne();
  }
  // A node that is alone is held ahead more or less, as jobs come and go.
  void LookAtOne() { state_.look_at_all |= state_.nodes.size() < 2; }
  void Trust(JobState& job, NodeId node) {
    if (job.troubles().empty()) return;
    job.Trust(node);
    state_.UpdateTurn(job);
  }
  void Resumed(const JobState& job) {
    if (!job.finished()) return;
    ++state_.UserOf(job).jobs;
    for (auto& [id, node] : state_.nodes) node.set_aside.erase(job.id());
  }
  void TakeFromLease(NodeId id, JobState& job, const AttemptRef& ref) {
    NodeState& node = state_.nodes[id];
    auto it = FindLease(node, ref);
    CHECK(it != node.leases.end());
    state_.TakeUse(job, node, it->second, 1);
    if (--it->second.left == 0) {
      node.lossy -= it->second.lossy ? 1 : 0;
      node.leases.erase(it);
    }
    if (node.present) state_.open.insert(id);
  }
  void DropDependent(JobId on, JobId job) {
    auto it = state_.dependents.find(on);
    if (it == state_.dependents.end()) return;
    it->second.erase(job);
    if (it->second.empty()) state_.dependents.erase(it);
  }
  // Task i of a job that waits for each task of another one waits for task i of that.
  void BlockTasks(JobState& job, TaskIndex first) {
    bool each = std::any_of(job.after().begin(), job.after().end(),
                            [&](const After& after) { return after.kind == AfterKind::kEach; });
    if (!each) return;
    for (TaskIndex i = first; i < job.task_count(); ++i) job.Block(i);
    for (TaskIndex i = first; i < job.task_count(); ++i) state_.Unblock(job, i);
  }

  EngineState& state_;
};

}  // namespace

void EngineState::Apply(const Record& record) { std::visit(Applier(*this), record); }

namespace {

template <typename Counts, typename Key>
void TakeOne(Counts& counts, const Key& key) {
  auto at = counts.find(key);
  if (--at->second == 0) counts.erase(at);
}

void CountWanting(JobState& job, UserState& user) {
  std::optional<uint32_t> weight;
  if (job.Wants()) weight = std::max(job.policy().weight, 1u);
  std::optional<uint32_t> before = std::exchange(job.account.weight, weight);
  if (before == weight) return;
  if (before) {
    TakeOne(user.wanting, job.priority());
    TakeOne(user.weights, *before);
  }
  if (weight) {
    ++user.wanting[job.priority()];
    ++user.weights[*weight];
  }
}

void MoveInLine(JobState& job, UserState& user) {
  JobState::Account& account = job.account;
  std::optional<JobState::Account::Place> place;
  if (job.AsksNow()) {
    uint64_t share = account.used * kJobWeight / std::max(job.policy().weight, 1u);
    place = {{job.priority(), share, account.given, job.id()}, job.group()};
  }
  if (place == account.place) return;
  if (place && account.place && place->group == account.place->group) {
    user.line.Move(account.place->turn, place->turn, place->group);
  } else {
    if (account.place) user.line.Erase(account.place->turn, account.place->group);
    if (place) user.line.Insert(place->turn, place->group);
  }
  account.place = place;
}

}  // namespace

void EngineState::UpdateTurn(JobState& job) {
  auto it = users.find(job.user());
  UserState& user = it->second;
  uint32_t unended = job.counts().queued + job.counts().leased;
  user.unended = user.unended + unended - std::exchange(job.account.unended, unended);
  CountWanting(job, user);
  MoveInLine(job, user);
  Instant delayed = std::exchange(job.account.delayed, Instant::Never());
  if (delayed < job.account.due) SetDue(job, delayed);
  UpdateTurn(it->first, user);
}

void EngineState::SetDue(JobState& job, Instant due) {
  dues.erase({job.account.due, job.id()});
  job.account.due = due;
  if (due != Instant::Never()) dues.insert({due, job.id()});
}

void EngineState::WakeDue(Instant now) {
  while (!dues.empty() && dues.begin()->first <= now) {
    auto [at, id] = *dues.begin();
    JobState* job = FindJob(id);
    if (job == nullptr || job->account.due != at) {
      dues.erase(dues.begin());
      continue;
    }
    job->Wake(now);
    SetDue(*job, job->NextDue(now));
    UpdateTurn(*job);
  }
}

// What stands there may be earlier than it is now, or of a job that has gone.
Instant EngineState::NextDue(Instant now) {
  for (auto each = dues.begin(); each != dues.end();) {
    auto [at, id] = *each++;
    JobState* job = FindJob(id);
    if (job == nullptr || job->account.due != at) {
      dues.erase({at, id});
      continue;
    }
    if (!job->account.weight) continue;
    Instant due = job->NextDue(now);
    if (due == at) return at;
    SetDue(*job, due);
    each = dues.begin();
  }
  return Instant::Never();
}

void EngineState::UpdateTurn(const std::string& name, UserState& user) {
  bool wants = !user.wanting.empty();
  if (wants) {
    wanting.insert(&user);
  } else {
    wanting.erase(&user);
  }
  // Nobody takes from others by what he says of his jobs; he may only stand back.
  uint64_t nice = wants ? std::min(user.weights.rbegin()->first, kJobWeight) : kJobWeight;
  uint64_t share = user.used * kJobWeight / (std::max(user.rule.weight, 1u) * nice);
  bool asks = !user.line.empty() && !user.IsBound();
  bool same = user.turn && user.turn->share == share && user.turn->given == user.given;
  if (asks == user.turn.has_value() && (!asks || same)) return;
  if (user.turn) turns.erase(*user.turn);
  user.turn.reset();
  if (asks) turns.insert(user.turn.emplace(place::UserTurn{share, user.given, &name, &user.line}));
}

void EngineState::CountGiven(JobState& job, uint32_t tasks) {
  constexpr uint64_t kTask = 1'000'000;
  UserState& user = UserOf(job);
  last_given = std::max(last_given, user.given);
  user.given = last_given + tasks * kTask / std::max(user.rule.weight, 1u);
  user.last_given = std::max(user.last_given, job.account.given);
  job.account.given = user.last_given + tasks * kTask / std::max(job.policy().weight, 1u);
}

bool EngineState::Contended() const {
  if (wanting.size() != 1) return wanting.size() > 1;
  return (*wanting.begin())->wanting.begin()->second > 1;
}

void EngineState::AddUse(JobState& job, NodeState& node, LeasedRange& range) {
  uint64_t share = ShareOf(node, job.request(range.request));
  JobHere& here = Here(node, job.id());
  UserState& user = UserOf(job);
  // Shares are billionths of a node.
  range.charge = share * node.offer.milli_cpus / 1'000'000 / (1 + AheadOf(*this, node, job.id()));
  const Needs& needs = job.request(range.request);
  place::AddTasks(here.held, node.offer, needs, range.left);
  place::AddTasks(node.held, node.offer, needs, range.left);
  CountCrowded(node);
  here.leased += range.left;
  node.leased += range.left;
  user.used += range.charge * range.left;
  job.account.used += range.charge * range.left;
  user.leased += range.left;
}

void EngineState::TakeUse(JobState& job, NodeState& node, const LeasedRange& range,
                          uint32_t tasks) {
  JobHere& here = node.jobs[job.id()];
  UserState& user = UserOf(job);
  CHECK(here.leased >= tasks && node.leased >= tasks);
  CHECK(user.leased >= tasks && user.used >= range.charge * tasks);
  CHECK(job.account.used >= range.charge * tasks);
  const Needs& needs = job.request(range.request);
  place::TakeTasks(here.held, node.offer, needs, tasks);
  place::TakeTasks(node.held, node.offer, needs, tasks);
  CountCrowded(node);
  here.leased -= tasks;
  node.leased -= tasks;
  user.used -= range.charge * tasks;
  job.account.used -= range.charge * tasks;
  user.leased -= tasks;
}

void EngineState::CountCrowded(NodeState& node) {
  crowded -= node.crowded ? 1 : 0;
  node.crowded = place::Crowded(node.offer, node.held);
  crowded += node.crowded ? 1 : 0;
}

void EngineState::Unblock(JobState& job, TaskIndex index) {
  if (index >= job.task_count() || !job.Blocked(index)) return;
  for (const After& after : job.after()) {
    if (after.kind != AfterKind::kEach) continue;
    const JobState* other = FindJob(after.job);
    if (other == nullptr || index >= other->task_count()) return;
    if (other->StateOf(index) != TaskState::kSucceeded) return;
  }
  job.Unblock(index);
}

}  // namespace spate::engine
