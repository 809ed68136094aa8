#include "doors/parasol/site/parasol_site.h"

#include "client/hub_call.h"
#include "doors/parasol/programs/site_programs.h"
#include "os/account.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::parasol {

SitePlaces PlacesOfSite(const client::Surroundings& here) {
  if (os::EffectiveUser() == 0 && here.environment.GetOr("SPATE_STATE", "").empty()) {
    return {"/var/lib/spate/hub", client::SystemSocket().path, "/var/lib/spate-node"};
  }
  return {client::HubDirOf("", here), "", client::StateDirOf("", here)};
}

std::string LogOf(const std::string& typed, bool foreground, const std::string& folder,
                  const client::Surroundings& here) {
  if (typed == kStdoutName) return "/dev/stdout";
  if (!typed.empty()) return os::JoinPath(here.cwd, typed);
  return foreground ? "" : os::JoinPath(folder, "log");
}

Result<std::vector<ParasolMachine>> LoadMachineList(const std::string& path, size_t columns) {
  constexpr size_t kMostBytes = 64 << 20;
  auto text = TRY(path == kStdinName ? os::ReadToEnd(os::kStdin, kMostBytes, "standard input")
                                     : os::ReadFile(path, kMostBytes));
  auto machines = ReadMachineList(text, path, columns);
  if (machines && machines->empty()) {
    return Fail(ErrorKind::kInvalid, path + " is empty: write a line for each machine");
  }
  return machines;
}

}  // namespace spate::parasol
