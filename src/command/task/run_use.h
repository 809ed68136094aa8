// Use of running tasks so far. Nodes know it, and are asked for it, one task after another.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "command/history_call.h"
#include "core/model/facts.h"
#include "core/model/run_look.h"

namespace spate::cli {

// Asks for a command, of at most 100 attempts. The first node that does not answer ends it, since
// each may take seconds.
class UseAsker {
 public:
  explicit UseAsker(HistoryCall& call) : call_(call) {}
  // By the place in `running`, of the first ones; nullopt: it is not known.
  std::vector<std::optional<RunUse>> Query(JobId job, std::span<const RunningFacts> running);

 private:
  // Rows that a page shows (present::RunningLines).
  static constexpr size_t kMostOfPage = 8;

  HistoryCall& call_;
  size_t left_ = 100;
};

}  // namespace spate::cli
