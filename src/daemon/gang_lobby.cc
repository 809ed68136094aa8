#include "daemon/gang_lobby.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "os/file.h"
#include "os/interfaces.h"

namespace spate::daemon {
namespace {

// More would not fit into a Hello, and nobody tries so many.
constexpr size_t kAddressesMost = 8;
constexpr const char* kLoopback = "127.0.0.1";

// Of an earlier version it is a port alone.
os::Address ReadNote(const std::string& note) {
  constexpr size_t kMost = 512;
  auto text = os::ReadFile(note, kMost);
  if (!text) return {};
  if (auto address = os::ParseAddress(*text); address && !address->is_unix()) return *address;
  return {.host = "", .port = ReadNumber<uint16_t>(*text).value_or(0), .path = {}};
}

}  // namespace

GangLobby::GangLobby(os::RealLoop& loop, std::string folder, uint16_t port,
                     std::function<void(std::string)> log)
    : loop_(loop),
      note_(os::JoinPath(std::move(folder), "gang-port")),
      port_(port),
      log_(std::move(log)),
      last_(ReadNote(note_)) {
  const bool fits = port_ == 0 || port_ == last_.port;
  // Where it may not, ListenFor says so.
  if (fits && !last_.host.empty() && last_.port != 0) (void)ListenAt(last_);
}

GangLobby::Reach GangLobby::ReachFrom(const os::SocketAddress& self, const std::string& hub) {
  if (!self.IsThisMachine()) {
    auto address = os::ParseAddress(self.Text());
    if (!address) return {};
    return {address->host, {address->host}};
  }
  if (hub.empty()) return {kLoopback, {kLoopback}};
  if (hub != "0.0.0.0" && hub != "::") return {hub, {hub}};
  std::vector<std::string> hosts = os::OwnAddresses();
  hosts.resize(std::min(hosts.size(), kAddressesMost - 1));
  hosts.emplace_back(kLoopback);
  return {"*", std::move(hosts)};
}

Status GangLobby::ListenAt(const os::Address& at) {
  auto address = TRY(os::SocketAddress::Numeric(at));
  if (!address) return Fail(ErrorKind::kInvalid, "'" + at.host + "' is no number");
  auto lobby = TRY(remote::Lobby::Open(loop_, *address, [log = log_](const Error& error) {
    log("the lobby for gangs: " + error.message);
  }));
  lobby_ = std::move(lobby);
  return {};
}

Status GangLobby::Listen(const std::string& host) {
  if (lobby_ && last_.host == host) return {};
  lobby_.reset();
  Status listens = ListenAt({.host = host, .port = port_ != 0 ? port_ : last_.port, .path = {}});
  if (!listens && port_ == 0 && last_.port != 0) {
    listens = ListenAt({.host = host, .port = 0, .path = {}});
  }
  if (!listens) return listens;
  auto found = os::ParseAddress(lobby_->address().Text());
  os::Address now{.host = host, .port = found ? found->port : uint16_t{0}, .path = {}};
  if (std::exchange(last_, now) == now) return {};
  // Without the note the next process takes another port, and gangs that run do not know it.
  auto kept = os::WriteFileAtomically(note_, os::FormatAddress(now), 0600);
  if (!kept) log_(kept.error().message);
  return {};
}

std::string GangLobby::ListenFor(const os::SocketAddress& self, const std::string& hub) {
  const Reach place = ReachFrom(self, hub);
  Status listens = place.host.empty() ? Fail(ErrorKind::kInvalid, self.Text()) : Listen(place.host);
  if (!listens) {
    log_("spate remote does not work to this node: " + listens.error().message);
    return "";
  }
  std::string remote;
  for (const std::string& host : place.hosts) {
    if (!remote.empty()) remote += ',';
    remote += os::FormatAddress({.host = host, .port = last_.port, .path = {}});
  }
  return remote;
}

}  // namespace spate::daemon
