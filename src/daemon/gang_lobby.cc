#include "daemon/gang_lobby.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "os/file.h"
#include "os/interfaces.h"

namespace spate::daemon {
namespace {

// More would not fit into a Hello, and nobody tries so many.
constexpr size_t kAddressesMost = 8;

Result<os::SocketAddress> AllAt(uint16_t port) {
  auto address = os::SocketAddress::Numeric({.host = "*", .port = port, .path = {}});
  if (!address) return std::unexpected(std::move(address.error()));
  return **address;
}

Result<std::unique_ptr<remote::Lobby>> OpenAt(os::RealLoop& loop, uint16_t port,
                                              const std::function<void(std::string)>& log) {
  auto at = AllAt(port);
  if (!at) return std::unexpected(std::move(at.error()));
  return remote::Lobby::Open(
      loop, *at, [log](const Error& error) { log("the lobby for gangs: " + error.message); });
}

uint16_t PortOf(const os::SocketAddress& address) {
  auto parsed = os::ParseAddress(address.Text());
  return parsed ? parsed->port : 0;
}

}  // namespace

Result<std::unique_ptr<GangLobby>> GangLobby::Open(os::RealLoop& loop, const std::string& folder,
                                                   std::function<void(std::string)> log) {
  constexpr size_t kDigits = 16;
  const std::string note = os::JoinPath(folder, "gang-port");
  std::optional<uint16_t> last;
  if (auto text = os::ReadFile(note, kDigits)) last = ReadNumber<uint16_t>(*text);
  auto lobby = OpenAt(loop, last.value_or(0), log);
  if (!lobby && last) lobby = OpenAt(loop, 0, log);
  if (!lobby) return std::unexpected(std::move(lobby.error()));
  const uint16_t port = PortOf((*lobby)->address());
  if (port != last) {
    // Without the note the next process takes another port, and gangs that run do not know it.
    auto kept = os::WriteFileAtomically(note, std::to_string(port), 0600);
    if (!kept) log(kept.error().message);
  }
  return std::unique_ptr<GangLobby>(new GangLobby(std::move(*lobby)));
}

std::string GangLobby::Remote(const os::SocketAddress& self) const {
  std::vector<std::string> hosts;
  if (self.IsThisMachine()) {
    hosts = os::OwnAddresses();
    hosts.resize(std::min(hosts.size(), kAddressesMost - 1));
    hosts.emplace_back("127.0.0.1");
  } else if (auto address = os::ParseAddress(self.Text())) {
    hosts.push_back(address->host);
  }
  std::string remote;
  for (const std::string& host : hosts) {
    if (!remote.empty()) remote += ',';
    remote += os::FormatAddress({.host = host, .port = PortOf(lobby_->address()), .path = {}});
  }
  return remote;
}

}  // namespace spate::daemon
