// The ports of clients and nodes over connections of the network.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "hub/client_port.h"
#include "hub/nodes.h"
#include "link/channels.h"
#include "link/connection.h"
#include "wire/client_codec.h"

namespace spate::hub {

class LinkPort final : public ClientPort {
 public:
  explicit LinkPort(std::unique_ptr<link::Connection> connection)
      : connection_(std::move(connection)) {}

  void Start(Events events) override {
    connection_->Start(
        {.opened = {},
         .frame =
             [this, take = std::move(events.request)](wire::FrameType, std::string_view bytes) {
               auto numbered = wire::SplitId(bytes);
               if (!numbered) return connection_->Breach("a request without an id");
               take(numbered->id, numbered->message);
             },
         .writable = std::move(events.writable),
         .silent = {},
         .closed = [closed = std::move(events.closed)](const link::Ended&) { closed(); }});
  }
  bool Send(uint32_t id, std::string_view reply) override {
    return connection_->Send(wire::FrameType::kReply, wire::IdBytes(id).append(reply));
  }
  void PauseReading(bool paused) override { connection_->PauseReading(paused); }
  void Refuse(const wire::Refusal& why) override {
    why.code == wire::RefusalCode::kBreach ? connection_->Breach(why.reason)
                                           : connection_->Refuse(why);
  }
  void Close() override { connection_->Close(); }

 private:
  std::unique_ptr<link::Connection> connection_;
};

class LinkNodePort final : public NodePort {
 public:
  explicit LinkNodePort(std::unique_ptr<link::NodeChannelTcp> channel)
      : channel_(std::move(channel)) {}

  void Send(wire::ToNode message) override { channel_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    channel_->OnMessage(std::move(receiver));
  }
  void Refuse(const wire::Refusal& why) override { channel_->connection().Refuse(why); }
  void Close() override { channel_->connection().Close(); }

 private:
  std::unique_ptr<link::NodeChannelTcp> channel_;
};

}  // namespace spate::hub
