// Keeper: a process between an overseer and a slave on the same machine. It holds the slave on a
// leash, a pipe from the overseer: when that closes, however the overseer has ended, the keeper
// ends the slave and all that it has started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/process.h"

namespace spate::mw {

struct Kept {
  os::Pid keeper = 0;
  os::Fd leash;   // closing it ends the slave
  os::Fd output;  // of the slave, standard error too; does not block
};
// Runs `argv` on a leash. The keeper ends as its slave does, with the code that a shell would show.
Result<Kept> StartKept(const std::vector<std::string>& argv);

// The keeper's main(); nullopt: this process is none.
std::optional<int> KeeperEntry(int argc, char** argv);

}  // namespace spate::mw
