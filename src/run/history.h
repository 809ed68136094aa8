// The journals of this machine's runs, as those read them who answer questions about jobs.
#pragma once

#include <cstdint>
#include <string>

#include "history/source.h"

namespace spate::run {

// The source of answers about this machine's runs.
history::Source RunsIn(const std::string& state_dir, uint32_t cores);

}  // namespace spate::run
