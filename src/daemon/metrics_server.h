// MetricsServer: answers GET /metrics over HTTP/1.1, for monitors such as Prometheus. One request
// for each connection; a peer that is slow or silent is cut off, at once where others want its
// place.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "os/address.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "os/socket.h"
#include "transport/tcp/listener.h"

namespace spate::daemon {

struct MetricsLimits {
  size_t connections = 16;                   // a further one takes the place of the oldest
  size_t request = 8192;                     // bytes of the request line and the headers
  Duration deadline = Duration::Seconds(5);  // from arrival to the end
};

// The whole answer to a request, whose headers are complete. `text` is asked for /metrics only.
// `is_local`: only this machine's programs reach the port, and the request must mean this machine.
std::string AnswerHttp(std::string_view request, const std::function<std::string()>& text,
                       bool is_local);

class MetricsServer {
 public:
  // `text` is what it tells; `trouble` hears of errors of listening.
  static Result<std::unique_ptr<MetricsServer>> Open(os::RealLoop& loop, const os::Address& at,
                                                     std::function<std::string()> text,
                                                     std::function<void(const Error&)> trouble,
                                                     const MetricsLimits& limits = {});
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  const os::SocketAddress& address() const { return address_; }

 private:
  struct Exchange {
    os::Fd fd;
    transport::Seat place;
    std::string request;
    std::string answer;  // what is still to be sent of it
    bool answered = false;
    os::TimerId deadline = 0;
  };
  using Exchanges = std::list<Exchange>;

  MetricsServer(os::RealLoop& loop, std::function<std::string()> text, const MetricsLimits& limits)
      : loop_(loop), text_(std::move(text)), limits_(limits) {}
  void Arrived(transport::Arrival arrival);
  void ReceiveRequest(Exchanges::iterator at);
  void SendAnswer(Exchanges::iterator at);
  void RemoveOldest();
  void Remove(Exchanges::iterator at);

  os::RealLoop& loop_;
  const std::function<std::string()> text_;
  const MetricsLimits limits_;
  os::SocketAddress address_;
  bool is_local_ = false;
  Exchanges exchanges_;
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace spate::daemon
