// The hub's end of a slave's channel: what the master decides about its slaves is put into what
// they say, and what goes by is told.
//
// Thread: the loop's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
    // Makes the offer that the engine gets from the slave's own.
    std::function<Offer(Offer)> offer;
    std::function<void(uint64_t)> constant;  // of this many bytes leaves
    // True if the slave may begin this packet.
    std::function<bool(const AttemptRef&)> begins;
  };
  // `constants` outlives it.
  SlaveChannel(std::unique_ptr<hub::NodePort> under, ConstantServer& constants, Events events)
      : under_(std::move(under)),
        events_(std::move(events)),
        line_(constants, *under_, events_.constant) {}

  void Send(wire::ToNode message) override {
    if (const auto* lease = std::get_if<wire::Lease>(&message)) {
      events_.given(*lease);
      Weigh(*lease);
    }
    under_->Send(std::move(message));
  }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    under_->OnMessage([this, receiver = std::move(receiver)](wire::ToHub message) {
      if (const auto* want = std::get_if<wire::WantPiece>(&message))
        return line_.RequestPiece(*want);
      // Whatever the slave has computed came before it.
      if (const auto* room = std::get_if<wire::RoomTaken>(&message)) {
        if (events_.begins(room->ref)) under_->Send(wire::Go{Epoch(1), room->ref});
        return;
      }
      if (auto* hello = std::get_if<wire::Hello>(&message)) {
        hello->offer = events_.offer(std::move(hello->offer));
      }
      if (auto* ends = std::get_if<wire::Ends>(&message)) {
        for (AttemptEnd& each : ends->ends) each.wall = std::max(each.wall, on_its_way_);
      }
      events_.told(message);
      receiver(std::move(message));
    });
  }
  // kRemoved: it is to end with success; kOther: as one whose master has failed.
  void Refuse(const wire::Refusal& why) override { under_->Refuse(why); }
  void Close() override { under_->Close(); }

 private:
  // The engine gives a slave work for some time ahead. Packets that take no time to compute, but
  // megabytes to send, would fill the queue of the connection, at whose end the slave is cut off.
  static constexpr Duration kMegabyte = Duration::Millis(2);
  void Weigh(const wire::Lease& lease) {
    uint64_t bytes = 0;
    for (const std::string& row : lease.rows) bytes += row.size();
    const uint64_t mean = bytes / std::max<size_t>(lease.rows.size(), 1);
    on_its_way_ = {static_cast<int64_t>(mean) * kMegabyte.ns / 1'000'000};
  }

  std::unique_ptr<hub::NodePort> under_;
  const Events events_;
  ConstantServer::Line line_;
  Duration on_its_way_;  // a packet of the last lease
};

}  // namespace spate::mw
