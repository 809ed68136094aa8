// Words for where tasks run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/facts.h"

namespace spate::present {

// Ranks from `first` on: "rank 3", "ranks 4-7".
std::string RanksText(uint32_t first, uint32_t count);
// "on node n1 since 2026-07-03 12:40:05 (2m05s)"; of a gang "ranks 4-7 on node ...".
std::string RunningText(const RunningFacts& running, Instant now);
// The first few of them, a line each, and how many others there are. `with_task`: each names its
// task.
std::vector<std::string> RunningLines(std::span<const RunningFacts> running, Instant now,
                                      bool with_task);
// An array of objects with task, attempt, node, since, elapsed (both in seconds), and of gangs
// first_rank and ranks; else these are null.
std::string RunningJson(std::span<const RunningFacts> running, Instant now);

}  // namespace spate::present
