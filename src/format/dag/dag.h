// Reads the text of a DAG file (docs/formats/dag.md): its tasks, and which of them wait for which.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/graph.h"
#include "format/dag_line.h"

namespace spate::format {

// A task where it stands.
struct DagEntry {
  uint64_t line = 0;     // from 1
  std::string_view row;  // the TASK record, trimmed; points into the text
  const DagTask& task;   // valid during the call
  std::string_view id;   // of the Pegasus record before it; empty: there was none
};

struct DagError {
  uint64_t line = 0;
  std::string text;  // names no place
};

struct Dag {
  uint32_t tasks = 0;
  std::vector<Edge> edges;       // sorted, each once, without a cycle
  std::vector<DagError> errors;  // in the order of the text, no more than asked for
  uint64_t error_count = 0;
};

// Calls `visit` for each task, in order, until there is an error; what is found after the first
// errors is only counted. `known` are the names of the tasks that the job has (empty: it has none);
// new ones are numbered after them, and edges may lead from them. Cost: the text; and beside it
// some 40 bytes a task, and 8 an edge.
Dag ReadDag(std::string_view text, size_t most_errors,
            const std::function<void(const DagEntry&)>& visit,
            std::span<const std::string> known = {});

}  // namespace spate::format
