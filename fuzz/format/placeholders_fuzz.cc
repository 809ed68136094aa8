// Any command with any row expands or is refused, and never reads beyond them. The input is lines:
// flags, the row (| between values), a name of a column, then the words of the command.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/model/limits.h"
#include "format/expand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto line = [&] {
    size_t end = text.find('\n');
    std::string taken(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return taken;
  };
  std::string flags = line();
  std::string row = line();
  std::ranges::replace(row, '|', '\0');
  spate::JobSettings settings;
  settings.row_kind = spate::RowKind::kValues;
  settings.repeat_context = flags.find('X') != std::string::npos;
  settings.has_source = flags.find('n') == std::string::npos;
  settings.value_names = {line()};
  settings.stdout_pattern = flags;
  while (!text.empty()) settings.command.push_back(line());
  auto job = spate::format::CompileJob(settings, spate::JobId(1));
  if (!job) return 0;
  (void)spate::format::CheckPositions(settings, 2);
  auto body = spate::format::Expand(*job, row, 6, 3);
  (void)spate::format::CommandText(*job, row, 6, 3);
  if (!body) return 0;
  const auto& argv = body->steps.at(0).commands.at(0).argv;
  size_t total = 0;
  for (const std::string& word : argv) {
    CHECK(word.find('\0') == std::string::npos);
    total += word.size();
  }
  CHECK(total <= spate::kLimits.argv_bytes);
  return 0;
}
