#include "client/target.h"

#include <fmt/format.h>

#include <utility>

#include "access/access_file.h"
#include "base/units.h"
#include "link/local_socket.h"
#include "os/file.h"
#include "os/socket.h"
#include "present/advice.h"

namespace spate::client {
namespace {

// Folders of the unit spate-hub: of its socket while it runs, and of its state, which stays.
constexpr const char* kSystemHub = "/run/spate/hub";
constexpr const char* kSystemState = "/var/lib/spate";

bool IsHeld(const std::string& hub_dir) {
  return os::FileLock::IsHeld(hub_dir + "/lock").value_or(false);
}

}  // namespace

os::Address SocketOf(const std::string& hub_dir) {
  os::Address address;
  address.path = os::JoinPath(hub_dir, "socket");
  return address;
}

os::Address SystemSocket() { return SocketOf(kSystemHub); }

std::string StartHubLine() { return present::TextOf(Advice("hub start", "--daemon")); }

std::string StartLineOf(const std::string& hub_dir) {
  constexpr size_t kMost = 64 << 10;
  auto line = os::ReadFile(os::JoinPath(hub_dir, kStartedName), kMost);
  if (!line || line->empty()) return StartHubLine();
  return line->substr(0, line->find('\n'));
}

std::optional<os::Address> FindLocalHub(const std::string& hub_dir) {
  for (os::Address address : {SocketOf(hub_dir), SystemSocket()}) {
    if (os::Exists(address.path)) return address;
  }
  return std::nullopt;
}

bool HubRuns(const std::string& hub_dir) {
  auto at = os::SocketAddress::Numeric(link::WhereItListens(SocketOf(hub_dir)));
  return at && *at && os::HasListener(**at);
}

bool KnowsHub(const std::string& hub_dir) { return os::Exists(hub_dir + "/hub.db"); }

bool HubRests(const std::string& hub_dir) { return os::Exists(os::JoinPath(hub_dir, kRestsName)); }

std::string StoppingText(const std::string& hub_dir) {
  const std::string process = os::ReadFile(hub_dir + "/" + kStopsName, 64).value_or("");
  if (process.empty() || !IsHeld(hub_dir)) return "";
  return fmt::format("the hub in '{}' is stopping ({}); it exits once everything is stored",
                     EscapeForScreen(hub_dir), EscapeForScreen(process));
}

bool AwaitEnd(const std::string& hub_dir, const std::function<void(Duration)>& pause) {
  constexpr int kMostLooks = 1'500;
  for (int look = 0; look < kMostLooks && IsHeld(hub_dir); ++look) pause(Duration::Millis(20));
  return !IsHeld(hub_dir);
}

Error CauseOfLoss(const HubTarget& hub, Error error) {
  if (hub.folder.empty()) return error;
  auto info = os::Stat(hub.folder);
  if (!info && info.error().kind == ErrorKind::kNotFound) {
    return {ErrorKind::kIo, fmt::format("the hub's folder '{}' was removed or moved away",
                                        EscapeForScreen(hub.folder))};
  }
  std::string stops = StoppingText(hub.folder);
  if (!stops.empty()) error.message = std::move(stops);
  return error;
}

Result<std::optional<HubTarget>> FindHub(const std::string& typed_access,
                                         const os::Environment& environment,
                                         const std::string& hub_dir) {
  bool named = !typed_access.empty() || !environment.GetOr("SPATE_HUB", "").empty();
  auto file = access::FindAccessFile(typed_access, environment, access::AccessOf::kOthers);
  if (file) {
    auto access = access::LoadAccess(*file);
    if (!access) return std::unexpected(access.error());
    if (access->role == access::Role::kNode) {
      return Fail(ErrorKind::kPermission,
                  "'" + EscapeForScreen(*file) +
                      "' is the access of a node; ask the hub's owner for one of a client",
                  Remedy(" ({})", Advice("hub access add", "--role", "client")));
    }
    bool admin = access->role == access::Role::kAdmin;
    return HubTarget{link::Target::Of(*access), "the access file '" + EscapeForScreen(*file) + "'",
                     admin ? wire::Role::kAdmin : wire::Role::kClient};
  }
  if (!file && named) return std::unexpected(file.error());
  auto socket = FindLocalHub(hub_dir);
  if (!socket) return std::nullopt;
  HubTarget hub{link::Target::Of(*socket), "the socket '" + EscapeForScreen(socket->path) + "'"};
  // The system's folder comes and goes with its hub.
  if (socket->path != SystemSocket().path) hub.folder = hub_dir;
  return hub;
}

Result<HubTarget> NeedHub(const std::string& typed_access, const os::Environment& environment,
                          const std::string& hub_dir, const StartLine& start) {
  auto found = TRY(FindHub(typed_access, environment, hub_dir));
  if (found) {
    bool own = !found->target.access && os::Exists(SocketOf(hub_dir).path);
    bool by_access = found->target.access.has_value();
    if (own && start.restarts) found->start = start.text;
    if (by_access && start.restarts) {
      found->start = fmt::format("{} (on the hub's machine)", StartHubLine());
    }
    return std::move(*found);
  }
  if (std::string stops = StoppingText(hub_dir); !stops.empty()) {
    return Fail(ErrorKind::kUnavailable, stops + "\nThen start it again: " + start.text);
  }
  if (KnowsHub(hub_dir) && start.restarts) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("your hub does not run; its folder is '{}'\nStart it: {}",
                            EscapeForScreen(hub_dir), start.text));
  }
  // One that a user starts meanwhile would take its port.
  if (start.text == StartHubLine() && os::Exists(kSystemState)) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("the hub of this machine does not run: {} is not there\n"
                            "An administrator starts it: systemctl start spate-hub",
                            SystemSocket().path));
  }
  return Fail(ErrorKind::kUnavailable,
              fmt::format("no hub: none of yours runs here, and there is no access file\n"
                          "Start one: {}\n"
                          "For a hub elsewhere, copy its access file to ~/.config/spate/access",
                          start.text),
              Remedy(" (made there by: {})", Advice("hub access add")));
}

}  // namespace spate::client
