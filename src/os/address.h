// Addresses of stream sockets: as people write them (Address), and as the system takes them
// (SocketAddress). From any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/aside.h"
#include "os/loop.h"

namespace spate::os {

// "head.example.org:7100", "10.0.0.1:7100", "[::1]:7100", "*:7100" (all of this machine's, to
// listen at), "unix:/run/spate.sock".
struct Address {
  std::string host;
  uint16_t port = 0;
  std::string path;  // of a UNIX socket; then the others are empty

  bool is_unix() const { return !path.empty(); }
  friend bool operator==(const Address&, const Address&) = default;
};

// Without a port in the text it is `default_port`; where that is 0 there must be one. Port 0 is
// taken only as "some free port, to listen at".
Result<Address> ParseAddress(std::string_view text, uint16_t default_port = 0);
std::string FormatAddress(const Address& address);

class SocketAddress {
 public:
  SocketAddress() = default;
  // Nullopt for a host name that somebody has to be asked about. kInvalid for a path too long.
  static Result<std::optional<SocketAddress>> Numeric(const Address& address);
  // `size` bytes of a sockaddr.
  SocketAddress(const void* bytes, size_t size);

  std::string Text() const;  // as Address is written
  bool is_unix() const;
  std::string path() const;    // empty unless is_unix()
  bool IsThisMachine() const;  // loopback, or a UNIX socket

  const void* data() const { return bytes_.data(); }
  uint32_t size() const { return size_; }

 private:
  alignas(8) std::array<char, 128> bytes_{};
  uint32_t size_ = 0;
};

// All addresses of a host in the order to try them in; at least one. Asks /etc/hosts and DNS, which
// may block for as long as these are set to wait (often 10 s or more).
Result<std::vector<SocketAddress>> ResolveBlocking(const Address& address);

// The same without blocking, as an Aside. Numbers and paths are answered without a thread.
class Lookup {
 public:
  using Done = Aside<std::vector<SocketAddress>>::Done;
  Lookup(Loop& loop, const Address& address, Done done);

 private:
  std::optional<Aside<std::vector<SocketAddress>>> aside_;
};

}  // namespace spate::os
