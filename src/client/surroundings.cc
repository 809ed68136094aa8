#include "client/surroundings.h"

#include <utility>

#include "base/units.h"
#include "link/master_place.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::client {

Result<Surroundings> Surroundings::Find() {
  auto cwd = TRY(os::CurrentDir());
  os::Environment environment = os::Environment::OfProcess();
  return Surroundings{environment, os::Machine(environment), std::move(cwd),
                      os::GetOpenFileLimit().now};
}

std::string StateDirOf(const std::string& typed, const Surroundings& here) {
  std::string dir = typed;
  if (dir.empty()) dir = here.environment.GetOr("SPATE_STATE", "");
  if (dir.empty()) {
    // A relative path there is no path, by the XDG Base Directory Specification.
    if (std::string base = here.environment.GetOr("XDG_STATE_HOME", ""); base.starts_with('/')) {
      dir = os::JoinPath(base, "spate");
    }
  }
  if (dir.empty()) {
    dir = os::JoinPath(here.machine.facts().home, ".local/state/spate");
  }
  return os::JoinPath(here.cwd, dir);
}

std::string HubDirOf(const std::string& typed, const Surroundings& here) {
  return os::JoinPath(StateDirOf(typed, here), "hub");
}

std::string ReachOf(const std::string& typed, const Surroundings& here) {
  if (typed.empty() && here.environment.GetOr("SPATE_STATE", "").empty()) return "";
  return " --hub --state " + ShellQuote(StateDirOf(typed, here));
}

std::vector<std::string> MastersHere(const std::string& state_dir, const Surroundings& here) {
  return link::FindMasters(state_dir, here.machine.facts().host_name);
}

}  // namespace spate::client
