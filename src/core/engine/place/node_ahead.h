// Forecast of a node's free resources: its running work, when that ends, and its promises to
// gangs. Made for one pass over gangs, for all nodes, so the future is computed only when it is
// needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/place/board.h"

namespace spate::engine::place {

// Slack: a promise counts as broken only beyond it.
inline constexpr Duration kLittle = Duration::Seconds(1);
constexpr Duration LittleOf(Duration said) { return std::max(kLittle, said / 10); }

class NodeAhead {
 public:
  NodeAhead(NodeId id, Node& node, const Board& board, Instant now)
      : id_(id), node_(&node), board_(&board), now_(now) {}

  NodeId id() const { return id_; }
  Node& node() const { return *node_; }
  // The last ends, no later than `until`, of what runs there: of the user's own tasks, and of other
  // users'. Instant(): nothing of theirs ends by then.
  struct LastEnds {
    Instant own;
    Instant others;
    bool own_unknown = false;                  // an end of the user's own tasks is unknown
    Amounts overdue;                           // held by the user's own tasks past their ends
    Instant overdue_since = Instant::Never();  // the first of those ends
    bool over_time = false;                    // one of them has outlived its --time
  };
  LastEnds EndsUntil(Instant until, const std::string* user) const;
  // Promises of this node to gangs.
  struct Claim {
    Instant from;
    Instant to;
    Amounts amounts;
    friend bool operator==(const Claim&, const Claim&) = default;
  };
  const std::vector<Claim>& claims() const { return claims_; }
  void Add(Claim claim) { claims_.push_back(std::move(claim)); }
  // One that was added.
  void Remove(const Claim& claim) { claims_.erase(std::ranges::find(claims_, claim)); }
  void RemoveClaims() { claims_.clear(); }
  // The board was told of a part that starts there.
  void Changed() { known_ = false; }

  // So many processes fit from `from` until `to`, at once with all that is known of.
  uint32_t FitIn(const TaskClass& of_gang, Instant from, Instant to);
  // When that may become another number after `when`, for what takes so long; Never(): never.
  Instant NextTurn(Instant when, Duration length);
  // Thousandths of processors that are free now, and beside all that is promised, at most; 0
  // without a slot.
  uint64_t FreeCpus() const;
  uint64_t LastingCpus();
  // So much is held now, of what nobody knows when it ends too.
  uint64_t used() const { return Used(node_->offer, node_->held); }

 private:
  // From `at` on, so much is held of what runs now.
  struct Held {
    Instant at;
    Amounts amounts;
  };
  void LookAhead();
  Amounts HeldAt(Instant when);

  NodeId id_;
  Node* node_;
  const Board* board_;
  Instant now_;
  bool known_ = false;      // what is in held_
  std::vector<Held> held_;  // by time, after now
  Amounts overdue_;         // of what should have ended by now
  std::vector<Claim> claims_;
};

// Work on a node, and when it ends: a gang's part, or the single tasks of a job.
struct RunsUntil {
  JobId job;
  std::optional<TaskIndex> task;  // of a gang
  Instant end;
};
// The work that is expected to end last, among all that ends after `after`. Work whose end is not
// known is left out. nullopt: there is none.
std::optional<RunsUntil> LastAfter(const Node& node, const Board& board, Instant now,
                                   Instant after);
// Work past its estimate: the piece that was due first, and whether there is more.
struct Overdue {
  RunsUntil first;
  bool more = false;
};
std::optional<Overdue> FindOverdue(const Node& node, const Board& board, Instant now);

// The end of what begins at `from`; Never() where that is not known or never comes.
inline Instant EndOf(Instant from, Duration length) {
  return length.ns == 0 || from == Instant::Never() ? Instant::Never() : from + length;
}

}  // namespace spate::engine::place
