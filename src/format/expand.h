// From a task's row to what an attempt executes.
//
// A job is compiled once; Expand then costs less than a microsecond for a plain line. Rows:
//   RowKind::kListLine   a line of a job list, blanks around it trimmed or not
//   RowKind::kValues     the values of one task, joined by '\0' (docs/formats/placeholders.md)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/body.h"
#include "core/model/job.h"

namespace spate::format {

// Immutable, cheap to copy; may be shared between threads.
class CompiledJob {
 public:
  struct Pieces;  // in expand.cc
  explicit CompiledJob(std::shared_ptr<const Pieces> pieces) : pieces_(std::move(pieces)) {}
  const Pieces& pieces() const { return *pieces_; }

 private:
  std::shared_ptr<const Pieces> pieces_;
};

// Errors (kInvalid) name the placeholder or the pattern that is wrong, and the fix.
Result<CompiledJob> CompileJob(const JobSettings& settings, JobId job);

// The body of the task `index` of the job when it runs in `slot` (from 1; 0 where it is not known:
// {%} then stands for 1). Errors: a line that ParseListLine refuses, or a command that is too long
// to be started.
Result<TaskBody> Expand(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot);

// The command as people see it (joblog, --dry-run, task info): shell text as it is, an argv with
// its words quoted where a shell would need it. For a row that Expand refuses: the row.
std::string CommandText(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot);

}  // namespace spate::format
