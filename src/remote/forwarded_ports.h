// The places of this machine whose connections `spate exec -L` forwards into a task.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "transport/tcp/listener.h"

namespace spate::remote {

// PORT: a port of 127.0.0.1, forwarded to the same one there; HERE:PORT: from another port (0: any
// free one), or from a UNIX socket, which is made at that path.
struct PortWish {
  std::string path;  // empty: 127.0.0.1
  uint16_t here = 0;
  uint16_t there = 0;
};
Result<PortWish> ParsePortWish(std::string_view text);

class ForwardedPorts {
 public:
  using Arrived = std::function<void(os::Fd fd, uint16_t port)>;
  ForwardedPorts(os::RealLoop& loop, Arrived arrived, std::function<void(const Error&)> trouble)
      : loop_(loop), arrived_(std::move(arrived)), trouble_(std::move(trouble)) {}
  ~ForwardedPorts();
  ForwardedPorts(const ForwardedPorts&) = delete;
  ForwardedPorts& operator=(const ForwardedPorts&) = delete;

  // Listens from now on. Returns the place for people: "127.0.0.1:8888".
  Result<std::string> Open(const PortWish& wish);

 private:
  os::RealLoop& loop_;
  const Arrived arrived_;
  const std::function<void(const Error&)> trouble_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::vector<std::string> paths_;
};

}  // namespace spate::remote
