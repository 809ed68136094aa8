#include "wire/question_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/job.h"
#include "core/model/limits.h"
#include "wire/limits.h"

namespace spate::wire {

Status Defect(std::string_view field, std::string_view what) {
  return Fail(ErrorKind::kCorrupt, fmt::format("{} {}", field, what));
}

Status CheckName(std::string_view field, const std::string& name) {
  if (name.size() > kWireLimits.name_bytes) return Defect(field, "is too long");
  bool prints = std::ranges::none_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return prints ? Status() : Defect(field, "has a control character");
}

Status CheckNames(std::string_view field, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    TRY(CheckName(field, name));
  }
  return {};
}

Status CheckRanges(std::string_view field, const std::vector<NumberRange>& ranges) {
  bool sound = std::ranges::all_of(ranges, &NumberRange::IsSound);
  return sound ? Status() : Defect(field, "runs backwards, or from 0");
}

Status CheckTasks(const TasksOfJob& tasks, bool has_names) {
  if (!has_names && !tasks.names.empty()) return Defect("tasks.names", "have not been looked up");
  if (tasks.job && *tasks.job == 0) return Defect("tasks.job", "is 0");
  TRY(CheckNames("tasks.names", tasks.names));
  return CheckRanges("tasks.ranges", tasks.ranges);
}

Status CheckNeeds(const Needs& needs) {
  TRY(CheckValues(needs));
  if (needs.memory > kWireLimits.size) return Defect("needs.memory", "is out of range");
  for (const NamedNeed& named : needs.named) {
    TRY(CheckName("needs.named", named.name));
  }
  TRY(CheckNames("needs.labels", needs.labels));
  TRY(CheckNames("needs.not_on", needs.not_on));
  return CheckName("needs.on_node", needs.on_node);
}

namespace {

// A journal keeps these texts for as long as the pool exists.
struct CheckPoolTexts {
  Status status = {};
  void operator()(uint32_t, const std::string& text) {
    constexpr size_t kMost = 4096;
    if (text.size() > kMost) status = Defect("wish", "is too long");
    if (text.contains('\0')) status = Defect("wish", "has a zero byte");
  }
  void operator()(uint32_t number, const std::vector<std::string>& texts) {
    constexpr size_t kMost = 256;
    if (texts.size() > kMost) status = Defect("wish", "are too many");
    for (const std::string& text : texts) (*this)(number, text);
  }
  template <typename T>
  void operator()(uint32_t, const T&) {}
};

}  // namespace

Status CheckWish(const PoolChange& wish) {
  CheckPoolTexts texts;
  const PoolPolicy policy = SetBy(wish);
  VisitLeaves(policy, texts);
  TRY(texts.status);
  const NodeShape& shape = policy.shape;
  TRY(CheckNames("wish.labels", shape.labels));
  if (shape.memory > kWireLimits.size) return Defect("wish.memory", "is out of range");
  if (shape.named.size() > 64) return Defect("wish.named", "are too many");
  if (!Needs{.labels = shape.labels}.CheckSound()) {
    return Defect("wish.labels", "is not sorted, or has an empty one");
  }
  return CheckNeeds(Needs{.named = shape.named});
}

}  // namespace spate::wire
