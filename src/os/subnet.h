// Subnets: a list of networks, for those who speak to none but their peers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/address.h"

namespace spate::os {

class Subnets {
 public:
  // Prefixes of addresses at a dot or colon ("192.168", "2001:db8"), networks ("10.0.0.0/8",
  // "fd00::/8") and addresses, with commas or blanks between them; at least one.
  static Result<Subnets> Parse(std::string_view list);
  // These addresses alone.
  static Subnets Of(const std::vector<SocketAddress>& addresses);
  // This machine is always in.
  bool Has(const SocketAddress& address) const;
  // An address as SocketAddress::Text has it.
  bool HasText(std::string_view address) const;

 private:
  using Bytes = std::array<uint8_t, 16>;  // IPv6; IPv4 as mapped there
  struct Subnet {
    Bytes bytes{};
    unsigned bits = 0;
  };
  static Result<Subnet> ParseOne(std::string_view word);
  static bool BytesOf(const SocketAddress& address, Bytes& bytes);

  std::vector<Subnet> subnets_;
};

}  // namespace spate::os
