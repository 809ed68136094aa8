// Faults: when a simulated process dies. Every store write, every message, every order and every
// turn of the loop is a point; the process dies at the point that was chosen for its life, and
// from there on nothing leaves it, though its functions may still run to their ends.
#pragma once

#include <cstdint>

namespace spate::sim {

class Faults {
 public:
  // Dies at the `at`-th point from now (from 1); 0: never.
  explicit Faults(uint64_t at = 0) : left_(at) {}

  // Counts a point. False: the process is dead, and what was to happen here does not happen.
  bool Alive() {
    if (dead_) return false;
    ++points_;
    if (left_ > 0) {
      --left_;
      dead_ = left_ == 0;
    }
    return !dead_;
  }
  bool dead() const { return dead_; }
  uint64_t points() const { return points_; }  // so far
  void Die() { dead_ = true; }

 private:
  uint64_t left_;
  uint64_t points_ = 0;
  bool dead_ = false;
};

}  // namespace spate::sim
