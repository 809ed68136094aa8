// Ports: connections that a session carries beside its command, from the client's machine to ports
// of the server's (`spate exec -L`). Each end of a session has one of these; the client opens.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "remote/frames.h"
#include "transport/tcp/dialer.h"

namespace spate::remote {

// True for frames that Ports handles.
bool IsOfPort(FrameType type);

class Ports {
 public:
  static constexpr size_t kMost = 64;  // connections at once
  using Sender = std::function<void(FrameType type, std::string_view body)>;
  // `connects`: the server's, which connects to ports of its machine.
  Ports(os::RealLoop& loop, bool connects, Sender send);
  ~Ports();
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  // The other end connects to that port, and what comes from `fd` goes there. kBusy: there are
  // kMost already.
  Status Open(os::Fd fd, uint16_t port);
  // False: the other end does not keep to the rules.
  bool OnFrame(const Frame& frame);
  // Nothing is read for now: the session's connection takes no more.
  void Pause(bool paused);
  size_t size() const { return channels_.size(); }

 private:
  struct Channel {
    os::Fd fd;  // none: it is being connected
    std::unique_ptr<transport::Dialer> dialer = nullptr;
    std::string out = {};     // for `fd`
    size_t under_way = 0;     // bytes that the other end has not passed on yet
    bool read_over = false;   // nothing more comes from `fd`
    bool write_over = false;  // nothing more is added to `out`
    bool reads = false;       // `fd` is watched
  };
  bool Connect(uint32_t id, uint16_t port);
  void Connected(uint32_t id, Result<transport::Dialer::Reached> reached);
  void Watch(uint32_t id, Channel& channel);
  void OnReadable(uint32_t id);
  void OnWritable(uint32_t id);
  void EndIfDone(uint32_t id);
  void Break(uint32_t id);
  void Remove(uint32_t id);

  os::RealLoop& loop_;
  const bool connects_;
  const Sender send_;
  std::map<uint32_t, Channel> channels_;
  uint32_t last_id_ = 0;
  bool paused_ = false;
};

}  // namespace spate::remote
