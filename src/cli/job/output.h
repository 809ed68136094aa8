// What tasks wrote: which streams a command prints, where each goes, and how it goes on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "cli/history/call.h"
#include "store/sqlite/output_file.h"

namespace spate::cli {

// --stream. Both go where they belong; one alone goes to standard output.
enum class Which : uint8_t { kBoth, kStdout, kStderr };
Result<Which> WhichOf(const Words& words);
bool Wants(Which which, store::Stream stream);
void PutOutput(HistoryCall& call, Which which, store::Stream stream, std::string_view bytes);

// --follow: the output of tasks of a hub's job as they end, from behind this place of its journal,
// until the job has ended.
Result<int> FollowOutput(HistoryCall& call, uint32_t job, uint64_t after);
// The one job that the words name (default: last).
Result<uint32_t> PickOneJob(HistoryCall& call);

}  // namespace spate::cli
