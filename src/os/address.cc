// Addresses and names.
//
// Names are asked for with getaddrinfo, held to what is built into glibc (files and dns): a static
// program cannot load the other modules, and those of another glibc would crash it.
#include "os/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/units.h"
#include "os/error.h"

namespace spate::os {
namespace {

constexpr size_t kHostMax = 255;
constexpr std::string_view kForms =
    "; write HOST:PORT, [IPV6]:PORT or unix:/PATH, as in head.example.org:7100";

std::unexpected<Error> Refuse(std::string_view text, std::string_view why) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not an address: {}{}", EscapeForScreen(text), why, kForms));
}

bool IsHostByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool IsIpv6(const std::string& text) {
  in6_addr ignored{};
  return inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

template <typename T>
SocketAddress Make(const T& address) {
  return {&address, sizeof(address)};
}

}  // namespace

// ------------------------------------------------------------------------------------ as text

Result<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  if (text.contains('\0')) return Refuse(text, "it holds a NUL byte");
  if (text.starts_with("unix:")) {
    std::string path(text.substr(5));
    if (!path.starts_with('/')) return Refuse(text, "the path must begin with /");
    return Address{.path = std::move(path)};
  }
  Address address{.port = default_port};
  std::string_view rest = text;
  bool in_brackets = text.starts_with('[');
  if (in_brackets) {
    size_t end = text.find(']');
    if (end == std::string_view::npos) return Refuse(text, "there is no ] after [");
    address.host = text.substr(1, end - 1);
    if (!IsIpv6(address.host)) return Refuse(text, "in brackets belongs an IPv6 address");
    rest = text.substr(end + 1);
  } else {
    size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    rest = text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos) {
      return Refuse(text, "an IPv6 address belongs in brackets");
    }
    if (address.host.empty()) return Refuse(text, "there is no host");
    if (address.host.size() > kHostMax) return Refuse(text, "the host is too long");
    if (address.host != "*" &&
        (!std::ranges::all_of(address.host, IsHostByte) || address.host.starts_with('-'))) {
      return Refuse(text, "such a host cannot be");
    }
  }
  if (rest.empty() && default_port != 0) return address;
  if (!rest.starts_with(':')) return Refuse(text, "there is no port");
  const char* end = rest.data() + rest.size();
  auto [stop, error] = std::from_chars(rest.data() + 1, end, address.port);
  if (error != std::errc() || stop != end) return Refuse(text, "the port is 0 to 65535");
  return address;
}

std::string FormatAddress(const Address& address) {
  if (address.is_unix()) return "unix:" + address.path;
  bool brackets = address.host.contains(':');
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", address.host, brackets ? "]" : "",
                     address.port);
}

// ----------------------------------------------------------------------------------- as bytes

SocketAddress::SocketAddress(const void* bytes, size_t size)
    : size_(static_cast<uint32_t>(std::min(size, bytes_.size()))) {
  std::memcpy(bytes_.data(), bytes, size_);
}

Result<std::optional<SocketAddress>> SocketAddress::Numeric(const Address& address) {
  if (address.is_unix()) {
    sockaddr_un un{.sun_family = AF_UNIX};
    if (address.path.size() >= sizeof(un.sun_path)) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("the path of a socket has at most {} bytes, and this one has {}: "
                      "'{}'; choose a folder with a shorter path",
                      sizeof(un.sun_path) - 1, address.path.size(), EscapeForScreen(address.path)));
    }
    std::memcpy(un.sun_path, address.path.data(), address.path.size());
    return Make(un);
  }
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(address.port)};
  if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) return Make(v4);
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(address.port)};
  // "::" listens for IPv4 too (os::Listen).
  std::string host = address.host == "*" ? "::" : address.host;
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) return Make(v6);
  return std::nullopt;
}

bool SocketAddress::is_unix() const {
  return reinterpret_cast<const sockaddr*>(data())->sa_family == AF_UNIX && size_ > 0;
}

std::string SocketAddress::path() const {
  if (!is_unix()) return "";
  std::string_view bytes(bytes_.data(), size_);
  bytes.remove_prefix(std::min(bytes.size(), offsetof(sockaddr_un, sun_path)));
  return std::string(bytes.substr(0, bytes.find('\0')));
}

std::string SocketAddress::Text() const {
  if (is_unix()) return "unix:" + path();
  char text[INET6_ADDRSTRLEN] = "";
  switch (reinterpret_cast<const sockaddr*>(data())->sa_family) {
    case AF_INET: {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(data());
      inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
      return fmt::format("{}:{}", text, ntohs(v4->sin_port));
    }
    case AF_INET6: {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(data());
      inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
      return fmt::format("[{}]:{}", text, ntohs(v6->sin6_port));
    }
    default:
      return "unknown";
  }
}

bool SocketAddress::IsThisMachine() const {
  switch (reinterpret_cast<const sockaddr*>(data())->sa_family) {
    case AF_UNIX:
      return size_ > 0;
    case AF_INET:
      return *reinterpret_cast<const uint8_t*>(
                 &reinterpret_cast<const sockaddr_in*>(data())->sin_addr) == 127;
    case AF_INET6: {
      const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(data())->sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == 127);
    }
    default:
      return false;
  }
}

// ------------------------------------------------------------------------------------ by name

Result<std::vector<SocketAddress>> ResolveBlocking(const Address& address) {
  auto numeric = TRY(SocketAddress::Numeric(address));
  if (numeric) return std::vector<SocketAddress>{*numeric};
  static std::once_flag once;
  std::call_once(once, [] { __nss_configure_lookup("hosts", "files dns"); });
  addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* list = nullptr;
  int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) {
    bool none = error == EAI_NONAME || error == EAI_NODATA;
    return Fail(none ? ErrorKind::kNotFound : ErrorKind::kUnavailable,
                fmt::format("cannot find the host '{}': {}; {}", EscapeForScreen(address.host),
                            error == EAI_SYSTEM ? TextOfErrno(errno)
                                                : std::string_view(gai_strerror(error)),
                            none ? "check its name, or use its number"
                                 : "check this machine's network and name servers"));
  }
  std::vector<SocketAddress> found;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    found.emplace_back(each->ai_addr, each->ai_addrlen);
  }
  freeaddrinfo(list);
  return found;
}

Lookup::Lookup(Loop& loop, const Address& address, Done done) {
  auto numeric = SocketAddress::Numeric(address);
  if (!numeric || *numeric) {
    aside_.emplace(loop, ResolveBlocking(address), std::move(done));
  } else {
    aside_.emplace(loop, [address] { return ResolveBlocking(address); }, std::move(done));
  }
}

}  // namespace spate::os
