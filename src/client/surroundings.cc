#include "client/surroundings.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "link/master_place.h"
#include "os/account.h"
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

Status CheckHome(const std::string& typed, const Surroundings& here) {
  const std::string& home = here.machine.facts().home;
  const bool is_default = StateDirOf(typed, here) == os::JoinPath(home, ".local/state/spate");
  auto info = os::Stat(home);
  const uint32_t self = os::EffectiveUser();
  if (!typed.empty() || !is_default || !info || info->user == self || info->user == 0) return {};
  return Fail(
      ErrorKind::kPermission,
      fmt::format("the home folder {0} belongs to {1}, but this command runs as {2}, and {1} "
                  "could not change the files that {2} makes there; nothing was started\n"
                  "Name a folder for the state: --state DIR (or SPATE_STATE)",
                  EscapeForScreen(home), os::AccountName(info->user), os::AccountName(self)));
}

std::string LogicalDirOf(const Surroundings& here) {
  const std::string path = here.environment.GetOr("PWD", "");
  auto named = os::Stat(path), now = os::Stat(here.cwd);
  const bool same = path.starts_with('/') && os::AbsolutePath(path) == path && named && now &&
                    named->device == now->device && named->inode == now->inode;
  return same ? path : here.cwd;
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
