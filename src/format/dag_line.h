// One record of a DAG file, as pegasus-mpi-cluster reads them (docs/formats/dag.md):
//
//   TASK name [options] executable [arguments]
//   EDGE parent child
//
// Texts of errors are the original's, as other programs know them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/model/needs.h"
#include "format/forward.h"

namespace spate::format {

struct DagTask {
  std::string_view name;
  std::optional<uint64_t> memory_mb;  // rounded up
  std::optional<uint32_t> cpus;       // rounded up; 0 is taken as it is
  std::optional<uint32_t> tries;      // 0 counts as 1
  std::optional<int32_t> priority;
  std::vector<Forward> pipe_forwards;  // each variable once, the last path counts; in their order
  std::vector<Forward> file_forwards;  // each source once, likewise
  std::vector<std::string> argv;       // at least one word
};

// Blanks, tabs and CR at both ends are no part of a record.
std::string_view TrimDagLine(std::string_view line);
// The kind of a record is told by its first four letters, as TASK and EDGE; "TASKX" is one, too.
bool IsTaskRecord(std::string_view line);
bool IsEdgeRecord(std::string_view line);
// The second word of a record; empty: it has none.
std::string_view DagTaskName(std::string_view line);

// A text in an error: its beginning.
std::string ShownInDag(std::string_view text);
std::string InvalidDagRecord(const char* kind, std::string_view line);

// Parses a TASK record, trimmed. `name` points into it.
Result<DagTask> ParseDagTask(std::string_view line);
// The class by the task's own options; `defaults` apply to needs without one.
TaskClass ClassOf(const DagTask& task, const Needs& defaults);
// The names of an EDGE record; the child is all that follows the parent.
Result<std::pair<std::string_view, std::string_view>> ParseDagEdge(std::string_view line);

// The arguments in a text: either quote sign opens one and either closes it, which ends the
// argument; empty quotes are an empty one; a backslash makes the next character an ordinary one,
// everywhere.
std::vector<std::string> SplitDagArguments(std::string_view text);

}  // namespace spate::format
