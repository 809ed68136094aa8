// Any text is a selector or is refused, and what it selects is well formed.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/selector/selector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto check = [](const std::vector<spate::NumberRange>& ranges) {
    for (const auto& range : ranges) {
      CHECK(range.first >= 1);
      CHECK(range.first <= range.last);
      CHECK(range.step >= 1);
      CHECK(range.Contains(range.first));
    }
  };
  if (auto jobs = spate::format::ParseJobSelector(text)) check(jobs->ranges);
  if (auto tasks = spate::format::ParseTaskSelector(text)) {
    CHECK(!tasks->empty());
    for (const auto& of_job : *tasks) {
      CHECK(of_job.all || !of_job.ranges.empty() || !of_job.names.empty());
      check(of_job.ranges);
    }
  }
  return 0;
}
