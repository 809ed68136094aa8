// Environment of a gang's commands, so that a plain `mpirun ./prog` starts its
// processes on all nodes of the gang. Nothing but Open MPI, its successors and Hydra (MPICH and its
// relatives) reads these variables.
#pragma once

#include <string>
#include <vector>

#include "core/model/gang.h"

namespace spate::remote {

struct LauncherFiles {
  std::string agent;      // what is called as `ssh`: a link of the name kAgentName to our program
  std::string hosts;      // SPATE_HOSTS
  std::string machines;   // SPATE_MACHINES
  std::string temporary;  // a folder of the part's own; only where parts share a machine
};

// A program that is started under this name is `spate remote`. Hydra takes a path, no words.
inline constexpr const char* kAgentName = "spate-remote";

// True if others start commands in this part: the node does not start each process, or they meet by
// PMI; and the hub has told a secret.
bool HasServer(const GangPart& part);

// "NAME=value". Options on a launcher's command line go before them. They replace what `own`, the
// job's variables, say, but for the choice of Open MPI's transports.
std::vector<std::string> LauncherVariables(const GangPart& part, const LauncherFiles& files,
                                           const std::vector<std::string>& own);

// True if several parts are on one machine, as far as their lobbies tell.
bool SharesMachine(const GangPart& part);

}  // namespace spate::remote
