// Any text is JSON Lines or is refused, and every row has a value for each name.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/json_lines/json_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto lines = spate::format::ParseJsonLines(text);
  if (!lines) return 0;
  CHECK(lines->rows.empty() == lines->names.empty());
  for (const std::string& row : lines->rows) {
    CHECK(static_cast<size_t>(std::ranges::count(row, '\0')) + 1 == lines->names.size());
  }
  return 0;
}
