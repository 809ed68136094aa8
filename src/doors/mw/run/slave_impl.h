// slave::impl: what a slave has: its connection, the workbench between the two, and its seats: what
// computes for each slot. The first seat is for the thread that run() was called on.
//
// Thread: the slave's own, but for the other seats.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <spate/mw.h>

#include "base/time.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/run/slave_node.h"
#include "doors/mw/run/workbench.h"
#include "os/clock.h"

namespace spate::mw {
inline namespace v1 {

// One slot of a slave. Thread: one.
class Seat {
 public:
  Seat(Workbench& bench, uint16_t slot) : bench_(bench), slot_(slot) {}
  // True if there was something to compute, after a wait of at most `most`.
  bool Step(std::chrono::nanoseconds most);

  // Any thread:
  uint64_t computed() const { return computed_; }
  size_t group() const { return group_; }
  // Tasks of the packet in work, and packets that wait.
  size_t left() const { return left_ + bench_.waiting(slot_); }

 private:
  // False: the packet is not wanted (any more).
  bool Compute(const Call& call);
  // Waits for the constants of a task. Empty: `constants` has them; or why not.
  std::string Fetch(const Call& call, detail::constant_list& constants);

  Workbench& bench_;
  const uint16_t slot_;
  // The packet in work.
  std::optional<Workbench::Packet> packet_;
  std::vector<Call> calls_;
  size_t next_ = 0;
  bool counts_losses_ = false;  // the packet in work, or the last one
  std::string answers_;
  int64_t began_ = 0;
  Instant start_;
  const os::Clock clock_;
  std::atomic<uint64_t> computed_{0};
  std::atomic<size_t> group_{0}, left_{0};
};

class slave::impl {
 public:
  explicit impl(uint16_t slots = 1);
  ~impl() { Close(); }
  Workbench bench;
  std::unique_ptr<SlaveNode> node;

  // For the slave's own thread. The others begin now.
  Seat& First();
  // Waits until the other seats have finished their packets. Nothing is begun any more.
  void Close();
  slave_status Status() const;

 private:
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<std::thread> threads_;  // of all seats but the first; none: not begun
};

}  // namespace v1
}  // namespace spate::mw
