#include "present/text/left_text.h"

#include <fmt/format.h>

#include "core/model/leftovers.h"
#include "present/text/end_text.h"

namespace spate::present {

std::string WaitText(std::string_view before, const std::string& what, std::string_view after) {
  return what.starts_with(kStillWaiting) ? what : fmt::format("{}{}{}", before, what, after);
}

std::string LeftText(const LeftRunningFacts& left) {
  return fmt::format("task {}: {}", left.task,
                     WaitText("", fmt::format("{} on node {}", left.processes, left.node),
                              ", left running by its command"));
}

std::string LeftTextOfAll(std::span<const LeftRunningFacts> left) {
  if (left.empty()) return "";
  std::string text = fmt::format("{} on {}", left.front().processes, left.front().node);
  if (left.size() > 1) text += fmt::format(" and {}", CountOf(left.size() - 1, "other task"));
  return text;
}

}  // namespace spate::present
