// What a node will have free, as far as is known: what it runs now and when that ends, and what is
// promised to gangs. Made for one pass over gangs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/place/board.h"

namespace spate::engine::place {

class NodeAhead {
 public:
  NodeAhead(NodeId id, Node& node, const Board& board, Instant now);

  NodeId id() const { return id_; }
  Node& node() const { return *node_; }
  // What gangs were promised, of this node.
  struct Claim {
    Instant from;
    Instant to;
    Amounts amounts;
  };
  const std::vector<Claim>& claims() const { return claims_; }
  void Add(Claim claim) { claims_.push_back(std::move(claim)); }
  // A part starts there now.
  void Start(const Amounts& amounts, Instant until);

  // So many processes fit from `from` until `to`, at once with all that is known of.
  uint32_t FitIn(const TaskClass& of_gang, Instant from, Instant to) const;
  // Where that may become another number, for what takes so long: sorted, after `now`.
  std::vector<Instant> Turns(Duration length, Instant now) const;
  // So much is held now, of what nobody knows when it ends too.
  uint64_t used() const { return Used(node_->offer, held_); }

 private:
  struct Release {
    Instant at;  // Never(): nobody knows
    Amounts amounts;
  };
  Amounts HeldAt(Instant when) const;

  NodeId id_;
  Node* node_;
  Amounts held_;
  std::vector<Release> releases_;  // sorted
  std::vector<Claim> claims_;
};

// The end of what begins at `from`; Never() where that is not known or never comes.
inline Instant EndOf(Instant from, Duration length) {
  return length.ns == 0 || from == Instant::Never() ? Instant::Never() : from + length;
}

}  // namespace spate::engine::place
