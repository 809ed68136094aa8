#include "remote/forwarded_ports.h"

#include <fmt/format.h>

#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "os/file.h"
#include "os/socket.h"

namespace spate::remote {

Result<PortWish> ParsePortWish(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view here = colon == text.npos ? std::string_view() : text.substr(0, colon);
  const auto there = ReadNumber<uint16_t>(colon == text.npos ? text : text.substr(colon + 1));
  if (!there || *there == 0 || (colon != text.npos && here.empty())) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("-L: '{}' is not PORT, PORT:PORT or PATH:PORT with ports from 1 to 65535",
                    EscapeForScreen(text)));
  }
  if (here.empty()) return PortWish{{}, *there, *there};
  if (const auto port = ReadNumber<uint16_t>(here)) return PortWish{{}, *port, *there};
  return PortWish{std::string(here), 0, *there};
}

ForwardedPorts::~ForwardedPorts() {
  for (const std::string& path : paths_) (void)os::RemoveFile(path);
}

Result<std::string> ForwardedPorts::Open(const PortWish& wish) {
  const os::Address at = wish.path.empty() ? os::Address{.host = "127.0.0.1", .port = wish.here}
                                           : os::Address{.path = wish.path};
  const auto address = TRY(os::SocketAddress::Numeric(at));
  auto fd = TRY(os::Listen(*address));
  const os::SocketAddress bound = TRY(os::LocalAddress(fd.get()));
  if (!wish.path.empty()) paths_.push_back(wish.path);
  listeners_.push_back(std::make_unique<transport::Listener>(
      loop_, std::move(fd),
      transport::Listener::Events{
          .arrived = [this, port = wish.there](
                         transport::Arrival arrival) { arrived_(std::move(arrival.fd), port); },
          .trouble = trouble_}));
  return wish.path.empty() ? bound.Text() : wish.path;
}

}  // namespace spate::remote
