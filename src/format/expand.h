// From a task's row to what an attempt executes.
//
// A job is compiled once; Expand then costs less than a microsecond for a plain line. Rows:
//   RowKind::kListLine   a line of a job list, blanks around it trimmed or not
//   RowKind::kValues     the values of one task, joined by '\0' (docs/formats/placeholders.md);
//                        anything where the job has no source
//   RowKind::kInput      a piece of input (input_row.h)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/body.h"
#include "core/model/job.h"

namespace spate::format {

// Immutable, cheap to copy; may be shared between threads.
class CompiledJob {
 public:
  struct Parts;  // in expand.cc
  explicit CompiledJob(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

// Errors (kInvalid) name the placeholder or the option that is wrong, and the fix. Where the
// command of a job with a source has no placeholder, the values are appended.
Result<CompiledJob> CompileJob(const JobSettings& settings, JobId job);

// For callers that know how many values each row has: an error when a placeholder of the command
// or of a file's name asks for more ({3} of 2).
Status CheckPositions(const JobSettings& settings, size_t values_per_row);

// The body of the task `index` of the job when it runs in `slot` (from 1; 0, not known yet, counts
// as 1). Errors (kInvalid): a line that ParseListLine refuses, a command that is too long to be
// started.
Result<TaskBody> Expand(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot);

// The command as people see it (joblog, --dry-run, task info): shell text as it is, an argv with
// its words quoted where a shell would need it. For a line that Expand refuses: the line.
std::string CommandText(const CompiledJob& job, std::string_view row, TaskIndex index,
                        uint16_t slot);

// The task's values as parallel's {} shows them, with blanks between (--tag, --results); empty for
// a line of a list.
std::string ValuesText(const CompiledJob& job, std::string_view row);

}  // namespace spate::format
