// One line of a job list: a command, with Parasol's clauses (docs/formats/job-list.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/body.h"
#include "format/forward.h"

namespace spate::format {

struct ListLine {
  std::string command;        // each check replaced by its file, other clauses removed; never empty
  std::vector<Check> checks;  // in order of appearance, before (in) and after (out) the task
  std::optional<uint32_t> milli_cpus;  // {use cpu N}; the last one of several counts
  std::optional<uint64_t> memory;      // {use ram SIZE}, bytes
  std::string name;                    // {name NAME}; the last one of several counts
  std::vector<std::string> after;      // {after NAME...}
  std::vector<Forward> pipe_forwards;  // {forward VAR FILE}, in order of appearance
  friend bool operator==(const ListLine&, const ListLine&) = default;
};

// `text` without the blanks (and CR) around it. A blank that a backslash protects stays.
std::string_view TrimLine(std::string_view text);

// Blank lines and comments: no task.
inline bool IsIgnoredLine(std::string_view trimmed) {
  return trimmed.empty() || trimmed.front() == '#';
}

// Parses a line that is not ignored; blanks around it do not matter. Errors (kInvalid) name the
// problem and the fix; the caller puts file and line number in front. They include a command that
// is too long to be started.
Result<ListLine> ParseListLine(std::string_view line);

}  // namespace spate::format
