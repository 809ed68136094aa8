// Whether the command of a gang is an MPI program. Its processes must be started so that they find
// each other, else each is the only one of a program of its own, and nobody is told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "cli/options/run_options.h"

namespace spate::cli {

enum class MpiLibrary : uint8_t { kNone, kMpich, kOpenMpi, kOther };

// By the shared libraries that an ELF file of 64 bits needs. kNone for what cannot be read, is a
// script, or has its libraries in itself.
MpiLibrary MpiLibraryOf(const std::string& path);

// Of a gang on a hub's nodes where nobody has said how to start its processes (--start): MPICH's
// find each other by PMI, which is told by `say`; kInvalid for those of other libraries, which need
// their own launcher. `cwd` is where the job runs.
Status CheckMpi(RunOptions& options, const std::string& cwd,
                const std::function<void(std::string)>& say);
// Of one on this machine alone, where none find each other so.
Status CheckMpiHere(const RunOptions& options, const std::string& cwd);

}  // namespace spate::cli
