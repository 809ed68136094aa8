// A site that is run as Parasol's are: what its hub knows beside its jobs and nodes, and where hub
// and nodes keep their things.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/surroundings.h"
#include "doors/parasol/formats/machine_list.h"

namespace spate::parasol {

struct ParasolSite {
  std::vector<ParasolMachine> machines;  // as the list has them; there is at least one
  uint64_t ram_unit = 0;                 // bytes
  uint64_t default_ram = 0;              // of a job that does not say, bytes
};

// Of root it is the system's, of others their own; $SPATE_STATE is above both.
struct SitePlaces {
  std::string hub_dir;
  // A socket beside that in the hub's folder, which others may not enter. Empty: none.
  std::string socket;
  std::string node_state;  // above the folders of nodes
};
SitePlaces PlacesOfSite(const client::Surroundings& here);

// Where a daemon logs to: the file of -log, or "stdout"; without it the file `log` in its folder,
// or in the foreground (empty) the screen.
std::string LogOf(const std::string& typed, bool foreground, const std::string& folder,
                  const client::Surroundings& here);

// The machines of a list, from the file or, as "stdin", from there.
Result<std::vector<ParasolMachine>> LoadMachineList(const std::string& path, size_t columns);

}  // namespace spate::parasol
