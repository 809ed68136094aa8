// Gangs that start now: first come, first served, and who may overtake. A gang takes processors
// for as long as it runs; its user's estimate says how long that may be. Numbers in, numbers out.
//
//   fcfs          strictly in the order of arrival
//   easy          the first one that finds no room (the head) has a reservation, from the
//                 estimates of those that run, made anew in each pass; others may start in the
//                 order of arrival where they do not delay it: they end before it, by their own
//                 estimate, or take processors that it leaves
//   easy-sjbf     the same, the shortest estimate first, then in the order of arrival
//   fair          as easy, but users take turns (fair_line.h): the head is the one whose turn it is
//                 when a head is needed, and stays it until it starts, whatever others use then
//   conservative  everybody has a reservation (reservations.h), and starts when it comes
//
// Promises, as long as no gang outlives its estimate, nobody is withdrawn behind another's back and
// a pass comes when something ends or is due: never more processors than there are; no head starts
// later than the reservation that it had first; of conservative, nobody does.
//
// A gang that outlives its estimate is expected to end any moment; its processors stay in use.
//
// Cost: a start or an end is a step in a sorted list of those that run. A pass after arrivals looks
// at them alone. One after an end looks through those who wait, in blocks (waiting_line.h);
// conservative, at all reservations once, each against the profile: hence their bound.
//
// One kind of processor on one machine is all that it knows. Gangs over nodes are gangs.h's; with
// one node both start the same (gangs_property_test.cc, tests/e2e/simulate_test.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/enum_list.h"
#include "doors/simulate/backfill/fair_line.h"
#include "doors/simulate/backfill/free_profile.h"
#include "doors/simulate/backfill/reservations.h"
#include "doors/simulate/backfill/waiting_line.h"

namespace spate::engine::place {

SPATE_ENUM(BackfillPolicy,
    kFcfs, "fcfs",
    kEasy, "easy",
    kEasySjbf, "easy-sjbf",
    kConservative, "conservative",
    kFair, "fair");

struct BackfillRules {
  BackfillPolicy policy = BackfillPolicy::kEasy;
  uint32_t processors = 1;
  // Only for conservative. Gangs behind so many wait without one, and start nothing.
  size_t reservations = 1'000;
};

struct Start {
  Ticket ticket = 0;
  bool overtakes = false;  // somebody who came earlier still waits
};

class Backfill {
 public:
  explicit Backfill(const BackfillRules& rules);

  // It waits from now on. It takes from 1 to all processors.
  Ticket Arrive(Gang gang);
  // It does not wait any more.
  void Withdraw(Ticket ticket, Moment now);
  // One that was started has ended.
  void End(Ticket ticket, Moment now);
  // Those who start now, one after the other. `now` never goes back.
  const std::vector<Start>& Pass(Moment now);

  uint32_t free() const { return free_; }
  size_t waiting() const { return waiting_.size(); }
  // A pass has something to do then though nothing ends or arrives.
  std::optional<Moment> NextDue() const;
  // When it starts at the latest, as of the last pass. nullopt: it has no reservation.
  std::optional<Moment> PromisedTo(Ticket ticket) const;
  // With fair, nullopt before a pass has made one the head.
  std::optional<Ticket> Head() const;

 private:
  struct Running {
    Gang gang;
    Moment expected_end = 0;
    bool late = false;  // its estimate is over
  };
  struct Promise {
    Ticket ticket = 0;
    Moment start = 0;
    int64_t extra = 0;  // processors that are left then
  };

  bool Overtaking() const;
  bool Fair() const { return rules_.policy == BackfillPolicy::kFair; }
  void Enter(Ticket ticket, const Gang& gang);
  void Leave(Ticket ticket, const Gang& gang);
  WaitingTurn TurnOf(Ticket ticket, const Gang& gang) const;
  void Advance(Moment now);
  void HoldLate(Moment now);
  void StartNow(Ticket ticket, Moment now);
  void StartHeads(Moment now);
  void ChooseHead();
  void PromiseHead(Moment now);
  void LetOvertake(Moment now);
  void LetAllOvertake(Moment now);
  void LetNewOvertake(Moment now);
  Gap GapAt(Moment now) const;
  void StartOvertaker(Ticket ticket, Moment now);
  void PassConservative(Moment now);
  void StartDue(Moment now);
  void DropGone();

  const BackfillRules rules_;
  uint32_t free_;
  FreeProfile ahead_;
  std::unordered_map<Ticket, Running> running_;        // looked up, never walked
  std::set<std::pair<Moment, Ticket>> expected_ends_;  // of those that are not late
  // Processors of those that are, and the moment up to which the profile has them as taken.
  int64_t late_ = 0;
  Moment late_until_ = 0;

  std::unordered_map<Ticket, Gang> waiting_;  // looked up, never walked
  std::deque<Ticket> arrivals_;               // in order, with some that do not wait any more
  WaitingLine line_;                          // where there is overtaking, but of fair
  FairLine fair_;
  std::optional<Ticket> fair_head_;
  std::vector<Ticket> fresh_;       // arrived since the last pass
  std::optional<Promise> promise_;  // the head's
  Reservations reservations_;
  std::deque<Ticket> unreserved_;  // behind the last reservation, as arrivals_
  Ticket last_ticket_ = 0;

  // Since the last pass something happened beside arrivals; an estimate turned out too short.
  bool changed_ = false;
  bool exceeded_ = false;
  std::vector<Start> started_;
};

}  // namespace spate::engine::place
