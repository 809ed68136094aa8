// The environment of the commands of batch systems.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/pool_facts.h"
#include "os/environment.h"

namespace spate::pool {

// Environment of this process, without what an enclosing batch job has set: commands would read it
// as options (sbatch reads SLURM_*), and pilots, which inherit it, as their own allocation.
// Settings of the batch systems stay, and so do a user's defaults for its commands (SBATCH_*).
os::Environment CommandEnvironment(const os::Environment& environment);

// Variables that decide which of several batch systems of this kind a command reaches, and the
// name of the command that submits, of which PATH may have several. Empty: nothing does.
std::span<const std::string_view> DecisiveVariables(std::string_view system);
std::string_view SubmitCommandOf(std::string_view system);
// Shell commands that print the submit command's file and these variables' values, each with a NUL
// behind it. Words of a command line.
std::vector<std::string> PrintDecisive(std::string_view system);
// The variables that such an output tells; empty when it is none of this system.
std::vector<PoolVariable> ReadDecisive(std::string_view system, std::string_view output);
// Compares two sides. Names that only one of them has are left out; `yours` without a command that
// submits differs from nobody's.
std::vector<PoolDifference> DifferencesOf(std::span<const PoolVariable> yours,
                                          std::span<const PoolVariable> hubs);
// For people, a line for each and one of what to do, each begun with a newline. Empty: none.
std::string TextOf(std::span<const PoolDifference> differences);

}  // namespace spate::pool
