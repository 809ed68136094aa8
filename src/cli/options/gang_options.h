// Options that make gangs of tasks, and that say by when tasks must have ended.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cli/options/run_options.h"
#include "cli/options/words.h"

namespace spate::cli {

// --procs, --nodes, --procs-per-node
Result<uint32_t> ParseProcs(std::string_view value);
// Computes a gang's shape from the numbers that are given, and checks --deadline. Errors name the
// options that contradict each other, and the fix.
Status CompleteGang(RunOptions& options);
// Rejects options that have no meaning for a task of several processes.
Status CheckGang(const RunOptions& options);

// "2026-11-24T18:00", "18:00" (today, or tomorrow where that is past), "tomorrow 18:00", "+2h", in
// the local time zone. Errors: it is past, or not understood.
Result<Instant> ParseDeadline(std::string_view text, Instant now);

// The instant that --deadline means, given the present time. An error when it is past, or when a
// task would take longer by --time.
Status SetDeadline(RunOptions& options, Instant now);

}  // namespace spate::cli
