// Why a pass after arrivals looks at these alone: nothing else has come to fit. The head's
// reservation stands, as those that overtook it leave it what it needs, and what did not end before
// it a while ago ends no earlier now.
#include "doors/simulate/backfill/backfill.h"

#include <algorithm>

#include "base/check.h"

namespace spate::engine::place {

Backfill::Backfill(const BackfillRules& rules)
    : rules_(rules),
      free_(rules.processors),
      ahead_(rules.processors),
      reservations_(ahead_, rules.reservations) {}

bool Backfill::Overtaking() const {
  return rules_.policy == BackfillPolicy::kEasy || rules_.policy == BackfillPolicy::kEasySjbf ||
         Fair();
}

WaitingTurn Backfill::TurnOf(Ticket ticket, const Gang& gang) const {
  return {rules_.policy == BackfillPolicy::kEasySjbf ? gang.estimate : 0, ticket};
}

Ticket Backfill::Arrive(Gang gang) {
  CHECK(gang.processors > 0 && gang.processors <= rules_.processors && gang.estimate > 0);
  const Ticket ticket = ++last_ticket_;
  waiting_.emplace(ticket, gang);
  arrivals_.push_back(ticket);
  Enter(ticket, gang);
  return ticket;
}

void Backfill::Enter(Ticket ticket, const Gang& gang) {
  if (rules_.policy == BackfillPolicy::kConservative) unreserved_.push_back(ticket);
  if (!Overtaking()) return;
  const WaitingGang waiting{TurnOf(ticket, gang), gang.processors, gang.estimate};
  if (Fair()) {
    fair_.Insert(gang.user, waiting);
  } else {
    line_.Insert(waiting);
  }
  fresh_.push_back(ticket);
}

void Backfill::Leave(Ticket ticket, const Gang& gang) {
  if (fair_head_ == ticket) fair_head_.reset();
  if (Fair()) {
    fair_.Remove(gang.user, TurnOf(ticket, gang));
  } else if (Overtaking()) {
    line_.Remove(TurnOf(ticket, gang));
  }
}

void Backfill::Withdraw(Ticket ticket, Moment now) {
  auto found = waiting_.find(ticket);
  CHECK(found != waiting_.end());
  if (Head() == ticket || reservations_.StartOf(ticket)) changed_ = true;
  Leave(ticket, found->second);
  reservations_.Remove(ticket, now);
  waiting_.erase(found);
  DropGone();
}

void Backfill::End(Ticket ticket, Moment now) {
  auto found = running_.find(ticket);
  CHECK(found != running_.end());
  const Running& running = found->second;
  const int64_t processors = running.gang.processors;
  const Moment held_until = running.late ? late_until_ : running.expected_end;
  ahead_.Release(now, held_until, processors);
  reservations_.Gain(now, held_until);
  if (running.late) {
    late_ -= processors;
  } else {
    expected_ends_.erase({running.expected_end, ticket});
  }
  if (Fair()) fair_.Use(running.gang.user, -processors);
  free_ += running.gang.processors;
  running_.erase(found);
  changed_ = true;
}

void Backfill::Advance(Moment now) {
  ahead_.Advance(now);
  HoldLate(now);
  while (!expected_ends_.empty() && expected_ends_.begin()->first <= now) {
    Running& running = running_.at(expected_ends_.begin()->second);
    expected_ends_.erase(expected_ends_.begin());
    running.late = true;
    late_ += running.gang.processors;
    ahead_.Reserve(now, late_until_, running.gang.processors);
    changed_ = exceeded_ = true;
  }
}

// Overdue gangs hold their processors for one more moment: all of them as one.
void Backfill::HoldLate(Moment now) {
  if (late_until_ > now) return;
  late_until_ = now + 1;
  if (late_ == 0) return;
  ahead_.Reserve(now, late_until_, late_);
  changed_ = exceeded_ = true;
}

void Backfill::DropGone() {
  while (!arrivals_.empty() && !waiting_.contains(arrivals_.front())) arrivals_.pop_front();
}

std::optional<Ticket> Backfill::Head() const {
  if (Fair()) return fair_head_;
  return arrivals_.empty() ? std::nullopt : std::optional(arrivals_.front());
}

void Backfill::StartNow(Ticket ticket, Moment now) {
  auto found = waiting_.find(ticket);
  const Gang gang = found->second;
  CHECK(gang.processors <= free_);
  waiting_.erase(found);
  Leave(ticket, gang);
  DropGone();
  if (Fair()) fair_.Use(gang.user, gang.processors);
  free_ -= gang.processors;
  ahead_.Reserve(now, now + gang.estimate, gang.processors);
  running_.emplace(ticket, Running{gang, now + gang.estimate});
  expected_ends_.emplace(now + gang.estimate, ticket);
  started_.push_back({ticket, !arrivals_.empty() && arrivals_.front() < ticket});
}

const std::vector<Start>& Backfill::Pass(Moment now) {
  started_.clear();
  Advance(now);
  if (rules_.policy == BackfillPolicy::kConservative) {
    PassConservative(now);
  } else {
    StartHeads(now);
    if (Overtaking() && Head()) LetOvertake(now);
  }
  fresh_.clear();
  changed_ = exceeded_ = false;
  return started_;
}

void Backfill::StartHeads(Moment now) {
  ChooseHead();
  for (auto head = Head(); head && waiting_.at(*head).processors <= free_; head = Head()) {
    StartNow(*head, now);
    changed_ = true;
    ChooseHead();
  }
}

void Backfill::ChooseHead() {
  if (Fair() && !fair_head_) fair_head_ = fair_.First();
}

void Backfill::LetOvertake(Moment now) {
  if (promise_ && promise_->ticket == Head() && !changed_) return LetNewOvertake(now);
  PromiseHead(now);
  LetAllOvertake(now);
}

// Nothing but gangs that run is in the profile here, so what is free once stays free.
void Backfill::PromiseHead(Moment now) {
  const Ticket head = *Head();
  const Gang gang = waiting_.at(head);
  const Moment start = ahead_.EarliestFit(gang.processors, gang.estimate, now);
  promise_ = Promise{head, start, ahead_.FreeAt(start) - gang.processors};
}

Gap Backfill::GapAt(Moment now) const {
  return {.free = free_, .length = promise_->start - now, .extra = promise_->extra};
}

void Backfill::LetAllOvertake(Moment now) {
  if (Fair()) {
    fair_.EachThatFits([&] { return GapAt(now); },
                       [&](const WaitingGang& gang) { StartOvertaker(gang.turn.ticket, now); });
    return;
  }
  std::optional<WaitingTurn> last;
  while (free_ > 0) {
    auto next = line_.NextThatFits(GapAt(now), last);
    if (!next) break;
    last = next->turn;
    StartOvertaker(next->turn.ticket, now);
  }
}

void Backfill::LetNewOvertake(Moment now) {
  // Each that starts may change whose turn it is.
  if (Fair() && fresh_.size() > 1) return LetAllOvertake(now);
  std::sort(fresh_.begin(), fresh_.end(), [this](Ticket a, Ticket b) {
    auto turn = [this](Ticket ticket) {
      auto gang = waiting_.find(ticket);
      return gang == waiting_.end() ? WaitingTurn{0, ticket} : TurnOf(ticket, gang->second);
    };
    return turn(a) < turn(b);
  });
  for (Ticket ticket : fresh_) {
    auto found = waiting_.find(ticket);
    if (found == waiting_.end()) continue;
    const Gang& gang = found->second;
    if (GapAt(now).Fits(gang.processors, gang.estimate)) StartOvertaker(ticket, now);
  }
}

void Backfill::StartOvertaker(Ticket ticket, Moment now) {
  const Gang& gang = waiting_.at(ticket);
  if (now + gang.estimate > promise_->start) promise_->extra -= gang.processors;
  StartNow(ticket, now);
}

void Backfill::PassConservative(Moment now) {
  auto first = reservations_.FirstStart();
  if (exceeded_ || (first && *first < now)) {
    reservations_.Renew(now);
  } else if (changed_) {
    reservations_.MoveForward(now);
  }
  StartDue(now);
  while (!unreserved_.empty() && !reservations_.full()) {
    Ticket ticket = unreserved_.front();
    unreserved_.pop_front();
    auto found = waiting_.find(ticket);
    if (found == waiting_.end()) continue;
    reservations_.Add(ticket, found->second, now);
    if (reservations_.StartOf(ticket) == now) StartDue(now);
  }
}

void Backfill::StartDue(Moment now) {
  while (auto due = reservations_.DrainDue(now)) StartNow(due->ticket, now);
}

std::optional<Moment> Backfill::NextDue() const { return reservations_.FirstStart(); }

std::optional<Moment> Backfill::PromisedTo(Ticket ticket) const {
  if (promise_ && promise_->ticket == ticket && Head() == ticket) return promise_->start;
  return reservations_.StartOf(ticket);
}

}  // namespace spate::engine::place
