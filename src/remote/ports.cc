// At most kChannelWindow bytes of a channel are under way in each direction: what the other end has
// not passed on yet waits there, and nothing more is read here. So a reader that does not read
// holds up its own channel, not the session.
#include "remote/ports.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "os/socket.h"

namespace spate::remote {
namespace {

constexpr size_t kChannelWindow = kInputWindow;
constexpr size_t kChannelBytes = 4;
constexpr Duration kConnectToPort = Duration::Seconds(5);

std::string BodyOfChannel(uint32_t id, std::string_view rest = {}) {
  return NumberBody(id).append(rest);
}

}  // namespace

bool IsOfPort(FrameType type) {
  return FrameType::kPortOpen <= type && type <= FrameType::kPortClosed;
}

Ports::Ports(os::RealLoop& loop, bool connects, Sender send)
    : loop_(loop), connects_(connects), send_(std::move(send)) {}

Ports::~Ports() {
  while (!channels_.empty()) Remove(channels_.begin()->first);
}

Status Ports::Open(os::Fd fd, uint16_t port) {
  if (channels_.size() >= kMost) {
    return Fail(ErrorKind::kBusy,
                "too many connections are forwarded already; one more was closed");
  }
  TRY(os::SetNonBlocking(fd.get(), true));
  const uint32_t id = ++last_id_;
  Channel& channel = channels_[id];
  channel.fd = std::move(fd);
  const char bytes[] = {static_cast<char>(port), static_cast<char>(port >> 8)};
  send_(FrameType::kPortOpen, BodyOfChannel(id, {bytes, sizeof bytes}));
  Watch(id, channel);
  return {};
}

void Ports::Pause(bool paused) {
  paused_ = paused;
  for (auto& [id, channel] : channels_) Watch(id, channel);
}

bool Ports::OnFrame(const Frame& frame) {
  if (frame.body.size() < kChannelBytes) return false;
  const uint32_t id = *NumberOf(frame.body.substr(0, kChannelBytes));
  const std::string_view rest = frame.body.substr(kChannelBytes);
  if (frame.type == FrameType::kPortOpen) {
    if (rest.size() != 2) return false;
    return Connect(id, static_cast<uint16_t>(static_cast<uint8_t>(rest[0]) |
                                             static_cast<uint8_t>(rest[1]) << 8));
  }
  auto at = channels_.find(id);
  // It crossed with the end of its channel.
  if (at == channels_.end()) return true;
  Channel& channel = at->second;
  if (frame.type == FrameType::kPortBytes) {
    if (channel.write_over || channel.out.size() + rest.size() > kChannelWindow) return false;
    channel.out += rest;
    if (channel.fd) OnWritable(id);
  } else if (frame.type == FrameType::kPortEnd) {
    if (channel.write_over) return false;
    channel.write_over = true;
    if (channel.fd) OnWritable(id);
  } else if (frame.type == FrameType::kPortGone) {
    const auto gone = NumberOf(rest);
    if (!gone || *gone > channel.under_way) return false;
    channel.under_way -= *gone;
    Watch(id, channel);
  } else {
    Remove(id);
  }
  return true;
}

bool Ports::Connect(uint32_t id, uint16_t port) {
  if (!connects_ || id <= last_id_ || port == 0) return false;
  last_id_ = id;
  if (channels_.size() >= kMost) {
    send_(FrameType::kPortClosed, BodyOfChannel(id));
    return true;
  }
  channels_[id].dialer = std::make_unique<transport::Dialer>(
      loop_,
      std::vector<os::Address>{{.host = "127.0.0.1", .port = port}, {.host = "::1", .port = port}},
      [this, id](Result<transport::Dialer::Reached> reached) { Connected(id, std::move(reached)); },
      kConnectToPort);
  return true;
}

void Ports::Connected(uint32_t id, Result<transport::Dialer::Reached> reached) {
  Channel& channel = channels_.at(id);
  channel.dialer.reset();
  if (!reached || !os::SetNonBlocking(reached->fd.get(), true)) return Break(id);
  channel.fd = std::move(reached->fd);
  Watch(id, channel);
  OnWritable(id);
}

void Ports::Watch(uint32_t id, Channel& channel) {
  const bool reads =
      channel.fd && !channel.read_over && !paused_ && channel.under_way < kChannelWindow;
  if (reads == std::exchange(channel.reads, reads)) return;
  if (reads) {
    loop_.WatchRead(channel.fd.get(), [this, id] { OnReadable(id); });
  } else {
    loop_.UnwatchRead(channel.fd.get());
  }
}

void Ports::OnReadable(uint32_t id) {
  Channel& channel = channels_.at(id);
  std::array<char, kBodyMost - kChannelBytes> buffer;
  const os::IoStep step = os::Receive(channel.fd.get(), buffer.data(),
                                      std::min(buffer.size(), kChannelWindow - channel.under_way));
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind == os::IoStep::Kind::kError) return Break(id);
  if (step.kind == os::IoStep::Kind::kEnd) {
    channel.read_over = true;
    send_(FrameType::kPortEnd, BodyOfChannel(id));
  } else {
    channel.under_way += step.bytes;
    send_(FrameType::kPortBytes, BodyOfChannel(id, {buffer.data(), step.bytes}));
  }
  Watch(id, channel);
  EndIfDone(id);
}

void Ports::OnWritable(uint32_t id) {
  Channel& channel = channels_.at(id);
  size_t sent = 0;
  while (sent < channel.out.size()) {
    const os::IoStep step =
        os::SendSome(channel.fd.get(), std::string_view(channel.out).substr(sent));
    if (step.kind == os::IoStep::Kind::kWouldBlock) break;
    if (step.kind != os::IoStep::Kind::kDone) return Break(id);
    sent += step.bytes;
  }
  channel.out.erase(0, sent);
  if (sent > 0) {
    send_(FrameType::kPortGone, BodyOfChannel(id, NumberBody(static_cast<uint32_t>(sent))));
  }
  if (!channel.out.empty()) {
    return loop_.WatchWrite(channel.fd.get(), [this, id] { OnWritable(id); });
  }
  loop_.UnwatchWrite(channel.fd.get());
  if (channel.write_over) os::ShutdownWrite(channel.fd.get());
  EndIfDone(id);
}

void Ports::EndIfDone(uint32_t id) {
  const Channel& channel = channels_.at(id);
  if (channel.read_over && channel.write_over && channel.out.empty()) Remove(id);
}

void Ports::Break(uint32_t id) {
  Remove(id);
  send_(FrameType::kPortClosed, BodyOfChannel(id));
}

void Ports::Remove(uint32_t id) {
  auto channel = channels_.extract(id);
  if (channel && channel.mapped().fd) loop_.Unwatch(channel.mapped().fd.get());
}

}  // namespace spate::remote
