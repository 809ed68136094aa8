// Conservative backfilling: a reservation for each gang that waits, up to a bound. They lie in the
// profile like gangs that run, so whatever finds room there delays none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "doors/simulate/backfill/free_profile.h"
#include "doors/simulate/backfill/waiting_line.h"

namespace spate::engine::place {

struct Gang {
  uint32_t processors = 1;
  Moment estimate = 1;  // of its run time, by its user; at least 1
  uint64_t user = 0;    // a number for each
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
  // Somebody who ran gave back what it would have had in that time.
  void Gain(Moment from, Moment to);
  // In the order of arrival each moves to the earliest start that there is beside all others, so
  // none becomes later.
  void MoveForward(Moment now);
  // An estimate was exceeded, or a pass came too late: what was promised cannot be kept, and all
  // begin anew in the order of arrival.
  void Renew(Moment now);
  // One whose start has come, the oldest of those; it is no longer reserved.
  std::optional<Reserved> DrainDue(Moment now);

 private:
  // A time in which more may be free than when a reservation was looked at last: nowhere else can
  // it find a place that it had not then. Empty: there is none.
  struct Gained {
    Moment from = INT64_MAX;
    Moment to = INT64_MIN;
    bool empty() const { return from >= to; }
    void Add(Moment other_from, Moment other_to);
  };

  Moment Fit(const Gang& gang, Moment now) const {
    return ahead_.EarliestFit(gang.processors, gang.estimate, now);
  }
  void Reserve(const Reserved& reserved);
  void Release(const Reserved& reserved, Moment now);
  void Move(Reserved& reserved, Moment start, Moment now);
  bool MayMove(const Reserved& reserved) const;
  std::vector<Reserved>::const_iterator Find(Ticket ticket) const;

  FreeProfile& ahead_;
  const size_t most_;
  std::vector<Reserved> reserved_;                // by ticket
  std::set<std::pair<Moment, Ticket>> by_start_;  // the same
  Gained gained_;                                 // since each was looked at
  FreeProfile::Rooms rooms_;                      // while they are moved: where more is free
};

}  // namespace spate::engine::place
