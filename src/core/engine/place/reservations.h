// Conservative backfilling: a reservation for each gang that waits, up to a bound. They lie in the
// profile like gangs that run, so whatever finds room there delays none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/place/free_profile.h"
#include "core/engine/place/waiting_line.h"

namespace spate::engine::place {

struct Gang {
  uint32_t processors = 1;
  Moment estimate = 1;  // of its run time, by its user; at least 1
};

struct Reserved {
  Ticket ticket = 0;
  Gang gang;
  Moment start = 0;
};

class Reservations {
 public:
  // At most so many.
  Reservations(FreeProfile& ahead, size_t most) : ahead_(ahead), most_(most) {}

  bool full() const { return reserved_.size() >= most_; }
  std::optional<Moment> StartOf(Ticket ticket) const;
  std::optional<Moment> FirstStart() const;

  // The earliest one that delays no other. Gangs come in the order of their tickets.
  void Add(Ticket ticket, Gang gang, Moment now);
  // Nothing where it has none.
  void Remove(Ticket ticket, Moment now);
  // Somebody gave room back: in the order of arrival each moves to the earliest start that there is
  // beside all others, so none becomes later.
  void MoveForward(Moment now);
  // An estimate was exceeded, or a pass came too late: what was promised cannot be kept, and all
  // begin anew in the order of arrival.
  void Renew(Moment now);
  // One whose start has come, the oldest of those; it is no longer reserved.
  std::optional<Reserved> TakeDue(Moment now);

 private:
  Moment Fit(const Gang& gang, Moment now) const {
    return ahead_.EarliestFit(gang.processors, gang.estimate, now);
  }
  void Take(const Reserved& reserved);
  void Give(const Reserved& reserved, Moment now);
  std::vector<Reserved>::const_iterator Find(Ticket ticket) const;

  FreeProfile& ahead_;
  const size_t most_;
  std::vector<Reserved> reserved_;  // by ticket
};

}  // namespace spate::engine::place
