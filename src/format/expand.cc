// See expand.h.

#include "format/expand.h"

#include <utility>

#include "format/list_line.h"
#include "format/shell_words.h"

namespace spate::format {

struct CompiledJob::Pieces {
  JobSettings settings;
};

namespace {

Result<TaskBody> ExpandListLine(std::string_view row) {
  auto line = ParseListLine(row);
  if (!line) return std::unexpected(std::move(line.error()));
  TaskBody body;
  body.steps.emplace_back().commands.emplace_back().argv = CommandArgv(line->command);
  for (Check& check : line->checks) {
    if (check.when == CheckWhen::kOut) body.output_checks.push_back(std::move(check));
  }
  return body;
}

}  // namespace

Result<CompiledJob> CompileJob(const JobSettings& settings, JobId) {
  if (settings.row_kind != RowKind::kListLine) {
    return Fail(ErrorKind::kUnavailable, "templates are not compiled yet");
  }
  return CompiledJob(std::make_shared<CompiledJob::Pieces>(CompiledJob::Pieces{settings}));
}

Result<TaskBody> Expand(const CompiledJob&, std::string_view row, TaskIndex, uint16_t) {
  return ExpandListLine(row);
}

std::string CommandText(const CompiledJob&, std::string_view row, TaskIndex, uint16_t) {
  auto line = ParseListLine(row);
  return line ? line->command : std::string(row);
}

}  // namespace spate::format
