// Finds tasks that would write over each other's files, before any of them starts.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/job.h"

namespace spate::cli {

struct OutputRules {
  const JobSettings& settings;
  // The folder of a task's results (--results DIR); null: tasks have none.
  std::function<std::string(std::string_view row)> results = {};
};

// Each task with its row; may be walked several times.
using TaskRowVisitor = std::function<void(TaskIndex task, std::string_view row)>;
using TaskRows = std::function<void(const TaskRowVisitor& visit)>;

// Fails (kInvalid) when two of the tasks would write to the same file, or one would overwrite what
// it or another one reads; names both, the file and the fix. Paths are compared as texts, with `.`,
// `..` and doubled slashes resolved: links are not followed. Devices and pipes may be shared, and
// with --append everything may. Cost: 16 bytes for each file that a task writes or reads, while it
// looks.
Status CheckOutputs(const OutputRules& rules, const TaskRows& rows);

// The same for tasks that come while others run; `tasks` is what makes them, for the message.
Status CheckLaterOutputs(const OutputRules& rules, std::string_view tasks);

}  // namespace spate::cli
