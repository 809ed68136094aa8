// Listener: takes connections at an address, not more at once than can be looked after.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "os/socket.h"

namespace spate::transport {

// One of the listener's places for peers of whom nobody knows yet who they are. Let go of it when
// the peer has proved who it is, or is gone. It may outlive the listener.
using Seat = std::shared_ptr<const void>;

struct Arrival {
  os::Fd fd;
  os::SocketAddress peer;
  Seat place;
};

struct ListenerLimits {
  size_t places = 1024;  // when all are taken, further peers wait in the system's queue
  Duration pause = Duration::Millis(200);  // after an error, before the next try
};

class Listener {
 public:
  struct Events {
    std::function<void(Arrival)> arrived;
    // Such as: out of descriptors. It goes on by itself after a pause, so this is only to be told.
    // If the machine watches no further descriptors, connections are closed instead, and only the
    // first one is told.
    std::function<void(const Error&)> trouble;
  };
  // `fd` is os::Listen's. The functions are called by the loop and may destroy the listener.
  Listener(os::RealLoop& loop, os::Fd fd, Events events, const ListenerLimits& limits = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  size_t places_taken() const { return shared_->taken; }

 private:
  // Outlives the listener while places are taken, or one of its functions runs.
  struct Shared {
    Listener* listener;  // null: gone
    size_t taken = 0;
    Events events;
  };
  void Watch();
  void AcceptSome();
  Seat AcceptSeat();

  os::RealLoop& loop_;
  os::Fd fd_;
  const ListenerLimits limits_;
  std::shared_ptr<Shared> shared_;
  os::TimerId pause_ = 0;
  bool refusing_ = false;  // the newest connection, because there is no room to watch it
};

}  // namespace spate::transport
