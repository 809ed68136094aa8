// Link: the channel between a simulated hub and one node: in order, late by a random time, cut at
// any moment. Sending and receiving are points at which a process may die.
//
// Beyond what the channel promises, the hub may hear of an end, or of returned tasks, once more and
// late: attempt numbers must make it harmless.
//
// Without latency the messages go through the product's own channel (transport/inproc.h).
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/prng.h"
#include "os/loop.h"
#include "sim/faults.h"
#include "transport/inproc.h"
#include "wire/messages.h"

namespace spate::sim {

// The process at one end of a link.
struct LinkSide {
  os::Loop& loop;
  Faults& faults;
};

// Common state of both directions of a link.
struct LinkState {
  Duration latency_max;
  unsigned echo_percent = 0;
  Prng prng;
  // Nothing arrives there any more.
  bool hub_deaf = false;
  bool node_deaf = false;
};

// One end. `inner` carries the messages; this one delays them and counts the points.
template <typename Out, typename In>
class LinkEnd final : public transport::Channel<Out, In> {
 public:
  LinkEnd(std::shared_ptr<LinkState> state, LinkSide side,
          std::unique_ptr<transport::Channel<Out, In>> inner)
      : state_(std::move(state)), side_(side), inner_(std::move(inner)) {}
  ~LinkEnd() override { *alive_ = false; }

  void Send(Out message) override {
    if (!side_.faults.Alive()) return;
    inner_->Send(std::move(message));
  }
  void OnMessage(std::function<void(In)> receiver) override {
    receiver_ = std::move(receiver);
    inner_->OnMessage([this](In message) { Arrive(std::move(message)); });
  }

 private:
  void Arrive(In message) {
    if (state_->latency_max.ns == 0) return Deliver(std::move(message));
    auto wait =
        static_cast<int64_t>(state_->prng.Below(static_cast<uint64_t>(state_->latency_max.ns)));
    last_ = std::max(last_, side_.loop.Now() + Duration{wait});
    queue_.push_back(std::move(message));
    side_.loop.At(last_, [this, alive = alive_] {
      if (!*alive) return;
      In first = std::move(queue_.front());
      queue_.pop_front();
      Deliver(std::move(first));
    });
  }
  void Deliver(In message) {
    constexpr bool kAtHub = std::is_same_v<In, wire::ToHub>;
    if (kAtHub ? state_->hub_deaf : state_->node_deaf) return;
    if (!side_.faults.Alive()) return;
    if constexpr (kAtHub) Echo(message);
    receiver_(std::move(message));
  }
  void Echo(const wire::ToHub& message) {
    if (state_->echo_percent == 0 || !state_->prng.Chance(state_->echo_percent)) return;
    if (!std::holds_alternative<wire::Ends>(message) &&
        !std::holds_alternative<wire::Returned>(message)) {
      return;
    }
    constexpr uint64_t kLate = 1'000'000'000;
    Instant when = side_.loop.Now() + Duration{static_cast<int64_t>(state_->prng.Below(kLate))};
    // Not bound to this end: it may be gone by then.
    side_.loop.At(when, [state = state_, side = side_, receiver = receiver_, message] {
      if (state->hub_deaf) return;
      if (side.faults.Alive()) receiver(message);
    });
  }

  std::shared_ptr<LinkState> state_;
  LinkSide side_;
  std::unique_ptr<transport::Channel<Out, In>> inner_;
  std::function<void(In)> receiver_;
  std::deque<In> queue_;
  Instant last_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

using Link = transport::InprocPair<wire::ToNode, wire::ToHub>;

// `world` carries messages; each side's loop says when they arrive there.
inline Link MakeLink(os::Loop& world, const std::shared_ptr<LinkState>& state, LinkSide hub,
                     LinkSide node) {
  auto inner = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(world);
  return {
      std::make_unique<LinkEnd<wire::ToNode, wire::ToHub>>(state, hub, std::move(inner.first)),
      std::make_unique<LinkEnd<wire::ToHub, wire::ToNode>>(state, node, std::move(inner.second))};
}

}  // namespace spate::sim
