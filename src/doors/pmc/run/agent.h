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

// Serves the master through `stream` until that ends; `slots` are the surroundings of the host's
// workers. Blocks.
Status ServeHost(os::RealLoop& loop, const Options& options, const Host& host, uint32_t number,
                 std::vector<SlotSurroundings> slots, os::Fd stream);

// Resources that a host offers: its own, or as the options have it.
uint64_t MemoryOf(const Options& options, const Host& host);  // MB
uint32_t CpusOf(const Options& options, const Host& host);

}  // namespace spate::pmc
