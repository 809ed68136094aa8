// Those who wait, in the order in which a pass tries them, with a quick search for the next one
// that fits a gap. Of very many who wait hardly one does, so blocks of them are passed over as one.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "doors/simulate/backfill/free_profile.h"

namespace spate::engine::place {

// A number for each gang, larger for one that came later.
using Ticket = uint64_t;

// Place in the line: the smallest is tried first.
struct WaitingTurn {
  Moment rank = 0;  // the same for all: in the order of arrival
  Ticket ticket = 0;
  friend auto operator<=>(const WaitingTurn&, const WaitingTurn&) = default;
};

struct WaitingGang {
  WaitingTurn turn;
  uint32_t processors = 0;
  Moment estimate = 0;
};

// Room before a reservation: `free` processors for `length`, and of them `extra` for ever.
struct Gap {
  int64_t free = 0;
  Moment length = 0;
  int64_t extra = 0;
  bool Fits(uint32_t processors, Moment estimate) const {
    return processors <= free && (estimate <= length || processors <= extra);
  }
};

class WaitingLine {
 public:
  void Insert(const WaitingGang& gang);
  void Remove(WaitingTurn turn);  // it is there
  std::optional<WaitingGang> First() const;
  // The first one that fits, behind `last` where that is given.
  std::optional<WaitingGang> NextThatFits(const Gap& gap, std::optional<WaitingTurn> last) const;

 private:
  struct Block {
    std::vector<WaitingGang> gangs;
    // The least among them, perhaps each of another one.
    uint32_t processors = UINT32_MAX;
    Moment estimate = INT64_MAX;
    void Count(const WaitingGang& gang);
    void CountAnew();
  };

  // The block in which the turn stands, or would.
  size_t BlockOf(WaitingTurn turn) const;
  void SplitBlock(size_t block);

  std::vector<Block> blocks_;  // none is empty
};

}  // namespace spate::engine::place
