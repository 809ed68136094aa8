// The agent between a random hub and an executor that answers late. Orders and news travel through
// queues, so that every race of news with orders happens:
// - a slot runs one attempt at a time, and what runs never uses more than the node offers;
// - every leased attempt is reported once, as ended or as returned;
// - what was recalled or stopped before it started is not started any more;
// - a job is over when it was closed and nothing of it is left, and not before;
// - parts of gangs take room first, and start when they were told to, each alone in its slot;
// - an attempt whose request changes holds enough for what it may use, and is answered for once;
// - in the end nothing runs, nothing waits, and nothing goes round without end.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <sstream>

#include "base/prng.h"
#include "core/agent/agent.h"

namespace spate::agent {
namespace {

struct Op {
  int kind = 0;
  uint64_t seed = 0;
};
void showValue(const Op& op, std::ostream& os) { os << "{" << op.kind << ", " << op.seed << "}"; }

Offer NodeOf(uint64_t seed) {
  Prng prng(seed);
  Offer offer{.node_name = "n1"};
  offer.slots = 1 + static_cast<uint32_t>(prng.Below(5));
  offer.milli_cpus = (2 + static_cast<uint32_t>(prng.Below(4))) * kMilliCpu;
  if (prng.Chance(50)) offer.memory = 8;
  offer.named = {{"gpus", {"a", "b"}}};
  return offer;
}

class World {
 public:
  explicit World(uint64_t seed) : offer_(NodeOf(seed)), agent_(offer_) {}

  void Run(const Op& op) {
    Prng prng(op.seed);
    switch (op.kind) {
      case 0:
      case 1:
        Lease(prng);
        break;
      case 2:
        events_.push_back(RecallArrived{Forbid(prng)});
        break;
      case 3:
        if (prng.Chance(50)) {
          events_.push_back(StopArrived{Forbid(prng), {}});
        } else {
          StopSome(prng);
        }
        break;
      case 4:
      case 5:
      case 6:
        EndSome(prng);
        break;
      case 7:
        now_ = now_ + Duration::Millis(static_cast<int64_t>(prng.Below(60)));
        break;
      case 8:
      case 9:
        Obey(1 + prng.Below(4));
        break;
      case 10:
        blocked_ = !blocked_, events_.push_back(OutputBlocked{blocked_});
        break;
      case 11:
        Close(JobId(1 + static_cast<uint32_t>(prng.Below(2))));
        break;
      case 12:
        LetGo(prng);
        break;
      case 13:
        Resize(prng);
        break;
      default:
        break;
    }
    if (prng.Chance(70)) Hear(prng.Below(4));
    if (prng.Chance(70)) Step();
  }

  void Finish() {
    events_.push_back(OutputBlocked{false});
    Step();
    int rounds = 0;
    for (const AttemptRef& ref : parts_) Go(ref);
    while (agent_.busy() + agent_.waiting() > 0 || !orders_.empty() || !news_.empty()) {
      RC_ASSERT(++rounds < 10'000);
      Obey(orders_.size());
      // Attempts run on for a while, so that tasks stuck behind them have to move.
      if (rounds % 7 == 0) {
        Prng prng(static_cast<uint64_t>(rounds));
        EndSome(prng);
      }
      Hear(news_.size());
      now_ = now_ + Duration::Millis(8);
      Step();
    }
    RC_ASSERT(open_.empty());
    for (uint32_t job : {1, 2}) Close(JobId(job));
    Step();
    RC_ASSERT(agent_.jobs() == 0u);
    RC_ASSERT(known_.empty());
    for (const auto& [slot, queue] : slots_) RC_ASSERT(queue.empty());
  }

 private:
  // ---- The hub

  void Open(JobId job) {
    if (!opened_.insert(job).second) return;
    auto settings = std::make_shared<JobSettings>();
    if (job.value == 2) settings->time_limit = Duration::Millis(100);
    settings->kill_grace = Duration::Millis(50);
    events_.push_back(JobOpened{job, std::move(settings)});
    known_.insert(job);
  }
  // The hub takes a job over, or reconnects: leases may still be there.
  void Close(JobId job) {
    if (opened_.erase(job) > 0) events_.push_back(JobClosed{job});
  }
  void Lease(Prng& prng) {
    LeaseArrived lease{
        Epoch(1), JobId(1 + static_cast<uint32_t>(prng.Below(2))), Attempt(1), {}, {}};
    Open(lease.job);
    lease.needs.milli_cpus = 500u << prng.Below(3);
    if (prng.Chance(20)) lease.needs.memory = 3;
    if (prng.Chance(20)) lease.needs.named = {{"gpus", 1 + static_cast<uint32_t>(prng.Below(2))}};
    auto count = 1 + static_cast<uint32_t>(prng.Below(12));
    if (prng.Chance(30)) {
      lease.part = std::make_shared<GangPart>();
      count = 1;
    }
    lease.tasks = {{next_task_, count}};
    for (uint32_t i = 0; i < count; ++i) {
      AttemptRef ref{lease.job, next_task_ + i, Attempt(1)};
      open_[ref] = lease.needs;
      if (lease.part) parts_.insert(ref);
    }
    next_task_ += count;
    events_.push_back(std::move(lease));
  }
  // Starts any part, even one that has no room, runs, or is gone.
  void LetGo(Prng& prng) {
    for (const AttemptRef& ref : parts_) {
      if (prng.Chance(30)) Go(ref);
    }
  }
  void Go(const AttemptRef& ref) {
    events_.push_back(GoArrived{Epoch(1), ref});
    may_go_.insert(ref);
  }
  void Resize(Prng& prng) {
    Step();
    for (const auto& [ref, needs] : open_) {
      if (parts_.contains(ref) || !prng.Chance(20) || !resizes_.insert(ref).second) continue;
      TaskSize to;
      if (prng.Chance(70)) to.milli_cpus = 500u << prng.Below(4);
      if (prng.Chance(50)) to.memory = 1 + prng.Below(8);
      if (prng.Chance(20)) to.time_limit = Duration::Millis(20);
      events_.push_back(ResizeArrived{ref, to, now_});
    }
    Step();
  }
  // A job whose leases of before must not start any more.
  JobId Forbid(Prng& prng) {
    JobId job(1 + static_cast<uint32_t>(prng.Below(2)));
    Step();
    not_before_[job] = next_task_;
    return job;
  }

  // Some tasks likewise.
  void StopSome(Prng& prng) {
    Step();
    StopArrived stop{JobId(1 + static_cast<uint32_t>(prng.Below(2))), {}};
    for (const auto& [ref, needs] : open_) {
      if (ref.job != stop.job || !prng.Chance(30)) continue;
      AppendIndex(stop.tasks, ref.index);
      stopped_.insert(ref);
    }
    if (!stop.tasks.empty()) events_.push_back(std::move(stop));
  }

  void Step() {
    Output out;
    agent_.Step({now_, std::exchange(events_, {})}, out);
    agent_.CheckInvariants();
    RC_ASSERT(out.wake_at > now_);
    for (Order& order : out.orders) {
      if (auto* ended = std::get_if<ReportEnd>(&order)) {
        RC_ASSERT(open_.erase(ended->end.ref) == 1u);
        resizes_.erase(ended->end.ref);
      } else if (auto* returned = std::get_if<ReportReturned>(&order)) {
        for (TaskRange range : returned->tasks) {
          for (uint32_t i = 0; i < range.count; ++i) {
            AttemptRef ref{returned->job, range.first + i, returned->attempt};
            RC_ASSERT(open_.erase(ref) == 1u);
            resizes_.erase(ref);
          }
        }
      } else if (auto* close = std::get_if<CloseJob>(&order)) {
        RC_ASSERT(!opened_.contains(close->job));
        RC_ASSERT(known_.erase(close->job) == 1u);
        for (const auto& [ref, needs] : open_) RC_ASSERT(ref.job != close->job);
      } else if (auto* resized = std::get_if<ReportResized>(&order)) {
        RC_ASSERT(open_.contains(resized->ref));
        RC_ASSERT(resizes_.erase(resized->ref) == 1u);
      } else if (auto* room = std::get_if<ReportRoom>(&order)) {
        RC_ASSERT(parts_.contains(room->ref));
        RC_ASSERT(open_.contains(room->ref));
        rooms_.insert(room->ref);
      } else {
        if (auto* start = std::get_if<StartAttempt>(&order)) {
          RC_ASSERT(known_.contains(start->ref.job));
          RC_ASSERT(open_.contains(start->ref));
          RC_ASSERT(open_[start->ref] == start->needs);
          RC_ASSERT(start->ref.index >= not_before_[start->ref.job]);
          RC_ASSERT(!stopped_.contains(start->ref));
          bool is_part = parts_.contains(start->ref);
          RC_ASSERT((start->part != nullptr) == is_part);
          RC_ASSERT(!is_part || (may_go_.contains(start->ref) && rooms_.contains(start->ref)));
          started_.insert(start->ref);
        }
        orders_.push_back(std::move(order));
      }
    }
    for (const AttemptRef& ref : agent_.PartsWithRoom()) {
      RC_ASSERT(rooms_.contains(ref));
      RC_ASSERT(open_.contains(ref));
    }
    for (const agent::Run& run : agent_.Runs()) RC_ASSERT(started_.contains(run.ref));
  }

  // ---- The executor

  struct Running {
    StartAttempt order;
    bool term = false;
  };

  void Obey(size_t count) {
    for (; count > 0 && !orders_.empty(); --count) {
      Order order = std::move(orders_.front());
      orders_.pop_front();
      if (auto* start = std::get_if<StartAttempt>(&order)) {
        RC_ASSERT(start->slot >= 1u);
        RC_ASSERT(start->slot <= offer_.slots);
        std::deque<Running>& queue = slots_[start->slot];
        queue.push_back({*start});
        bool with_part = std::ranges::any_of(
            queue, [](const Running& each) { return each.order.part != nullptr; });
        // One that has ended here may be on its way to the agent, but none is held behind another.
        RC_ASSERT(!with_part || queue.size() == 1);
        if (queue.size() == 1) Begin(queue.front());
      } else if (auto* back = std::get_if<Withdraw>(&order)) {
        DoTakeBack(back->ref);
      } else if (auto* resize = std::get_if<ResizeAttempt>(&order)) {
        std::deque<Running>& queue = slots_[resize->slot];
        if (queue.empty() || queue.front().order.ref != resize->ref) continue;  // it has ended
        RC_ASSERT(queue.size() == 1u);
        const bool refuses = resize->ref.index % 3 == 0;
        if (!refuses) queue.front().order.needs = resize->needs;
        news_.push_back(AttemptResized{resize->ref, refuses ? "it uses more" : ""});
        CheckUse();
      } else if (auto* end = std::get_if<EndAttempt>(&order)) {
        for (auto& [slot, queue] : slots_) {
          if (queue.empty() || queue.front().order.ref != end->ref) continue;
          queue.front().term = true;
          if (end->kill) End(queue, end->cause);
        }
      }
    }
  }
  void DoTakeBack(const AttemptRef& ref) {
    for (auto& [slot, queue] : slots_) {
      for (size_t k = 1; k < queue.size(); ++k) {
        if (queue[k].order.ref != ref) continue;
        queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(k));
        news_.push_back(OrderTakenBack{ref});
        return;
      }
    }
  }
  void Begin(const Running& running) {
    if (running.order.tell_start) news_.push_back(AttemptStarted{running.order.ref, now_});
    CheckUse();
  }
  void CheckUse() {
    uint64_t milli_cpus = 0;
    uint64_t memory = 0;
    std::multiset<std::string> gpus;
    for (const auto& [slot, queue] : slots_) {
      if (queue.empty()) continue;
      const StartAttempt& order = queue.front().order;
      milli_cpus += order.needs.milli_cpus;
      memory += order.needs.memory;
      for (const NamedOffer& given : order.given) {
        for (const std::string& index : given.indices) RC_ASSERT(gpus.count(index) == 0u);
        gpus.insert(given.indices.begin(), given.indices.end());
      }
    }
    RC_ASSERT(milli_cpus <= offer_.milli_cpus);
    RC_ASSERT(offer_.memory == 0 || memory <= offer_.memory);
  }
  void End(std::deque<Running>& queue, Cause cause) {
    AttemptEnd end{.ref = queue.front().order.ref, .cause = cause};
    end.slot = queue.front().order.slot;
    end.wall = Duration::Millis(static_cast<int64_t>(1 + end.ref.index % 3 * 10));
    news_.push_back(AttemptOver{std::move(end)});
    queue.pop_front();
    if (!queue.empty()) Begin(queue.front());
  }
  void EndSome(Prng& prng) {
    for (auto& [slot, queue] : slots_) {
      if (queue.empty() || !prng.Chance(50)) continue;
      End(queue, queue.front().term ? Cause::kStopped : Cause::kSuccess);
    }
  }
  void Hear(size_t count) {
    for (; count > 0 && !news_.empty(); --count) {
      events_.push_back(std::move(news_.front()));
      news_.pop_front();
    }
  }

  Offer offer_;
  Agent agent_;
  Instant now_{1'700'000'000'000'000'000};
  std::vector<Event> events_;
  std::deque<Order> orders_;  // on their way to the executor
  std::deque<Event> news_;    // on its way to the agent
  std::map<uint16_t, std::deque<Running>> slots_;
  std::map<AttemptRef, Needs> open_;  // leased, not reported
  std::set<JobId> opened_;            // by the hub
  std::set<JobId> known_;             // not closed
  std::map<JobId, TaskIndex> not_before_;
  std::set<AttemptRef> stopped_;
  std::set<AttemptRef> parts_;   // of gangs, ever leased
  std::set<AttemptRef> may_go_;  // those that were told to
  std::set<AttemptRef> rooms_;   // those for which room was reported
  std::set<AttemptRef> started_;
  std::set<AttemptRef> resizes_;  // ordered, not answered
  uint32_t next_task_ = 0;
  bool blocked_ = false;
};

class RandomHub : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomHub, NeverOversellsAndReportsOnce) {
  rc::detail::TestParams params;
  params.seed = GetParam();
  params.maxSuccess = 100;
  params.maxSize = 150;
  auto ops = rc::gen::container<std::vector<Op>>(rc::gen::map(
      rc::gen::pair(rc::gen::inRange(0, 14),
                    rc::gen::noShrink(rc::gen::inRange<uint64_t>(0, UINT64_MAX))),
      [](const std::pair<int, uint64_t>& pair) { return Op{pair.first, pair.second}; }));
  auto result = rc::detail::checkTestable(
      [&] {
        World world(*rc::gen::noShrink(rc::gen::inRange<uint64_t>(0, 1000)));
        for (const Op& op : *ops) world.Run(op);
        world.Finish();
      },
      rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << "seed " << GetParam() << ": " << text.str();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHub, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace spate::agent
