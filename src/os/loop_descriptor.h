// LoopDescriptor: one descriptor that is readable whenever a loop has something to do: it mirrors
// what the loop waits for. For RealLoop::Descriptor.
//
// Thread: the loop's, but for Ring.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

inline constexpr std::string_view kNoRoomToWatch =
    "this user has reached the limit of watched descriptors; raise fs.epoll.max_user_watches "
    "(sysctl), or end other programs";
// kExhausted: this user's processes can watch fewer than 16 further descriptors. A process that
// finds none left when it needs one ends (RealLoop::WatchRead).
Status CheckRoomToWatch();

class LoopDescriptor {
 public:
  // kExhausted: no descriptor is left.
  static Result<std::unique_ptr<LoopDescriptor>> Make();

  int fd() const { return all_.get(); }
  // From now on this descriptor is waited for so; neither: it is not, and may be closed.
  void Watch(int fd, bool read, bool write);
  // At this time of the monotonic clock, in nanoseconds; nullopt: never.
  void WakeAt(std::optional<int64_t> when);
  // Readable until Clear. From any thread.
  void Ring();
  void Clear();

 private:
  LoopDescriptor(Fd all, Fd timer, Fd bell)
      : all_(std::move(all)), timer_(std::move(timer)), bell_(std::move(bell)) {}
  const Fd all_, timer_, bell_;
};

}  // namespace spate::os
