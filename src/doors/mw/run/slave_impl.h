// slave::impl: what a slave has: its connection, the workbench between the two, and its packet.
//
// Thread: the slave's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spate/mw.h>

#include "base/time.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/run/slave_node.h"
#include "doors/mw/run/workbench.h"
#include "os/clock.h"

namespace spate::mw {
inline namespace v1 {

class slave::impl {
 public:
  Workbench bench;
  std::unique_ptr<SlaveNode> node;

  // Whether there was anything to compute.
  bool Step(std::chrono::nanoseconds most);
  slave_status Status() const;

 private:
  void Compute(const Call& call);
  // Waits for the constants of a task. Empty: `constants` has them; or why not.
  std::string Fetch(const Call& call, detail::constant_list& constants);

  // The packet in work.
  std::optional<Workbench::Packet> packet_;
  std::vector<Call> calls_;
  size_t next_ = 0;
  std::string answers_;
  int64_t began_ = 0;
  Instant start_;
  const os::Clock clock_;
  uint64_t computed_ = 0;
  size_t group_ = 0;
};

}  // namespace v1
}  // namespace spate::mw
