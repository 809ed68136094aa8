#include "os/subnet.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "base/units.h"

namespace spate::os {
namespace {

constexpr unsigned kMappedBits = 96;  // of an IPv4 address within IPv6

void Map(const void* v4, std::array<uint8_t, 16>& bytes) {
  bytes.fill(0);
  bytes[10] = bytes[11] = 0xff;
  std::memcpy(bytes.data() + 12, v4, 4);
}

// "192.168" as 192.168.0.0 and 16 bits, "2001:db8" as 2001:db8:: and 32.
bool ParsePrefix(std::string_view word, std::array<uint8_t, 16>& bytes, unsigned& bits) {
  char mark = word.contains(':') ? ':' : '.';
  if (word.ends_with(mark) && !word.ends_with("::")) word.remove_suffix(1);
  auto parts = static_cast<unsigned>(std::ranges::count(word, mark)) + 1;
  std::string whole(word);
  if (mark == '.') {
    for (unsigned i = parts; i < 4; ++i) whole += ".0";
    in_addr v4{};
    if (inet_pton(AF_INET, whole.c_str(), &v4) != 1) return false;
    Map(&v4, bytes);
    bits = kMappedBits + 8 * parts;
    return true;
  }
  bool is_whole = word.contains("::") || parts == 8;
  bits = is_whole ? 128 : 16 * parts;
  if (!is_whole) whole += "::";
  return inet_pton(AF_INET6, whole.c_str(), bytes.data()) == 1;
}

}  // namespace

Result<Subnets::Subnet> Subnets::ParseOne(std::string_view word) {
  size_t slash = std::min(word.find('/'), word.size());
  Subnet subnet;
  bool good = ParsePrefix(word.substr(0, slash), subnet.bytes, subnet.bits);
  if (good && slash < word.size()) {
    const char* end = word.data() + word.size();
    unsigned base = word.contains(':') ? 0 : kMappedBits;
    auto [stop, error] = std::from_chars(word.data() + slash + 1, end, subnet.bits);
    good = error == std::errc() && stop == end && subnet.bits <= 128 - base;
    subnet.bits += base;
  }
  if (good) return subnet;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a subnet; write for example 192.168, 10.0.0.0/8 or fd00::/8",
                          EscapeForScreen(word)));
}

Result<Subnets> Subnets::Parse(std::string_view list) {
  constexpr std::string_view kBetween = ", \t";
  Subnets subnets;
  while (true) {
    list.remove_prefix(std::min(list.find_first_not_of(kBetween), list.size()));
    if (list.empty()) break;
    std::string_view word = list.substr(0, list.find_first_of(kBetween));
    auto subnet = TRY(ParseOne(word));
    subnets.subnets_.push_back(subnet);
    list.remove_prefix(word.size());
  }
  if (!subnets.subnets_.empty()) return subnets;
  return Fail(ErrorKind::kInvalid, "there is no subnet; write for example 192.168");
}

Subnets Subnets::Of(const std::vector<SocketAddress>& addresses) {
  Subnets subnets;
  for (const SocketAddress& address : addresses) {
    Subnet subnet{.bits = 128};
    if (BytesOf(address, subnet.bytes)) subnets.subnets_.push_back(subnet);
  }
  return subnets;
}

bool Subnets::BytesOf(const SocketAddress& address, Bytes& bytes) {
  switch (static_cast<const sockaddr*>(address.data())->sa_family) {
    case AF_INET:
      Map(&static_cast<const sockaddr_in*>(address.data())->sin_addr, bytes);
      return true;
    case AF_INET6:
      std::memcpy(bytes.data(), &static_cast<const sockaddr_in6*>(address.data())->sin6_addr, 16);
      return true;
    default:
      return false;
  }
}

bool Subnets::Has(const SocketAddress& address) const {
  if (address.IsThisMachine()) return true;
  Bytes bytes;
  if (!BytesOf(address, bytes)) return false;
  return std::ranges::any_of(subnets_, [&](const Subnet& subnet) {
    unsigned whole = subnet.bits / 8;
    unsigned rest = subnet.bits % 8;
    if (!std::equal(bytes.begin(), bytes.begin() + whole, subnet.bytes.begin())) return false;
    return rest == 0 || (bytes[whole] ^ subnet.bytes[whole]) >> (8 - rest) == 0;
  });
}

bool Subnets::HasText(std::string_view address) const {
  auto parsed = ParseAddress(address);
  if (!parsed) return false;
  auto number = SocketAddress::Numeric(*parsed);
  return number && *number && Has(**number);
}

}  // namespace spate::os
