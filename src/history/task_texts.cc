#include "history/task_texts.h"

#include <algorithm>
#include <utility>

#include "format/number_range.h"

namespace spate::history {

TaskTexts::TaskTexts(const Source& source, store::JobJournal& history) : history_(history) {
  auto settings = source.settings(history.summary().row);
  if (!settings) return;
  settings_ = std::move(*settings);
  auto compiled = source.dialects.Compile(settings_, JobId(history.summary().number));
  if (compiled) compiled_ = std::move(*compiled);
}

Result<std::string> TaskTexts::Command(TaskIndex index, uint16_t slot) {
  auto row = history_.RowText(index);
  if (!row) return row;
  if (compiled_) return format::CommandText(*compiled_, *row, index, slot);
  std::ranges::replace(*row, '\0', ' ');
  return row;
}

std::string TaskTexts::Name(TaskIndex index) {
  if (!HasNames()) return "";
  auto row = history_.RowText(index);
  return row ? (*compiled_)->Name(*row) : "";
}

Result<std::vector<TaskRange>> TaskTexts::CalledAsOthers() {
  if (!HasNames()) return {};
  return history_.MarkedTasks([this](TaskIndex index, std::string_view row) {
    const std::string name = (*compiled_)->Name(row);
    if (name.empty() || name.front() < '0' || name.front() > '9') return false;
    auto range = format::ParseNumberRange(name);
    const uint64_t own = uint64_t{index} + 1;
    return range && (range->first != own || range->last != own);
  });
}

std::optional<TaskBody> TaskTexts::Body(const format::RowRun& run) {
  auto row = history_.RowText(run.index);
  if (!row || !compiled_) return std::nullopt;
  auto body = (*compiled_)->Body(*row, run);
  if (!body) return std::nullopt;
  return std::move(*body);
}

}  // namespace spate::history
