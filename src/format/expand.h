// From a task's row to what an attempt executes, for the kinds of rows that `spate` itself has
// (dialect.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/body.h"
#include "core/model/job.h"
#include "format/dialect.h"

namespace spate::format {

// The name of the one value of a job array: each task has it as a variable, and nothing is appended
// to a command without placeholders.
inline constexpr const char* kArrayVariable = "SPATE_ARRAY_VALUE";

// By the dialects of this folder. Errors (kInvalid) name the placeholder or the option that is
// wrong, and the fix. Where the command of a job with a source has no placeholder, the values are
// appended, but for the number of an array.
Result<CompiledJob> CompileJob(const JobSettings& settings, JobId job);

// Template::Known::replace of JobSettings::replace, into which it points. {} is nothing special.
constexpr std::string_view ReplaceOf(std::string_view replace) {
  return replace == "{}" ? std::string_view() : replace;
}

// True if a placeholder of these words stands for a value ({#}, {%} and {job} do not). `replace`:
// what is written for {}.
bool AsksForValue(std::span<const std::string> command, std::string_view replace);

// True if the command is text for a shell, with some values at least. False for rows of a list.
bool MayNeedShell(const JobSettings& settings);

// For callers that know how many values each row has: an error when a placeholder of the command
// or of a file's name asks for more ({3} of 2).
Status CheckPositions(const JobSettings& settings, size_t values_per_row);

// For -X without -n: an error when the command takes single values only ({1}, {name}); the others
// of a task would be lost.
Status CheckFill(const JobSettings& settings);

// For the task `index` of the job when it runs in `slot` (from 1; 0, not known yet).
inline Result<TaskBody> Expand(const CompiledJob& job, std::string_view row, TaskIndex index,
                               uint16_t slot) {
  return job->Body(row, {.index = index, .slot = slot});
}
inline std::string CommandText(const CompiledJob& job, std::string_view row, TaskIndex index,
                               uint16_t slot) {
  return job->CommandText(row, {.index = index, .slot = slot});
}

}  // namespace spate::format
