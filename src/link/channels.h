// The two ends of the channel between a hub and a node, over a connection (transport/channel.h).
//
// Output that is apart from its end goes as OutputPieces before it, and arrives in memory or in
// spool files. A message that is longer than a frame may be ends the connection; no message of ours
// is (wire/pieces.h), but for a job whose settings are larger than 16 MB.
//
// Thread: the loop's. Functions of events are called by the loop; the receiver and they may destroy
// the channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "link/connection.h"
#include "link/output_spool.h"
#include "transport/channel.h"
#include "wire/messages.h"

namespace spate::link {

struct ChannelEvents {
  std::function<void(const Ended&)> closed;  // once, and nothing after it
  std::function<void(bool)> silent;          // as Connection's
  // True if output of this attempt is wanted; null: all is.
  std::function<bool(const AttemptRef&)> wants;
  // True: output, and everything after it, waits on the node because this disk has no room. False:
  // it no longer waits. Null: such output is lost.
  std::function<void(bool)> waits;
};

// The hub's end. Messages to a node that takes nothing wait in memory, up to
// StreamLimits::queue; then the node is cut off.
class NodeChannelTcp final : public transport::Channel<wire::ToNode, wire::ToHub> {
 public:
  // `connection` is accepted and not started: OnMessage starts it. Output that comes is kept in
  // `memory` where it has room, else in files whose paths begin with `spool_prefix`, until its last
  // owner lets go of it.
  NodeChannelTcp(std::unique_ptr<Connection> connection, std::string spool_prefix,
                 ChannelEvents events, std::shared_ptr<OutputMemory> memory = nullptr);

  ~NodeChannelTcp() override { connection_->loop().Cancel(retry_); }

  void Send(wire::ToNode message) override;
  void OnMessage(std::function<void(wire::ToHub)> receiver) override;
  // For who tells the node why, or that it is not wanted any more.
  Connection& connection() { return *connection_; }
  // Same contract as OutputSpool's: for a node that this process trusts as itself.
  void SetHandover(std::string folder) { spool_.SetHandover(std::move(folder)); }

 private:
  void OnFrame(wire::FrameType type, std::string_view bytes);
  void OnPiece(std::string_view bytes);
  void SetWaits(bool waits);

  std::unique_ptr<Connection> connection_;
  OutputSpool spool_;
  const ChannelEvents events_;
  std::function<void(wire::ToHub)> receiver_;
  bool waits_ = false;
  os::TimerId retry_ = 0;  // of the piece that waits
};

// Limits on data that waits at a node for its hub, in bytes. Reports wait unchanged, in any number:
// the node keeps them in any case, until they are durable.
struct BacklogLimits {
  size_t live = 1u << 20;       // from here on Live is dropped
  size_t memory = 16u << 20;    // from here on the channel is backlogged, and news are dropped
  uint64_t spooled = 1u << 30;  // the same, of output in files
};

// Bytes of one stream that hubs without the feature (wire/greeting.h) take; others take all.
inline constexpr uint64_t kOldHubsStream = 1u << 30;
inline constexpr std::string_view kLongStreams = "long-streams";

// The node's end. While the connection's window is closed messages wait in order, and output in its
// files: a slow link slows the node, and costs no memory.
class HubChannelTcp final : public transport::Channel<wire::ToHub, wire::ToNode> {
 public:
  struct Events {
    std::function<void(const Ended&)> closed;
    std::function<void(bool)> silent;
    // True: the node should start nothing for now; also called by Send.
    std::function<void(bool)> backlogged;
  };
  HubChannelTcp(std::unique_ptr<Connection> connection, Events events,
                const BacklogLimits& limits = {}, uint64_t longest_stream = UINT64_MAX);

  void Send(wire::ToHub message) override;
  void OnMessage(std::function<void(wire::ToNode)> receiver) override;

  // Same contract as OutputReader's. Before the first Send.
  void SetHandover(std::string folder);
  bool Backlogged() const { return backlogged_; }
  uint64_t news_dropped() const { return news_dropped_; }
  Connection& connection() { return *connection_; }

 private:
  struct Waiting {
    wire::ToHub message;
    size_t memory = 0;
    uint64_t spooled = 0;
  };
  void OnFrame(std::string_view bytes);
  bool IsDropped(const wire::ToHub& message) const;
  void Pump();
  bool SendNext();
  void LookAtBacklog();

  std::unique_ptr<Connection> connection_;
  const Events events_;
  const BacklogLimits limits_;
  const uint64_t longest_stream_;
  std::string handover_;
  std::function<void(wire::ToNode)> receiver_;

  std::deque<Waiting> waiting_;
  size_t memory_ = 0;  // sums over waiting_
  uint64_t spooled_ = 0;
  OutputReader reader_;  // of the first of waiting_, if it is an Ends
  bool open_ = true;     // the connection's window
  bool backlogged_ = false;
  uint64_t news_dropped_ = 0;
};

}  // namespace spate::link
