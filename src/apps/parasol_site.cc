#include "apps/parasol_site.h"

#include "client/hub_call.h"
#include "doors/parasol/programs/site_programs.h"
#include "os/account.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::apps {

SitePlaces PlacesOfSite(const Surroundings& here) {
  if (os::EffectiveUser() == 0 && here.environment.GetOr("SPATE_STATE", "").empty()) {
    return {"/var/lib/spate/hub", client::SystemSocket().path, "/var/lib/spate-node"};
  }
  return {HubDirOf("", here), "", StateDirOf("", here)};
}

std::string LogOf(const std::string& typed, bool foreground, const std::string& folder,
                  const Surroundings& here) {
  if (typed == cli::kStdoutName) return "/dev/stdout";
  if (!typed.empty()) return os::JoinPath(here.cwd, typed);
  return foreground ? "" : os::JoinPath(folder, "log");
}

Result<std::vector<format::ParasolMachine>> LoadMachineList(const std::string& path,
                                                            size_t columns) {
  constexpr size_t kMostBytes = 64 << 20;
  auto text = path == cli::kStdinName ? os::ReadToEnd(os::kStdin, kMostBytes, "standard input")
                                      : os::ReadFile(path, kMostBytes);
  if (!text) return std::unexpected(std::move(text.error()));
  auto machines = format::ReadMachineList(*text, path, columns);
  if (machines && machines->empty()) {
    return Fail(ErrorKind::kInvalid, path + " is empty: write a line for each machine");
  }
  return machines;
}

}  // namespace spate::apps
