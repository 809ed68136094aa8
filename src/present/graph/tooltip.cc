#include "present/graph/tooltip.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::present {

std::string Tooltip(const GraphTask& task, Phase phase, const TaskTimes& times) {
  std::string text = fmt::format("{}: {}", task.name, WordOf(phase));
  if (task.wall) text += fmt::format(", took {}", FormatDuration(*task.wall));
  if (task.planned) text += fmt::format(", planned {}", FormatDuration(*task.planned));
  if (!task.wall && !task.planned) return text + ", time unknown";
  return text + fmt::format(", slack {}", FormatDuration(times.slack()));
}

}  // namespace spate::present
