// HubTarget: which hub a program means, and how it is found.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "link/connector.h"
#include "os/address.h"
#include "os/environment.h"
#include "wire/greeting.h"

namespace spate::client {

// A hub, and by what we know it.
struct HubTarget {
  link::Target target;
  std::string name;  // for people: the access file, or the socket
  wire::Role role = wire::Role::kClient;
  std::string start = {};   // the line that starts it, where it is known
  std::string folder = {};  // of a user's own hub on this machine; it stays while the hub is away
};

// The hub of `--access`, $SPATE_HUB, the user's or the system's access file; else the user's own on
// this machine, whose folder is `hub_dir`; else that of the system at /run/spate/hub. nullopt: none
// of these is there. Errors: a file that was named, and cannot be used.
Result<std::optional<HubTarget>> FindHub(const std::string& typed_access,
                                         const os::Environment& environment,
                                         const std::string& hub_dir);
// The line that starts a hub, for messages.
struct StartLine {
  std::string text;
  bool restarts = true;  // it starts the user's own, which ran before, once more
};
std::string StartHubLine();  // of one with the usual options
// The line that starts the hub of this folder as it was started last: it has put the line there.
std::string StartLineOf(const std::string& hub_dir);
inline constexpr const char* kStartedName = "started";  // the file of the line
// For those who need one: the error says how to start it, by `start`. kUnavailable: there is none,
// or the user's own does not run.
Result<HubTarget> NeedHub(const std::string& typed_access, const os::Environment& environment,
                          const std::string& hub_dir, const StartLine& start);
// True if a hub with this folder has ever run, and may run again.
bool KnowsHub(const std::string& hub_dir);
// A file in its folder while it is stopped by order and has no job left: commands pass it over.
inline constexpr const char* kRestsName = "rests";
bool HubRests(const std::string& hub_dir);
// A file in its folder from the order to stop until its next start; it names the process.
inline constexpr const char* kStopsName = "stopping";
// A sentence about a hub with this folder that still runs, but is stopping; empty: it is not.
std::string StoppingText(const std::string& hub_dir);
// Waits by `pause` until no hub holds this folder, so that the next one may start: for half a
// minute at most. False: one still holds it.
bool AwaitEnd(const std::string& hub_dir, const std::function<void(Duration)>& pause);
// The true cause of `error`, with which a hub was lost that had been reached. kIo: its folder is
// gone, so it will not be there again.
Error CauseOfLoss(const HubTarget& hub, Error error);
// The socket of a hub with this folder, whether it runs or not.
os::Address SocketOf(const std::string& hub_dir);
// The socket of the system's hub on this machine, whether it runs or not.
os::Address SystemSocket();
// True if a hub with this folder runs on this machine.
bool HubRuns(const std::string& hub_dir);
// The socket of a hub on this machine: of the one with this folder, else the system's.
std::optional<os::Address> FindLocalHub(const std::string& hub_dir);

}  // namespace spate::client
