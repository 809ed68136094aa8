#include "store/sqlite/job_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "os/file.h"

namespace spate::store {
namespace {

std::string FirstLine(const std::string& path) {
  std::string text = os::ReadFile(path, 64 << 10).value_or("");
  return text.substr(0, text.find('\n'));
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Field 22 of /proc/PID/stat; the name in parentheses before may hold anything.
int64_t StartTicks(std::string_view stat) {
  size_t at = stat.rfind(')');
  if (at == std::string_view::npos) return 0;
  stat.remove_prefix(at + 1);
  for (int field = 2; field < 22; ++field) {
    size_t blank = stat.find(' ');
    if (blank == std::string_view::npos) return 0;
    stat.remove_prefix(blank + 1);
  }
  return static_cast<int64_t>(ParseNumber(stat.substr(0, stat.find(' '))).value_or(0));
}

}  // namespace

std::string JobOwner::ToLine() const {
  return fmt::format("pid={} host={} boot={} start={}", pid, host, boot, start);
}

JobOwner JobOwner::FromLine(std::string_view line) {
  JobOwner owner;
  while (!line.empty()) {
    size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    std::string_view key = word.substr(0, equal);
    std::string_view value = word.substr(equal + 1);
    if (key == "pid") owner.pid = static_cast<int64_t>(ParseNumber(value).value_or(0));
    if (key == "start") owner.start = static_cast<int64_t>(ParseNumber(value).value_or(0));
    if (key == "host") owner.host = value;
    if (key == "boot") owner.boot = value;
  }
  return owner;
}

JobOwner JobOwner::ThisProcess() {
  JobOwner owner;
  std::string stat = FirstLine("/proc/self/stat");
  owner.pid = static_cast<int64_t>(ParseNumber(stat.substr(0, stat.find(' '))).value_or(0));
  owner.start = StartTicks(stat);
  owner.host = FirstLine("/proc/sys/kernel/hostname");
  owner.boot = FirstLine("/proc/sys/kernel/random/boot_id");
  return owner;
}

bool JobOwner::IsOfThisMachine() const {
  return boot == FirstLine("/proc/sys/kernel/random/boot_id");
}

std::string JobOwner::Text() const {
  if (pid == 0) return "another process";
  if (IsOfThisMachine()) return fmt::format("process {}", pid);
  return fmt::format("process {} on {}", pid, EscapeForScreen(host));
}

}  // namespace spate::store
