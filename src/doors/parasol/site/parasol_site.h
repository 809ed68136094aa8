// A site that is run as Parasol's are: where hub and nodes keep their things.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/surroundings.h"
#include "doors/parasol/formats/machine_list.h"

namespace spate::parasol {

// For root the system's folders, for others their own; $SPATE_STATE is above both.
struct SitePlaces {
  std::string hub_dir;
  // A socket beside that in the hub's folder, which others may not enter. Empty: none.
  std::string socket;
  std::string node_state;  // above the folders of nodes
};
SitePlaces PlacesOfSite(const client::Surroundings& here);

// The log of a daemon: the file of -log, or "stdout"; without it the file `log` in its folder, or
// in the foreground (empty) the screen.
std::string LogOf(const std::string& typed, bool foreground, const std::string& folder,
                  const client::Surroundings& here);

// The machines of a list, from the file or, as "stdin", from there.
Result<std::vector<ParasolMachine>> LoadMachineList(const std::string& path, size_t columns);

}  // namespace spate::parasol
