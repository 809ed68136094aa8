// Surroundings: where and by whom a program was started, and where its hub and its jobs are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/environment.h"
#include "os/machine.h"

namespace spate::client {

struct Surroundings {
  os::Environment environment;
  os::Machine machine;
  std::string cwd;      // absolute
  uint64_t open_files;  // how many each task may have open, whatever a run raises for itself
  static Result<Surroundings> Find();
};

// The folder of jobs: as typed with --state, else $SPATE_STATE, $XDG_STATE_HOME/spate, or
// ~/.local/state/spate. Absolute.
std::string StateDirOf(const std::string& typed, const Surroundings& here);
// Refuses the default in a home that belongs to another user: `sudo` may keep HOME, and what root
// makes there its owner cannot change.
Status CheckHome(const std::string& typed, const Surroundings& here);
// The current folder by the path that the user took there ($PWD, as `pwd -L` prints it). Other
// machines may lack the physical path, for example of an automounter.
std::string LogicalDirOf(const Surroundings& here);
// The folder of the user's own hub, below the state folder.
std::string HubDirOf(const std::string& typed, const Surroundings& here);
// The options by which commands reach that hub from elsewhere (present/advice.h); none are needed
// when the state folder was neither typed nor set by $SPATE_STATE.
std::string ReachOf(const std::string& typed, const Surroundings& here);

// Sockets of programs on this machine that have a hub for their own jobs (link/master_place.h).
std::vector<std::string> MastersHere(const std::string& state_dir, const Surroundings& here);

}  // namespace spate::client
