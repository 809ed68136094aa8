#include "os/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>

namespace spate::os {
namespace {

// Empty: of no use to others.
std::string TextOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) return "";
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
  }
  return text;
}

}  // namespace

std::vector<std::string> OwnAddresses() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || (each->ifa_flags & kUp) != kUp) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::string text = TextOf(each->ifa_addr);
    if (!text.empty()) found.push_back(std::move(text));
  }
  freeifaddrs(all);
  std::ranges::stable_partition(
      found, [](const std::string& text) { return text.find(':') == std::string::npos; });
  return found;
}

}  // namespace spate::os
