// The runs in a state folder, for what works on the folder itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/history_call.h"

namespace spate::cli {

// Those that are named, or all; ascending. kNotFound: there is none.
Result<std::vector<uint32_t>> PickRuns(const HistoryCall& call, std::span<const std::string> words);

// The folder of a hub that has its state here.
std::string HubDir(const HistoryCall& call);

}  // namespace spate::cli
