#include "present/text/size_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/units.h"

namespace spate::present {

std::string SizeText(const TaskSize& to, const std::optional<TaskSize>& from) {
  std::vector<std::string> parts;
  auto add = [&](auto field, const char* form, const auto& text) {
    if (!(to.*field)) return;
    const bool known = from && ((*from).*field) && *((*from).*field) != decltype(*(to.*field)){};
    const std::string before = known ? text(*((*from).*field)) + " -> " : "";
    parts.push_back(fmt::format(fmt::runtime(form), before + text(*(to.*field))));
  };
  auto cpus = [](uint32_t milli) { return fmt::format("{:g}", milli / 1000.0); };
  add(&TaskSize::milli_cpus, to.milli_cpus == kMilliCpu ? "{} cpu" : "{} cpus", cpus);
  add(&TaskSize::memory, "{} of memory", [](uint64_t bytes) { return FormatSize(bytes); });
  add(&TaskSize::time_limit, "time limit {}", [](Duration time) { return FormatDuration(time); });
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string ResizeText(const ResizeFact& change) {
  std::string text = SizeText(change.to, change.from);
  if (!change.by.empty()) text += " by " + EscapeForScreen(change.by);
  if (change.stage == ResizeStage::kOrdered) {
    return text + ": ordered; it holds both requests until its node confirms";
  }
  if (change.stage != ResizeStage::kRefused) return text;
  return text + ": refused: " + EscapeForScreen(change.reason);
}

}  // namespace spate::present
