#include "link/channels.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "wire/codec.h"
#include "wire/pieces.h"

namespace spate::link {

using wire::FrameType;

namespace {

template <typename Message>
bool SendMessage(Connection& connection, FrameType type, const Message& message) {
  std::string frame;
  size_t size = 0;
  const bool fits = wire::AppendFrame(frame, type, [&](std::string& out) {
    wire::Append(out, message);
    size = out.size() - wire::kFrameHead;
  });
  if (fits) return connection.SendFrame(std::move(frame));
  connection.Refuse({wire::RefusalCode::kOther,
                     fmt::format("a message of {} bytes is too long to be sent", size)});
  return false;
}

constexpr Duration kRoomLook = Duration::Seconds(1);  // when output waits for room on the disk
// Memory of an end next to its texts.
constexpr size_t kEndMemory = 256;

size_t MemoryOf(const wire::ToHub& message) {
  size_t bytes = sizeof(wire::ToHub);
  if (const auto* live = std::get_if<wire::Live>(&message)) bytes += live->bytes.size();
  if (const auto* ends = std::get_if<wire::Ends>(&message)) {
    bytes += ends->ends.size() * kEndMemory;
    for (const TaskOutputPtr& output : ends->outputs) {
      if (!output) continue;
      for (const OutputStream* stream : output->streams()) bytes += stream->bytes.size();
    }
  }
  return bytes;
}

uint64_t SpooledOf(const wire::ToHub& message) {
  const auto* ends = std::get_if<wire::Ends>(&message);
  if (ends == nullptr) return 0;
  uint64_t bytes = 0;
  for (const TaskOutputPtr& output : ends->outputs) {
    if (!output) continue;
    for (const OutputStream* stream : output->streams()) {
      if (!stream->spool.empty()) bytes += stream->total;
    }
  }
  return bytes;
}

}  // namespace

// -------------------------------------------------------------------------------------- the hub's

NodeChannelTcp::NodeChannelTcp(std::unique_ptr<Connection> connection, std::string spool_prefix,
                               ChannelEvents events, std::shared_ptr<OutputMemory> memory)
    : connection_(std::move(connection)),
      spool_(std::move(spool_prefix), std::move(memory)),
      events_(std::move(events)) {}

void NodeChannelTcp::OnMessage(std::function<void(wire::ToHub)> receiver) {
  receiver_ = std::move(receiver);
  connection_->Start(
      {.opened = nullptr,
       .frame = [this](FrameType type, std::string_view bytes) { OnFrame(type, bytes); },
       .writable = nullptr,
       .silent = events_.silent,
       .closed = events_.closed});
}

void NodeChannelTcp::Send(wire::ToNode message) {
  for (const wire::ToNode& piece : wire::Split(std::move(message))) {
    (void)SendMessage(*connection_, FrameType::kToNode, piece);
  }
}

void NodeChannelTcp::OnFrame(FrameType type, std::string_view bytes) {
  if (type == FrameType::kOutputPiece) return OnPiece(bytes);
  auto message = wire::DecodeToHub(bytes);
  if (!message) return connection_->Breach(message.error().message);
  if (auto* ends = std::get_if<wire::Ends>(&*message)) {
    if (Status claimed = spool_.Claim(*ends); !claimed) {
      return connection_->Breach(claimed.error().message);
    }
  }
  auto receiver = receiver_;  // it may destroy the channel
  receiver(std::move(*message));
}

void NodeChannelTcp::OnPiece(std::string_view bytes) {
  auto piece = wire::DecodeOutputPiece(bytes);
  if (!piece) return connection_->Breach(piece.error().message);
  bool is_wanted = !events_.wants || events_.wants(piece->ref);
  const Status taken = spool_.Add(*piece, is_wanted, events_.waits != nullptr);
  if (taken) return SetWaits(false);
  if (taken.error().kind != ErrorKind::kExhausted) {
    return connection_->Breach(taken.error().message);
  }
  // The node keeps it, and what comes behind it, until there is room.
  connection_->PauseReading(true);
  os::RealLoop& loop = connection_->loop();
  retry_ = loop.At(loop.Now() + kRoomLook, [this, held = std::string(bytes)] {
    connection_->PauseReading(false);
    OnPiece(held);
  });
  SetWaits(true);
}

void NodeChannelTcp::SetWaits(bool waits) {
  if (std::exchange(waits_, waits) != waits && events_.waits) events_.waits(waits);
}

// ------------------------------------------------------------------------------------- the node's

HubChannelTcp::HubChannelTcp(std::unique_ptr<Connection> connection, Events events,
                             const BacklogLimits& limits, uint64_t longest_stream)
    : connection_(std::move(connection)),
      events_(std::move(events)),
      limits_(limits),
      longest_stream_(longest_stream),
      reader_(longest_stream) {}

void HubChannelTcp::SetHandover(std::string folder) {
  handover_ = std::move(folder);
  reader_ = OutputReader(longest_stream_, handover_);
}

void HubChannelTcp::OnMessage(std::function<void(wire::ToNode)> receiver) {
  receiver_ = std::move(receiver);
  connection_->Start({.opened = nullptr,
                      .frame = [this](FrameType, std::string_view bytes) { OnFrame(bytes); },
                      .writable =
                          [this] {
                            open_ = true;
                            Pump();
                          },
                      .silent = events_.silent,
                      .closed = events_.closed});
}

void HubChannelTcp::OnFrame(std::string_view bytes) {
  auto message = wire::DecodeToNode(bytes);
  if (!message) return connection_->Breach(message.error().message);
  auto receiver = receiver_;  // it may destroy the channel
  receiver(std::move(*message));
}

bool HubChannelTcp::IsDropped(const wire::ToHub& message) const {
  if (std::holds_alternative<wire::Live>(message)) return memory_ >= limits_.live;
  bool is_news = std::holds_alternative<wire::Running>(message) ||
                 std::holds_alternative<wire::Slow>(message) ||
                 std::holds_alternative<wire::NodeState>(message);
  return is_news && backlogged_;
}

void HubChannelTcp::Send(wire::ToHub message) {
  if (IsDropped(message)) {
    ++news_dropped_;
    return;
  }
  for (wire::ToHub& piece : wire::Split(std::move(message))) {
    size_t memory = MemoryOf(piece);
    uint64_t spooled = SpooledOf(piece);
    memory_ += memory;
    spooled_ += spooled;
    waiting_.push_back({std::move(piece), memory, spooled});
  }
  Pump();
}

void HubChannelTcp::Pump() {
  while (open_ && !waiting_.empty()) open_ = SendNext();
  LookAtBacklog();
}

// The next piece of output, else the message that it belongs to.
bool HubChannelTcp::SendNext() {
  Waiting& next = waiting_.front();
  if (auto* ends = std::get_if<wire::Ends>(&next.message)) {
    if (auto piece = reader_.Next(*ends)) {
      return SendMessage(*connection_, FrameType::kOutputPiece, *piece);
    }
  }
  bool open = SendMessage(*connection_, FrameType::kToHub, next.message);
  memory_ -= next.memory;
  spooled_ -= next.spooled;
  waiting_.pop_front();
  reader_ = OutputReader(longest_stream_, handover_);
  return open;
}

void HubChannelTcp::LookAtBacklog() {
  bool is_over = memory_ >= limits_.memory || spooled_ >= limits_.spooled;
  bool is_under = memory_ < limits_.memory / 2 && spooled_ < limits_.spooled / 2;
  if (backlogged_ ? !is_under : !is_over) return;
  backlogged_ = !backlogged_;
  auto tell = events_.backlogged;  // it may destroy the channel
  if (tell) tell(backlogged_);
}

}  // namespace spate::link
