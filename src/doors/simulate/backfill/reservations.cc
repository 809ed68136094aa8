#include "doors/simulate/backfill/reservations.h"

#include <algorithm>
#include <utility>

namespace spate::engine::place {
namespace {

// When many move, looking again for all rooms after each would cost more than their searches: it is
// done after so many searches that found nothing.
constexpr uint32_t kInVain = 16;

}  // namespace

std::vector<Reserved>::const_iterator Reservations::Find(Ticket ticket) const {
  auto found = std::lower_bound(
      reserved_.begin(), reserved_.end(), ticket,
      [](const Reserved& reserved, Ticket sought) { return reserved.ticket < sought; });
  return found != reserved_.end() && found->ticket == ticket ? found : reserved_.end();
}

void Reservations::Reserve(const Reserved& reserved) {
  ahead_.Reserve(reserved.start, reserved.start + reserved.gang.estimate, reserved.gang.processors);
}

// The past part of it no longer exists.
void Reservations::Release(const Reserved& reserved, Moment now) {
  ahead_.Release(std::max(reserved.start, now), reserved.start + reserved.gang.estimate,
                 reserved.gang.processors);
}

std::optional<Moment> Reservations::StartOf(Ticket ticket) const {
  auto found = Find(ticket);
  return found == reserved_.end() ? std::nullopt : std::optional(found->start);
}

std::optional<Moment> Reservations::FirstStart() const {
  return by_start_.empty() ? std::nullopt : std::optional(by_start_.begin()->first);
}

void Reservations::Add(Ticket ticket, Gang gang, Moment now) {
  reserved_.push_back({ticket, gang, Fit(gang, now)});
  by_start_.emplace(reserved_.back().start, ticket);
  Reserve(reserved_.back());
}

void Reservations::Remove(Ticket ticket, Moment now) {
  auto found = Find(ticket);
  if (found == reserved_.end()) return;
  Release(*found, now);
  Gain(std::max(found->start, now), found->start + found->gang.estimate);
  by_start_.erase({found->start, ticket});
  reserved_.erase(found);
}

void Reservations::Gained::Add(Moment other_from, Moment other_to) {
  if (other_from >= other_to) return;
  from = std::min(from, other_from);
  to = std::max(to, other_to);
}

void Reservations::Gain(Moment from, Moment to) { gained_.Add(from, to); }

void Reservations::Move(Reserved& reserved, Moment start, Moment now) {
  Release(reserved, now);
  by_start_.erase({reserved.start, reserved.ticket});
  reserved.start = start;
  by_start_.emplace(start, reserved.ticket);
  Reserve(reserved);
}

// A gang that moves leaves a gap for later ones now, and for earlier ones in the next round.
void Reservations::MoveForward(Moment now) {
  Gained gained = std::exchange(gained_, Gained());
  gained.from = std::max(gained.from, now);
  if (gained.empty()) return;
  uint32_t in_vain = kInVain;  // searches since somebody moved
  for (Reserved& reserved : reserved_) {
    const Gang& gang = reserved.gang;
    if (in_vain == kInVain) {
      ahead_.RoomsIn(now, gained.to, rooms_);
      ++in_vain;
    }
    if (reserved.start <= gained.from) continue;
    if (in_vain > kInVain && !MayMove(reserved)) continue;
    const Moment start = ahead_.EarliestFit(gang.processors, gang.estimate,
                                            std::max(now, gained.from - gang.estimate + 1),
                                            {.at = reserved.start, .behind = gained.to});
    if (start == reserved.start) {
      if (in_vain < kInVain) ++in_vain;
      continue;
    }
    const Moment old = reserved.start;
    Move(reserved, start, now);
    gained.Add(old, old + gang.estimate);
    gained_.Add(old, old + gang.estimate);
    in_vain = 0;
  }
}

// Without a search. There must be a room that is long enough, or one that goes on in its own.
bool Reservations::MayMove(const Reserved& reserved) const {
  const Moment longest = rooms_.LongestOf(reserved.gang.processors);
  if (longest == 0) return false;
  return longest >= reserved.gang.estimate ||
         ahead_.FreeAt(reserved.start - 1) >= reserved.gang.processors;
}

void Reservations::Renew(Moment now) {
  for (const Reserved& reserved : reserved_) Release(reserved, now);
  by_start_.clear();
  for (Reserved& reserved : reserved_) {
    reserved.start = Fit(reserved.gang, now);
    by_start_.emplace(reserved.start, reserved.ticket);
    Reserve(reserved);
  }
  gained_ = Gained();
}

// None starts before that: the oldest one is the first of those that begin then.
std::optional<Reserved> Reservations::DrainDue(Moment now) {
  if (by_start_.empty() || by_start_.begin()->first > now) return std::nullopt;
  auto due = Find(by_start_.begin()->second);
  Reserved taken = *due;
  Release(taken, now);
  by_start_.erase(by_start_.begin());
  reserved_.erase(due);
  return taken;
}

}  // namespace spate::engine::place
