// Words for where tasks run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/facts.h"
#include "core/model/run_look.h"
#include "present/json/json_fields.h"

namespace spate::present {

// Ranks from `first` on: "rank 3", "ranks 4-7".
std::string RanksText(uint32_t first, uint32_t count);
// Use of attempts so far, by their place; where the list ends, or has nothing, it is not known.
using Uses = std::span<const std::optional<RunUse>>;
// "CPU 1m05s, memory 1.2 GB, peak 1.5 GB"
std::string UseText(const RunUse& use);
// "on node n1 since 2026-07-03 12:40:05 (2m05s), CPU ..."; of a gang "ranks 4-7 on node ...".
std::string RunningText(const RunningFacts& running, Instant now,
                        const std::optional<RunUse>& use = {});
// The first few of them, a line each, and how many others there are. `with_task`: each names its
// task.
std::vector<std::string> RunningLines(std::span<const RunningFacts> running, Instant now,
                                      bool with_task, Uses uses = {});
// An array of objects with task, attempt, node, since, elapsed (both in seconds), and of gangs
// first_rank and ranks; what has been used so far: user, system, memory, peak_memory and
// memory_source. They are null where there is none.
Json RunningJson(std::span<const RunningFacts> running, Instant now, Uses uses = {});

}  // namespace spate::present
