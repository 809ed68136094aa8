#include "transport/tcp/listener.h"

#include <utility>

#include "os/loop_descriptor.h"

namespace spate::transport {
namespace {

constexpr int kAcceptsOfATurn = 16;  // the loop has others to look after too

}  // namespace

Listener::Listener(os::RealLoop& loop, os::Fd fd, Events events, const ListenerLimits& limits)
    : loop_(loop),
      fd_(std::move(fd)),
      limits_(limits),
      shared_(std::make_shared<Shared>(Shared{.listener = this, .events = std::move(events)})) {
  Watch();
}

Listener::~Listener() {
  shared_->listener = nullptr;
  loop_.Cancel(pause_);
  loop_.Unwatch(fd_.get());
}

// Unless it pauses, or has no place.
void Listener::Watch() {
  if (pause_ != 0 || shared_->taken >= limits_.places) return loop_.Unwatch(fd_.get());
  loop_.WatchRead(fd_.get(), [this] { AcceptSome(); });
}

void Listener::AcceptSome() {
  std::shared_ptr<Shared> shared = shared_;
  for (int i = 0; i < kAcceptsOfATurn && shared->taken < limits_.places; ++i) {
    auto accepted = os::Accept(fd_.get());
    if (!accepted) {
      // The peer still waits, so the descriptor stays readable: looking again at once would spin.
      pause_ = loop_.At(loop_.Now() + limits_.pause, [this] {
        pause_ = 0;
        Watch();
      });
      Watch();
      if (shared->events.trouble) shared->events.trouble(accepted.error());
      return;
    }
    if (!*accepted) return;
    // It is closed, so it does not keep the listener's descriptor readable.
    if (auto room = os::CheckRoomToWatch(); !room) {
      const bool told = std::exchange(refusing_, true);
      if (told || !shared->events.trouble) return;
      return shared->events.trouble(Within("refusing connections", room.error()).error());
    }
    refusing_ = false;
    shared->events.arrived({std::move((*accepted)->fd), (*accepted)->peer, AcceptSeat()});
    if (shared->listener == nullptr) return;
  }
  if (shared->taken >= limits_.places) Watch();
}

Seat Listener::AcceptSeat() {
  ++shared_->taken;
  return {shared_.get(), [shared = shared_](const void*) {
            Listener* listener = shared->listener;
            bool was_full = listener != nullptr && shared->taken == listener->limits_.places;
            --shared->taken;
            if (was_full) listener->Watch();
          }};
}

}  // namespace spate::transport
