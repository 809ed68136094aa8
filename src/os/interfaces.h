// The addresses of this machine. From any thread.
#pragma once

#include <string>
#include <vector>

namespace spate::os {

// Numbers, as Address::host has them, of all interfaces that are up: IPv4 before IPv6, without
// loopback and link-local ones, which others cannot use.
std::vector<std::string> OwnAddresses();

}  // namespace spate::os
