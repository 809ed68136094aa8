// Link: the channel between a simulated hub and one node: in order, late by a random time, cut at
// any moment. Sending and receiving are points at which a process may die.
//
// Without latency the messages go through the product's own channel (transport/inproc.h).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "base/prng.h"
#include "os/loop.h"
#include "sim/faults.h"
#include "transport/inproc.h"

namespace spate::sim {

// What both directions of a link share. Outlived by loop and faults.
struct LinkState {
  os::Loop& loop;
  Faults& faults;
  Duration latency_max;
  Prng prng;
  bool cut = false;  // nothing arrives any more
};

// One end. `inner` carries the messages; this one delays them and counts the points.
template <typename Out, typename In>
class LinkEnd final : public transport::Channel<Out, In> {
 public:
  LinkEnd(std::shared_ptr<LinkState> state, std::unique_ptr<transport::Channel<Out, In>> inner)
      : state_(std::move(state)), inner_(std::move(inner)) {}
  ~LinkEnd() override { *alive_ = false; }

  void Send(Out message) override {
    if (!state_->faults.Alive()) return;
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
    last_ = std::max(last_, state_->loop.Now() + Duration{wait});
    queue_.push_back(std::move(message));
    state_->loop.At(last_, [this, alive = alive_] {
      if (!*alive) return;
      In first = std::move(queue_.front());
      queue_.pop_front();
      Deliver(std::move(first));
    });
  }
  void Deliver(In message) {
    if (state_->cut || !state_->faults.Alive()) return;
    receiver_(std::move(message));
  }

  std::shared_ptr<LinkState> state_;
  std::unique_ptr<transport::Channel<Out, In>> inner_;
  std::function<void(In)> receiver_;
  std::deque<In> queue_;
  Instant last_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

template <typename A, typename B>
transport::InprocPair<A, B> MakeLink(const std::shared_ptr<LinkState>& state) {
  auto inner = transport::MakeInprocPair<A, B>(state->loop);
  return {std::make_unique<LinkEnd<A, B>>(state, std::move(inner.first)),
          std::make_unique<LinkEnd<B, A>>(state, std::move(inner.second))};
}

}  // namespace spate::sim
