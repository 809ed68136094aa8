// The last lines of one task, and what it writes until it ends. While the task runs, its output is
// asked of its node, piece by piece; an attempt that has ended is read from the journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "command/history_call.h"
#include "core/model/selection.h"
#include "wire/questions.h"

namespace spate::cli {

struct TailWish {
  uint64_t lines = 10;  // of each stream; UINT64_MAX: all
  bool follow = false;
  wire::Streams streams = wire::Streams::kBoth;
  std::optional<uint32_t> rank = std::nullopt;  // of a gang; nullopt: the first
  std::string tag = {};                         // in front of each line
};

// `task` names one, by its number. Everything else than output (how attempts end, why nothing
// comes) is told on standard error. The exit code is 1 where a part of the output is missing.
Result<int> TailTask(HistoryCall& call, TasksOfJob task, const TailWish& wish);

}  // namespace spate::cli
