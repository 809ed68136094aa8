#include "core/engine/place/reservations.h"

#include <algorithm>

namespace spate::engine::place {

std::vector<Reserved>::const_iterator Reservations::Find(Ticket ticket) const {
  auto found = std::lower_bound(
      reserved_.begin(), reserved_.end(), ticket,
      [](const Reserved& reserved, Ticket sought) { return reserved.ticket < sought; });
  return found != reserved_.end() && found->ticket == ticket ? found : reserved_.end();
}

void Reservations::Take(const Reserved& reserved) {
  ahead_.Take(reserved.start, reserved.start + reserved.gang.estimate, reserved.gang.processors);
}

// What of it is past is not there any more.
void Reservations::Give(const Reserved& reserved, Moment now) {
  ahead_.Give(std::max(reserved.start, now), reserved.start + reserved.gang.estimate,
              reserved.gang.processors);
}

std::optional<Moment> Reservations::StartOf(Ticket ticket) const {
  auto found = Find(ticket);
  return found == reserved_.end() ? std::nullopt : std::optional(found->start);
}

std::optional<Moment> Reservations::FirstStart() const {
  auto first = std::min_element(reserved_.begin(), reserved_.end(),
                                [](const auto& a, const auto& b) { return a.start < b.start; });
  return first == reserved_.end() ? std::nullopt : std::optional(first->start);
}

void Reservations::Add(Ticket ticket, Gang gang, Moment now) {
  reserved_.push_back({ticket, gang, Fit(gang, now)});
  Take(reserved_.back());
}

void Reservations::Remove(Ticket ticket, Moment now) {
  auto found = Find(ticket);
  if (found == reserved_.end()) return;
  Give(*found, now);
  reserved_.erase(found);
}

void Reservations::MoveForward(Moment now) {
  for (Reserved& reserved : reserved_) {
    const Moment start =
        ahead_.EarliestFit(reserved.gang.processors, reserved.gang.estimate, now, reserved.start);
    if (start == reserved.start) continue;
    Give(reserved, now);
    reserved.start = start;
    Take(reserved);
  }
}

void Reservations::Renew(Moment now) {
  for (const Reserved& reserved : reserved_) Give(reserved, now);
  for (Reserved& reserved : reserved_) {
    reserved.start = Fit(reserved.gang, now);
    Take(reserved);
  }
}

std::optional<Reserved> Reservations::TakeDue(Moment now) {
  auto due = std::find_if(reserved_.begin(), reserved_.end(),
                          [&](const Reserved& reserved) { return reserved.start <= now; });
  if (due == reserved_.end()) return std::nullopt;
  Reserved taken = *due;
  Give(taken, now);
  reserved_.erase(due);
  return taken;
}

}  // namespace spate::engine::place
