// For tests: an engine under random news, true and false, against a naive model (testing_model.h).
// It checks:
// - no task is given out twice under one attempt number, or while it runs, waits, or has ended;
// - every verdict follows the policy; counts add up; leases fit, and stay within what nodes hold;
// - what records tell is the whole state: replay equals live after every step, and a restart from
//   any prefix of the records resumes and comes to an end;
// - limits of users and jobs are kept, what waits for other jobs does, and nodes get only what they
//   may have;
// - the demand that the engine tells by and by is that of all tasks, looked at anew;
// - a finished job may be unloaded, and its records bring it back;
// - every accepted task ends when all ends arrive.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "core/engine/engine.h"
#include "core/engine/testing_model.h"

namespace spate::engine {

// Random choices of one operation hang on its number, so that shrinking a list of operations
// leaves the others as they are.
struct Op {
  uint8_t kind = 0;
  uint64_t seed = 0;
};
inline void showValue(const Op& op, std::ostream& os) {
  os << "{" << int{op.kind} << ", " << op.seed << "}";
}

inline constexpr int kKinds = 22;

class RandomWorld {
 public:
  RandomWorld() { engine_->WatchDemand(); }

  void Run(const Op& op) {
    Prng prng(op.seed);
    if (!one_is_bad_) one_is_bad_ = op.seed % 3 == 0;
    if (*one_is_bad_) JoinMissing();
    Dispatch(op.kind, prng);
    if (prng.Chance(70)) Step();
  }

  // With patience everything ends: nothing is held, one large node, every attempt succeeds.
  void Finish() {
    Step();
    RestartAt(records_.size());
    for (const char* user : kUsers) events_.push_back(SetUser{user, {}});
    for (const auto& [id, job] : model_.jobs()) {
      events_.push_back(ChangePolicy{id, {}});
      events_.push_back(SealJob{id});
      events_.push_back(ReleaseJob{id});
      events_.push_back(SteerTasks{.job = id, .what = Steering::kContinue});
    }
    Join(NodeId(9), 64, 64, 4);
    Step();
    for (int round = 0; round < 10'000 && !AllFinished(); ++round) {
      AttemptsEnded ends{NodeId(9), {}};
      auto held = model_.held().find(NodeId(9));
      if (held != model_.held().end()) {
        for (const AttemptRef& ref : held->second) {
          ends.ends.push_back({.ref = ref, .wall = Duration::Micros(500)});
        }
      }
      if (ends.ends.empty()) {
        RC_ASSERT(wake_at_ != Instant::Never());
        RC_ASSERT(wake_at_ > now_);
        now_ = wake_at_;
      }
      events_.push_back(std::move(ends));
      Step();
    }
    RC_ASSERT(AllFinished());
    CompareWithUnfinished();
  }

  // Events that were not stepped over yet are in none of these.
  const Engine& engine() const { return *engine_; }
  const NaiveModel& model() const { return model_; }
  const std::vector<Record>& records() const { return records_; }  // since the beginning

 private:
  static constexpr const char* kUsers[] = {"", "ada", "bob"};

  void Dispatch(uint8_t kind, Prng& prng) {
    switch (kind % kKinds) {
      case 0:
        return Submit(prng);
      case 1:
      case 2:
        return JoinSome(prng);
      case 3:
        return events_.push_back(NodeLost{AnyNode(prng)});
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        return EndSome(prng);
      case 9:
        return FalseNews(prng);
      case 10:
        return ReturnSome(prng);
      case 11:
        return prng.Chance(50) ? StopOrContinue(prng) : HoldOrRelease(prng);
      case 12:
        return WithdrawOrReopen(prng);
      case 13:
        return GrowOrSeal(prng);
      case 14:
        now_ = now_ + Duration::Seconds(static_cast<int64_t>(prng.Below(4)));
        if (prng.Chance(10)) now_ = now_ + Duration::Seconds(60);
        return;
      case 15:
        return Restart(prng);
      case 16:
        return CancelSome(prng);
      case 17:
        return ChangeUser(prng);
      case 18:
        return DrainOrRemove(prng);
      case 19:
        return ResizeSome(prng);
      case 20:
        return AnswerSome(prng);
      default:
        return UnloadSome(prng);
    }
  }

  void Step() {
    Output out;
    uint64_t before = engine_->Digest();
    engine_->Step({now_, events_}, out);
    // News alone change nothing of what is durable.
    if (out.records.empty()) RC_ASSERT(engine_->Digest() == before);
    for (const Event& event : events_) {
      if (const auto* joined = std::get_if<NodeJoined>(&event)) {
        model_.Join(joined->node, joined->offer);
      }
      if (const auto* lost = std::get_if<NodeLost>(&event)) model_.Lose(lost->node);
      if (const auto* removed = std::get_if<RemoveNode>(&event)) model_.Lose(removed->node);
    }
    events_.clear();
    Take(out, /*live=*/true);
  }

  // Everything that must hold of any output.
  void Take(const Output& out, bool live) {
    size_t leases = 0;
    size_t returns = 0;
    size_t ends = 0;
    size_t accepted = 0;
    for (const Record& record : out.records) {
      std::string problem = live ? model_.ApplyLive(record, now_) : model_.Apply(record);
      if (!problem.empty()) RC_FAIL(problem);
      replica_->Apply(record);
      leases += std::holds_alternative<Leased>(record);
      returns += std::holds_alternative<Returned>(record);
      accepted += std::holds_alternative<JobAccepted>(record);
      ends += std::holds_alternative<AttemptEnded>(record);
      records_.push_back(record);
    }
    for (const Send& send : out.sends) {
      if (const auto* order = std::get_if<SendResize>(&send)) {
        orders_[order->ref] = {order->node, order->since};
      }
    }
    size_t sent = std::count_if(out.sends.begin(), out.sends.end(), [](const Send& send) {
      return std::holds_alternative<SendLease>(send);
    });
    size_t told = std::count_if(out.notices.begin(), out.notices.end(), [](const Notice& notice) {
      return std::holds_alternative<NoticeEnded>(notice);
    });
    returns -= std::count_if(out.notices.begin(), out.notices.end(), [](const Notice& notice) {
      return std::holds_alternative<NoticeReturned>(notice);
    });
    accepted -= std::count_if(out.notices.begin(), out.notices.end(), [](const Notice& notice) {
      return std::holds_alternative<NoticeAccepted>(notice);
    });
    RC_ASSERT(accepted == 0u);
    RC_ASSERT(returns == 0u);
    RC_ASSERT(sent == leases);
    RC_ASSERT(told == ends);
    wake_at_ = out.wake_at;
    RC_ASSERT(wake_at_ > now_);
    if (std::string problem = model_.WhyHopeless(); !problem.empty()) RC_FAIL(problem);
    if (std::string problem = model_.WhyOverdue(now_); !problem.empty()) RC_FAIL(problem);
    engine_->CheckInvariants();
    replica_->CheckInvariants();
    RC_ASSERT(engine_->Digest() == replica_->Digest());
    for (const auto& [id, job] : model_.jobs()) {
      if (forgotten_.contains(id)) continue;
      RC_ASSERT(engine_->Counts(id) == job.Counts());
      RC_ASSERT(engine_->Finished(id) == job.finished);
      RC_ASSERT(engine_->Held(id) == job.held);
      JobCounts counts = job.Counts();
      const bool ended = !job.open && counts.finished() == counts.total;
      // A batch that is sick waits for its release.
      const bool sick =
          job.policy.pause_despite_success && !job.cancelled && job.held == HoldReason::kAllFail;
      RC_ASSERT(job.finished == (ended && !sick));
    }
    // Walls are at least 40 ms here, so a node holds what runs and as much again, and a rounding.
    for (const auto& [node, offer] : model_.offers()) {
      if (node != NodeId(9)) RC_ASSERT(model_.Load(node) <= 2.5 + 1e-6);
    }
    CheckDemand();
  }

  // The sum of incremental reports equals the result of a look at all tasks.
  void CheckDemand() {
    for (ClassDemand& told : engine_->DrainDemand()) {
      ClassDemand& known = demand_[told.key];
      if (known == told) RC_FAIL("told of a class that wants what it wanted");
      if (told.ready == 0) RC_ASSERT(told.running == 0u);
      known = std::move(told);
      if (known.ready == 0) demand_.erase(ClassKey(known.key));
    }
    auto demand = demand_;
    for (auto& [key, each] : demand) {
      // A job that comes back by its records is measured anew.
      std::string problem = model_.WhyNotTakes(key, each.takes);
      if (!problem.empty() && !(each.takes.ns == 0 && recalled_.contains(key.job))) {
        RC_FAIL(problem);
      }
      each.takes = Duration();
    }
    RC_ASSERT(demand == model_.Demand(now_));
  }

  void Restart(Prng& prng) {
    Step();
    // Now and then the last commits are lost, whose actions never left the process.
    RestartAt(records_.size() - prng.Below(std::min<size_t>(records_.size(), 12) + 1));
  }
  void RestartAt(size_t prefix) {
    if (prefix == records_.size()) CompareWithUnfinished();
    std::vector<Record> records = std::move(records_);
    records_.clear();
    forgotten_.clear();
    demand_.clear();
    recalled_.clear();
    records.resize(prefix);
    engine_ = std::make_unique<Engine>();
    engine_->WatchDemand();
    replica_ = std::make_unique<Engine>();
    model_ = NaiveModel();
    for (Record& record : records) {
      engine_->Apply(record);
      replica_->Apply(record);
      std::string problem = model_.Apply(record);
      if (!problem.empty()) RC_FAIL(problem);
      records_.push_back(std::move(record));
    }
    Output out;
    engine_->Resume(LastNodes::kEnded, now_, out);
    Take(out, /*live=*/false);
    for (const auto& [node, held] : model_.held()) RC_ASSERT(held.empty());
  }

  // A hub that starts reads nothing of jobs that have finished. That makes no difference, but to
  // the order of tasks that waited for each of such a job.
  void CompareWithUnfinished() {
    const bool pairs = std::ranges::any_of(records_, [](const Record& record) {
      const auto* accepted = std::get_if<JobAccepted>(&record);
      return accepted != nullptr && std::ranges::any_of(accepted->plan.after, [](const After& a) {
               return a.kind == AfterKind::kEach;
             });
    });
    if (pairs) return;
    Engine rest;
    std::set<JobId> finished;
    for (const auto& [id, job] : model_.jobs()) {
      if (job.finished) finished.insert(id);
    }
    for (const Record& record : records_) {
      const bool left_out =
          std::ranges::any_of(finished, [&](JobId job) { return IsOf(record, job); });
      if (!left_out) rest.Apply(record);
    }
    rest.CheckInvariants();
    for (JobId job : finished) replica_->Unload(job);
    RC_ASSERT(rest.Digest() == replica_->Digest());
  }

  bool AllFinished() const {
    return std::all_of(model_.jobs().begin(), model_.jobs().end(),
                       [](const auto& entry) { return entry.second.finished; });
  }

  // ---- Choices

  static Needs AnyNeeds(Prng& prng) {
    Needs needs;
    needs.milli_cpus = static_cast<uint32_t>(250 << prng.Below(5));
    if (prng.Chance(20)) needs.memory = 1 + prng.Below(4);
    if (prng.Chance(15)) needs.named = {{"gpus", 1 + static_cast<uint32_t>(prng.Below(2))}};
    return needs;
  }
  TaskClass AnyClass(Prng& prng) const {
    TaskClass any = AnyNeeds(prng);
    if (prng.Chance(30)) any.priority = static_cast<int32_t>(prng.Below(3)) - 1;
    if (prng.Chance(30)) any.retries = static_cast<uint32_t>(prng.Below(3));
    if (prng.Chance(15)) {
      any.needs.time = Duration::Seconds(static_cast<int64_t>(prng.Below(5)));
      any.deadline = now_ + Duration::Seconds(5 + static_cast<int64_t>(prng.Below(90)));
    }
    return any;
  }
  static JobPolicy AnyPolicy(Prng& prng) {
    JobPolicy policy;
    policy.retry.retries = static_cast<uint32_t>(prng.Below(4));
    if (prng.Chance(30)) policy.retry.delay = Duration::Seconds(1 + prng.Below(3));
    if (prng.Chance(10)) policy.retry.delay = Duration::Seconds(61 + prng.Below(3));
    if (prng.Chance(15)) policy.retry.once = true;
    if (prng.Chance(30)) policy.retry.retry_on = static_cast<CauseSet>(prng.Below(256));
    if (prng.Chance(20)) policy.retry.exits = {{2, 3}};
    if (prng.Chance(30)) policy.retry.elsewhere = static_cast<uint32_t>(prng.Below(4));
    if (prng.Chance(30)) policy.retry.memory_growth = 200;
    if (prng.Chance(20)) policy.retry.max_memory = 3;
    if (prng.Chance(20)) policy.max_running = 1 + static_cast<uint32_t>(prng.Below(5));
    if (prng.Chance(20)) policy.pause_after_failures = 1 + static_cast<uint32_t>(prng.Below(8));
    policy.pause_despite_success = prng.Chance(50);
    if (prng.Chance(20)) policy.max_failures = 1 + static_cast<uint32_t>(prng.Below(5));
    if (prng.Chance(20)) {
      policy.halt.when = prng.Chance(50) ? HaltRule::When::kNow : HaltRule::When::kSoon;
      policy.halt.what = static_cast<HaltRule::What>(prng.Below(3));
      (prng.Chance(50) ? policy.halt.percent : policy.halt.count) =
          1 + static_cast<uint32_t>(prng.Below(20));
    }
    return policy;
  }
  static std::vector<RequestRun> AnyRuns(Prng& prng, uint32_t first, uint32_t count,
                                         uint32_t requests) {
    std::vector<RequestRun> runs;
    while (count > 0) {
      uint32_t part = requests == 1 ? count : 1 + static_cast<uint32_t>(prng.Below(count));
      runs.push_back({first, part, static_cast<uint32_t>(prng.Below(requests))});
      first += part;
      count -= part;
    }
    return runs;
  }
  // Among `before` tasks and `count` new ones: the children are new, and no child comes before its
  // parent in an order that only this function knows.
  static std::vector<Edge> AnyEdges(Prng& prng, uint32_t before, uint32_t count) {
    std::vector<TaskIndex> order;
    for (TaskIndex i = 0; i < before + count; ++i) order.push_back(i);
    for (uint32_t i = count; i > 1; --i) {
      std::swap(order[before + i - 1], order[before + prng.Below(i)]);
    }
    std::set<Edge> edges;
    for (uint64_t n = count == 0 ? 0 : prng.Below(2 * count); n > 0; --n) {
      uint64_t child = before + prng.Below(count);
      if (child > 0) edges.insert({order[prng.Below(child)], order[child]});
    }
    return {edges.begin(), edges.end()};
  }
  JobId AnyJob(Prng& prng) { return JobId(1 + static_cast<uint32_t>(prng.Below(next_job_))); }
  static NodeId AnyNode(Prng& prng) { return NodeId(1 + static_cast<uint32_t>(prng.Below(4))); }
  static std::vector<TaskRange> AnyTasks(Prng& prng) {
    std::vector<TaskRange> tasks;
    for (uint64_t n = 1 + prng.Below(3); n > 0; --n) {
      tasks.push_back({static_cast<uint32_t>(prng.Below(40)),
                       static_cast<uint32_t>(prng.Chance(5) ? UINT32_MAX : prng.Below(20))});
    }
    return tasks;
  }

  void Submit(Prng& prng) {
    JobPlan plan;
    plan.task_count = static_cast<uint32_t>(prng.Below(40));
    plan.open = prng.Chance(20);
    for (uint64_t n = prng.Chance(60) ? 1 : 1 + prng.Below(4); n > 0; --n) {
      plan.requests.push_back(AnyClass(prng));
    }
    auto requests = static_cast<uint32_t>(plan.requests.size());
    plan.runs = AnyRuns(prng, 0, plan.task_count, requests);
    if (prng.Chance(30)) {
      for (uint32_t i = 0; i < plan.task_count; ++i) plan.order.push_back(i);
      for (uint32_t i = plan.task_count; i > 1; --i) {
        std::swap(plan.order[i - 1], plan.order[prng.Below(i)]);
      }
    }
    if (!*one_is_bad_) plan.policy = AnyPolicy(prng);  // else nothing but the node holds it up
    plan.user = kUsers[prng.Below(std::size(kUsers))];
    plan.priority = static_cast<int32_t>(prng.Below(3)) - 1;
    SubmitJob submit{JobId(next_job_++), std::move(plan), {}};
    if (prng.Chance(30)) Step();  // what it waits for may end
    while (prng.Chance(30)) {
      JobId other = AnyJob(prng);
      auto kind = static_cast<AfterKind>(prng.Below(4));
      bool each = kind == AfterKind::kEach && model_.jobs().contains(other) && !submit.plan.open;
      // Pairs are of as many tasks, mostly.
      if (each && prng.Chance(80)) {
        submit.plan.task_count = static_cast<uint32_t>(model_.jobs().at(other).tasks.size());
        submit.plan.runs = AnyRuns(prng, 0, submit.plan.task_count, requests);
        submit.plan.order.clear();
      }
      submit.plan.after.push_back({other, kind});
      if (forgotten_.contains(other)) submit.outcomes.push_back(OutcomeOf(other));
    }
    if (prng.Chance(40)) submit.edges = AnyEdges(prng, 0, submit.plan.task_count);
    events_.push_back(std::move(submit));
    Step();
  }
  JobOutcome OutcomeOf(JobId id) const {
    const NaiveJob& job = model_.jobs().at(id);
    JobOutcome outcome{id, job.Counts(), {}};
    for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
      if (job.tasks[i].state == TaskState::kSucceeded) AppendIndex(outcome.succeeded, i);
    }
    return outcome;
  }
  void Join(NodeId node, uint32_t slots, uint32_t cpus, uint32_t gpus) {
    Offer offer{
        .node_name = "n", .slots = slots, .milli_cpus = cpus * kMilliCpu, .memory = 4, .named = {}};
    offer.features = {std::string(kResizes)};
    if (gpus > 0) offer.named = {{"gpus", std::vector<std::string>(gpus, "0")}};
    if (node == NodeId(4)) offer.user = "bob";
    events_.push_back(NodeJoined{node, offer});
  }
  // The bad one and a good one.
  void JoinMissing() {
    for (NodeId node : {NodeId(1), NodeId(3)}) {
      if (!model_.offers().contains(node)) Join(node, 4, 4, 1);
    }
  }
  void JoinSome(Prng& prng) {
    Join(AnyNode(prng), 1 + static_cast<uint32_t>(prng.Below(6)),
         1 + static_cast<uint32_t>(prng.Below(6)), static_cast<uint32_t>(prng.Below(3)));
  }
  uint64_t SuccessPercent(NodeId node) const {
    if (!*one_is_bad_) return 60;
    return node == NodeId(3) ? 2 : 98;
  }
  void EndSome(Prng& prng) {
    for (const auto& [node, held] : model_.held()) {
      AttemptsEnded event{node, {}};
      for (const AttemptRef& ref : held) {
        if (!prng.Chance(40)) continue;
        auto cause =
            prng.Chance(SuccessPercent(node)) ? Cause::kSuccess : static_cast<Cause>(prng.Below(9));
        AttemptEnd end{.ref = ref, .cause = cause, .wall = Duration::Millis(40)};
        if (prng.Chance(10)) {
          end.cause = Cause::kStopped;
          end.status = kCutOff;
          end.wall = Duration::Seconds(static_cast<int64_t>(prng.Below(200)));
        }
        event.ends.push_back(std::move(end));
        if (prng.Chance(10)) event.ends.push_back(event.ends.back());
      }
      if (!event.ends.empty()) events_.push_back(std::move(event));
    }
  }
  void FalseNews(Prng& prng) {
    Step();
    AttemptsEnded event{AnyNode(prng), {}};
    for (int i = 0; i < 5; ++i) {
      AttemptRef ref{AnyJob(prng), static_cast<uint32_t>(prng.Below(45)),
                     Attempt(static_cast<uint16_t>(prng.Below(5)))};
      auto held = model_.held().find(event.node);
      bool true_news = held != model_.held().end() && held->second.contains(ref);
      if (!true_news) event.ends.push_back({.ref = ref, .wall = Duration::Millis(40)});
    }
    events_.push_back(std::move(event));
    size_t before = records_.size();
    Step();
    // Users' turns may have moved since the last pass, but nothing else follows from false news.
    for (size_t i = before; i < records_.size(); ++i) {
      RC_ASSERT(std::holds_alternative<Leased>(records_[i]));
    }
  }
  void ReturnSome(Prng& prng) {
    events_.push_back(TasksReturned{AnyNode(prng), AnyJob(prng),
                                    Attempt(static_cast<uint16_t>(prng.Below(4))), AnyTasks(prng)});
  }
  void ResizeSome(Prng& prng) {
    Step();
    TaskSize to;
    if (prng.Chance(60)) to.milli_cpus = AnyNeeds(prng).milli_cpus;
    if (prng.Chance(50)) to.memory = 1 + prng.Below(4);
    if (prng.Chance(20)) to.time_limit = Duration::Seconds(1 + static_cast<int64_t>(prng.Below(5)));
    auto tasks = prng.Chance(40) ? std::vector<TaskRange>() : AnyTasks(prng);
    events_.push_back(ResizeTasks{AnyJob(prng), std::move(tasks), to, "ann"});
    Step();
  }
  // Nodes confirm or refuse what they were ordered; or say so of something else, or too late.
  void AnswerSome(Prng& prng) {
    Step();
    for (auto& [ref, order] : orders_) {
      if (prng.Chance(40)) continue;
      // An agent grants no more than there is.
      const bool has_room = model_.Load(order.first, ref) <= 1;
      const bool refuses = !has_room || prng.Chance(30);
      ResizeTold told{order.first, ref, order.second, refuses ? "no room" : ""};
      if (prng.Chance(10)) told.since = told.since + Duration{1};
      if (prng.Chance(10)) told.node = AnyNode(prng);
      events_.push_back(told);
      if (prng.Chance(20)) events_.push_back(told);
    }
    Step();
  }
  void HoldOrRelease(Prng& prng) {
    JobId job = AnyJob(prng);
    if (prng.Chance(40)) {
      events_.push_back(
          HoldJob{.job = job, .end_running = prng.Chance(50), .even_ended = prng.Chance(50)});
    } else {
      events_.push_back(ReleaseJob{job});
    }
  }
  void StopOrContinue(Prng& prng) {
    if (prng.Chance(30)) {
      const AttemptRef ref{AnyJob(prng), static_cast<TaskIndex>(prng.Below(12)),
                           Attempt(static_cast<uint16_t>(prng.Below(4)))};
      const OnExcess done = prng.Chance(50) ? OnExcess::kStop : OnExcess::kWarn;
      events_.push_back(ExcessTold{AnyNode(prng), ref, {Resource::kMemory, done, 2, 1}});
      return;
    }
    const Steering what = prng.Chance(50) ? Steering::kStop : Steering::kContinue;
    auto tasks = prng.Chance(60) ? std::vector<TaskRange>() : AnyTasks(prng);
    events_.push_back(SteerTasks{AnyJob(prng), what, std::move(tasks), "ann"});
  }
  void ChangeUser(Prng& prng) {
    UserRule rule{.weight = 1 + static_cast<uint32_t>(prng.Below(3))};
    if (prng.Chance(30)) rule.max_running = 1 + static_cast<uint32_t>(prng.Below(5));
    if (prng.Chance(20)) rule.max_queued = static_cast<uint32_t>(1 + prng.Below(100));
    const char* user = kUsers[prng.Below(std::size(kUsers))];
    ++user_changes_;
    if (user_changes_ % 4 == 0) return events_.push_back(SetUser{"@team", rule});
    if (user_changes_ % 5 < 2) rule.group = "@team";
    events_.push_back(SetUser{user, rule});
  }
  void DrainOrRemove(Prng& prng) {
    NodeId node = AnyNode(prng);
    if (prng.Chance(40)) return events_.push_back(DrainNode{node});
    if (prng.Chance(60)) return events_.push_back(UndrainNode{node});
    if (prng.Chance(50)) return events_.push_back(ClearSick{node, {}});
    if (prng.Chance(50)) {  // replay knows nothing of this, and must not need to
      Step();
      bool done = engine_->ForgetNode(node);
      if (!done && engine_->IsBlamed(node)) events_.push_back(ForgetNode{node});
      return;
    }
    events_.push_back(RemoveNode{node});
  }
  // A finished job leaves memory, or comes back by its records.
  void UnloadSome(Prng& prng) {
    Step();
    JobId job = AnyJob(prng);
    if (forgotten_.contains(job)) return Recall(job);
    bool finished = engine_->Finished(job);
    RC_ASSERT(engine_->Unload(job) == finished);
    RC_ASSERT(replica_->Unload(job) == finished);
    if (finished) forgotten_.insert(job);
  }
  void Recall(JobId job) {
    if (forgotten_.erase(job) == 0) return;
    recalled_.insert(job);
    for (Engine* engine : {engine_.get(), replica_.get()}) {
      Engine past;
      for (const Record& record : records_) {
        if (IsOf(record, job)) past.Apply(record);
      }
      RC_ASSERT(engine->Reload(job, past));
    }
  }
  static bool IsOf(const Record& record, JobId job) {
    return std::visit(
        [job](const auto& r) {
          if constexpr (std::is_same_v<std::decay_t<decltype(r)>, AttemptEnded>) {
            return r.end.ref.job == job;
          } else if constexpr (requires { r.job; }) {
            return r.job == job;
          } else {
            return false;
          }
        },
        record);
  }
  void CancelSome(Prng& prng) {
    JobId job = AnyJob(prng);
    const bool kill = prng.Chance(30);
    if (prng.Chance(30)) return events_.push_back(CancelJob{job, kill, kill ? "ann" : ""});
    events_.push_back(CancelTasks{job, AnyTasks(prng), "", kill, kill ? "ann" : ""});
  }
  void WithdrawOrReopen(Prng& prng) {
    JobId job = AnyJob(prng);
    Recall(job);
    if (prng.Chance(50)) {
      events_.push_back(WithdrawTasks{job, AnyTasks(prng), /*left_list=*/prng.Chance(40)});
    } else if (prng.Chance(30)) {
      auto it = model_.jobs().find(job);
      if (it == model_.jobs().end()) return;
      auto count = static_cast<uint32_t>(it->second.tasks.size());
      ChangeNeeds change{job, {AnyNeeds(prng), AnyNeeds(prng)}, {}};
      change.runs = AnyRuns(prng, 0, count, 2);
      events_.push_back(std::move(change));
    } else {
      ReopenTasks reopen{job, AnyTasks(prng)};
      Needs& to = reopen.change.values;
      if (prng.Chance(40)) reopen.change.Set(to.milli_cpus, AnyNeeds(prng).milli_cpus);
      if (prng.Chance(20)) reopen.change.Set(to.named, AnyNeeds(prng).named);
      reopen.succeeded = prng.Chance(30);
      events_.push_back(std::move(reopen));
    }
  }
  void GrowOrSeal(Prng& prng) {
    Step();
    JobId id = AnyJob(prng);
    auto it = model_.jobs().find(id);
    if (it == model_.jobs().end() || prng.Chance(30)) {
      events_.push_back(SealJob{id});
      events_.push_back(ChangePolicy{id, AnyPolicy(prng)});
      return;
    }
    GrowJob grow{id, static_cast<uint32_t>(prng.Below(6)), {}, {}};
    if (prng.Chance(30)) grow.new_requests.push_back(AnyClass(prng));
    auto requests = static_cast<uint32_t>(it->second.requests.size() + grow.new_requests.size());
    grow.runs = AnyRuns(prng, static_cast<uint32_t>(it->second.tasks.size()), grow.count, requests);
    grow.known_tasks = static_cast<uint32_t>(it->second.tasks.size());
    if (prng.Chance(40)) grow.edges = AnyEdges(prng, grow.known_tasks, grow.count);
    events_.push_back(std::move(grow));
    Step();
  }

  Instant now_{1'700'000'000'000'000'000};
  Instant wake_at_ = Instant::Never();
  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
  std::unique_ptr<Engine> replica_ = std::make_unique<Engine>();
  NaiveModel model_;
  std::vector<Record> records_;
  uint32_t user_changes_ = 0;
  std::vector<Event> events_;
  std::set<JobId> forgotten_;
  std::map<ClassKey, ClassDemand> demand_;  // as told
  std::set<JobId> recalled_;
  std::map<AttemptRef, std::pair<NodeId, Instant>> orders_;  // to resize, the newest
  uint32_t next_job_ = 1;
  std::optional<bool> one_is_bad_;  // a node on which nearly all fails, beside good ones
};

inline rc::Gen<Op> AnyOp() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange<int>(0, kKinds),
                                    rc::gen::noShrink(rc::gen::inRange<uint64_t>(0, UINT64_MAX))),
                      [](const std::pair<int, uint64_t>& pair) {
                        return Op{static_cast<uint8_t>(pair.first), pair.second};
                      });
}

}  // namespace spate::engine
