// Checks if the command of a gang is an MPI program. Its processes must be started so that they
// find each other; else each silently runs alone, as a program of one process.
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

struct MpiSurroundings {
  std::function<void(std::string)> say;          // prints a line for the user
  std::function<Result<uint32_t>()> pmix_nodes;  // how many nodes of the hub serve PMIx
};
// For a gang on a hub's nodes. Without --start, MPICH's processes find each other by PMI, and Open
// MPI's by PMIx where enough nodes serve it, which is said; kInvalid for others, which need their
// own launcher. With --start mpi the library decides between PMI and PMIx. `cwd` is where the job
// runs.
Status CheckMpi(RunOptions& options, const std::string& cwd, const MpiSurroundings& here);
// For a gang on this machine alone, where processes do not find each other this way.
Status CheckMpiHere(const RunOptions& options, const std::string& cwd);

}  // namespace spate::cli
