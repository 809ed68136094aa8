// Virtual time goes from event to event: arrivals, ends, and reservations that come due by
// themselves. In sequence each has a pass of its own, arrivals before ends, ends in the order of
// their starts; a job whose estimate ends at this very instant has its processors free from the
// first of these passes on, as everybody has known that it ends by then.
#include "doors/simulate/replay.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/check.h"

namespace spate::cli {
namespace {

namespace place = engine::place;
using place::Moment;
using place::Ticket;

constexpr Moment kNever = INT64_MAX;

// When something ends, which of the starts it was, and whose.
struct EndEvent {
  Moment at = 0;
  uint64_t sequence = 0;
  Ticket ticket = 0;
  friend auto operator<=>(const EndEvent&, const EndEvent&) = default;
};
using Ends = std::priority_queue<EndEvent, std::vector<EndEvent>, std::greater<>>;

Moment TimeOf(const Ends& ends) { return ends.empty() ? kNever : ends.top().at; }

template <typename Machine>
class Replayer {
 public:
  Replayer(const std::vector<format::RigidJob>& jobs, const ReplayRules& rules, Machine& machine)
      : jobs_(jobs), rules_(rules), machine_(machine), starts_(jobs.size()) {
    freed_.resize(jobs.size());
  }

  std::vector<ReplayStart> Run() {
    for (Moment now = Next(); now != kNever; now = Next()) {
      if (rules_.order == ReplayOrder::kSequence) {
        ReceiveOne(now);
      } else {
        TakeAll(now);
      }
    }
    CHECK(machine_.waiting() == 0);
    return std::move(starts_);
  }

 private:
  static size_t JobOf(Ticket ticket) { return ticket - 1; }
  Moment NextArrival() const { return next_ < jobs_.size() ? jobs_[next_].submit : kNever; }
  Moment Next() const {
    return std::min({NextArrival(), TimeOf(ends_), machine_.NextDue().value_or(kNever)});
  }

  void ReceiveOne(Moment now) {
    while (TimeOf(estimated_ends_) <= now) {
      Free(estimated_ends_.top().ticket, now);
      estimated_ends_.pop();
    }
    if (NextArrival() == now) {
      const format::RigidJob& job = jobs_[next_];
      Arrive();
      if (machine_.WantsPassAfter(job)) Pass(now);
    } else {
      if (TimeOf(ends_) == now) End(now);
      Pass(now);
    }
  }

  void TakeAll(Moment now) {
    while (TimeOf(ends_) == now) End(now);
    while (NextArrival() == now) Arrive();
    Pass(now);
  }

  void Arrive() {
    const format::RigidJob& job = jobs_[next_++];
    machine_.Arrive(job, EstimateOf(job));
  }

  void End(Moment now) {
    const Ticket ticket = ends_.top().ticket;
    ends_.pop();
    Free(ticket, now);
  }

  void Free(Ticket ticket, Moment now) {
    if (freed_[JobOf(ticket)]) return;
    freed_[JobOf(ticket)] = true;
    machine_.End(ticket, now);
  }

  void Pass(Moment now) {
    for (const place::Start& start : machine_.Pass(now)) {
      const format::RigidJob& job = jobs_[JobOf(start.ticket)];
      starts_[JobOf(start.ticket)] = {now, start.overtakes};
      const EndEvent end{now + job.run, ++sequence_, start.ticket};
      ends_.push(end);
      bool one_by_one = rules_.order == ReplayOrder::kSequence;
      if (one_by_one && job.run == EstimateOf(job)) estimated_ends_.push(end);
    }
  }

  Moment EstimateOf(const format::RigidJob& job) const {
    return rules_.perfect ? job.run : job.estimate;
  }

  const std::vector<format::RigidJob>& jobs_;
  const ReplayRules& rules_;
  Machine& machine_;
  std::vector<ReplayStart> starts_;
  std::vector<bool> freed_;  // their processors
  size_t next_ = 0;          // job to arrive
  uint64_t sequence_ = 0;
  Ends ends_;
  Ends estimated_ends_;  // of those that run as long as their estimates say
};

}  // namespace

std::vector<ReplayStart> Replay(const format::Workload& workload, const ReplayRules& rules) {
  if (rules.nodes.empty()) {
    PoolMachine machine({.policy = rules.policy, .processors = workload.processors});
    return Replayer(workload.jobs, rules, machine).Run();
  }
  NodesMachine machine({.policy = rules.policy,
                        .cpus = rules.nodes,
                        .second = workload.second,
                        .requests = rules.requests,
                        .own_jobs = rules.perfect});
  return Replayer(workload.jobs, rules, machine).Run();
}

}  // namespace spate::cli
