// The journals of this machine's runs, as those read them who answer questions about jobs.
#pragma once

#include <cstdint>

#include "history/source.h"
#include "store/history.h"

namespace spate::run {

// The source of answers about this machine's runs.
history::Source RunsIn(const store::JobPlace& place, uint32_t cores);

}  // namespace spate::run
