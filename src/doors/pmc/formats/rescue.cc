// File = (Line "\n")* Line?        Line = blanks | "#" text | "DONE" blanks name

#include "doors/pmc/formats/rescue.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "format/dag_line.h"
#include "format/lines.h"

namespace spate::pmc {
namespace {

constexpr std::string_view kDone = "DONE";

// The name in a DONE record, else empty.
std::string_view NameIn(std::string_view line) {
  std::string_view name = format::DagTaskName(line);
  bool whole = format::TrimDagLine(line.substr(kDone.size())) == name;
  return whole ? name : std::string_view();
}

// The defect of a line that is no record of a known task.
std::string Wrong(std::string_view line) {
  if (!line.starts_with(kDone)) return format::InvalidDagRecord("rescue", line);
  std::string_view task = NameIn(line);
  if (task.empty()) return format::InvalidDagRecord("DONE", line);
  return fmt::format("Unknown task {} in rescue file", format::ShownInDag(task));
}

bool CouldBeTorn(std::string_view line) {
  return kDone.starts_with(line) || (line.starts_with(kDone) && !NameIn(line).empty());
}

}  // namespace

Result<Rescue> ReadRescue(std::string_view text,
                          const std::function<bool(std::string_view task)>& known) {
  Rescue rescue;
  std::unordered_set<std::string_view> seen;
  std::string_view rest = text;
  for (uint64_t number = 1; auto whole = format::NextLine(&rest); ++number) {
    std::string_view line = format::TrimDagLine(*whole);
    if (line.empty() || line.starts_with('#')) continue;
    std::string_view task = line.starts_with(kDone) ? NameIn(line) : std::string_view();
    const bool is_open = rest.empty() && !text.ends_with('\n');
    if (!task.empty() && known(task)) {
      if (seen.insert(task).second) rescue.done.push_back({.task = task, .line = number});
    } else if (is_open && CouldBeTorn(line)) {
      rescue.torn = line;
    } else {
      return Fail(ErrorKind::kInvalid, fmt::format("line {}: {}", number, Wrong(line)));
    }
  }
  return rescue;
}

std::string RescueRecord(std::string_view task) { return fmt::format("\n{} {}", kDone, task); }

std::string RescueText(std::span<const RescueEntry> done) {
  std::string text;
  for (const RescueEntry& entry : done) text += RescueRecord(entry.task);
  return text;
}

}  // namespace spate::pmc
