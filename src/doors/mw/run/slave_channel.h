// The hub's end of a slave's channel: what the master decides about its slaves is put into what
// they say, and what goes by is told.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/model/needs.h"
#include "doors/mw/run/constant_server.h"
#include "hub/nodes.h"

namespace spate::mw {

class SlaveChannel final : public hub::NodePort {
 public:
  struct Events {
    std::function<void(const wire::Lease&)> given;
    std::function<void(const wire::ToHub&)> told;
    std::function<Offer()> offer;  // what the engine is to know of it, instead of its own words
    std::function<void(uint64_t)> constant;  // of this many bytes leaves
  };
  // `constants` outlives it.
  SlaveChannel(std::unique_ptr<hub::NodePort> under, ConstantServer& constants, Events events)
      : under_(std::move(under)),
        events_(std::move(events)),
        line_(constants, *under_, events_.constant) {}

  void Send(wire::ToNode message) override {
    if (const auto* lease = std::get_if<wire::Lease>(&message)) events_.given(*lease);
    under_->Send(std::move(message));
  }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    under_->OnMessage([this, receiver = std::move(receiver)](wire::ToHub message) {
      if (const auto* want = std::get_if<wire::WantPiece>(&message)) return line_.Want(*want);
      if (auto* hello = std::get_if<wire::Hello>(&message)) hello->offer = events_.offer();
      events_.told(message);
      receiver(std::move(message));
    });
  }
  // kRemoved: it is to end with success; kOther: as one whose master has failed.
  void Refuse(const wire::Refusal& why) override { under_->Refuse(why); }
  void Close() override { under_->Close(); }

 private:
  std::unique_ptr<hub::NodePort> under_;
  const Events events_;
  ConstantServer::Line line_;
};

}  // namespace spate::mw
