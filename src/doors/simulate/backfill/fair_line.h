// Those who wait, by user. Users take turns by the processors that they have in use: whoever has
// the least comes first, of equals the one whose gang came first; each user's gangs in the order of
// arrival.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "doors/simulate/backfill/waiting_line.h"

namespace spate::engine::place {

using UserNumber = uint64_t;

class FairLine {
 public:
  void Insert(UserNumber user, const WaitingGang& gang);
  void Remove(UserNumber user, WaitingTurn turn);  // it is there
  // The user has so many processors more in use, or less.
  void Use(UserNumber user, int64_t processors);
  // The gang whose turn it is.
  std::optional<Ticket> First() const;
  // Those that fit `gap()`, in turn: `start` takes each of them out of the line, makes the gap
  // smaller and the user's use larger, and must have done so when it returns. Nobody that was
  // passed over fits later, as gaps only shrink. Cost: a look at each user who waits, and at blocks
  // of their gangs.
  void EachThatFits(const std::function<Gap()>& gap,
                    const std::function<void(const WaitingGang&)>& start) const;

 private:
  struct Turn {
    int64_t used = 0;
    Ticket first = 0;
    UserNumber user = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  struct User {
    int64_t used = 0;
    WaitingLine line;
  };

  // Out of turns_, and into it where something waits.
  void TakeTurn(UserNumber user, const User& of);
  void GiveTurn(UserNumber user, const User& of);
  void DropIdle(UserNumber user);

  std::unordered_map<UserNumber, User>
      users_;             // who wait or use something; looked up, never walked
  std::set<Turn> turns_;  // who wait
};

}  // namespace spate::engine::place
