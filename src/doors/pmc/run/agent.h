// A host of the run: its first worker process, which starts the tasks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doors/pmc/formats/options.h"
#include "doors/pmc/run/hosts.h"
#include "doors/pmc/run/surroundings.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::pmc {

// A host's folder in the one of the first process (ServeHost).
std::string HandoverFolder(const std::string& handover, uint32_t number);
// Prefix of folders for long output next to the DAG file, where more room is than in $TMPDIR.
std::string SpoolPrefix(const Options& options);

// Serves the master through `stream` until that ends; `slots` are the surroundings of the host's
// workers. `handover`: a folder of the first process, if this is its machine: tasks' long output
// goes there, and is the first process's from a task's end on. It is sent if that is empty, or on
// another file system than this process's spool folder. Blocks.
Status ServeHost(os::RealLoop& loop, const Options& options, const Host& host, uint32_t number,
                 std::vector<SlotSurroundings> slots, os::Fd stream, const std::string& handover);

// Resources that a host offers: its own, or as the options have it.
uint64_t MemoryOf(const Options& options, const Host& host);  // MB
uint32_t CpusOf(const Options& options, const Host& host);

}  // namespace spate::pmc
