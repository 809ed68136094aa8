#include "history/task_texts.h"

#include <algorithm>
#include <utility>

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

std::optional<TaskBody> TaskTexts::Body(const format::RowRun& run) {
  auto row = history_.RowText(run.index);
  if (!row || !compiled_) return std::nullopt;
  auto body = (*compiled_)->Body(*row, run);
  if (!body) return std::nullopt;
  return std::move(*body);
}

}  // namespace spate::history
