#include "present/text/left_text.h"

#include <fmt/format.h>

#include "present/text/end_text.h"

namespace spate::present {

std::string LeftText(const LeftRunningFacts& left) {
  return fmt::format("task {}: {} on node {}, left running by its command", left.task,
                     left.processes, left.node);
}

std::string LeftTextOfAll(std::span<const LeftRunningFacts> left) {
  if (left.empty()) return "";
  std::string text = fmt::format("{} on {}", left.front().processes, left.front().node);
  if (left.size() > 1) text += fmt::format(" and {}", CountOf(left.size() - 1, "other task"));
  return text;
}

}  // namespace spate::present
