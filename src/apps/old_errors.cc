#include "apps/old_errors.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "os/file.h"

namespace spate::apps {
namespace {

// 123 of "para123.err".
std::optional<uint64_t> JobOf(std::string_view name) {
  constexpr std::string_view kBefore = "para", kAfter = ".err";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return std::nullopt;
  if (name.size() <= kBefore.size() + kAfter.size()) return std::nullopt;
  name.remove_prefix(kBefore.size());
  name.remove_suffix(kAfter.size());
  uint64_t job = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), job);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return job;
}

}  // namespace

void RemoveOldErrors(const std::string& dir, Instant before, const std::set<uint64_t>& running) {
  auto entries = os::ListDir(dir);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    auto job = JobOf(entry.name);
    if (!job || running.contains(*job)) continue;
    std::string path = os::JoinPath(dir, entry.name);
    auto info = os::StatLink(path);
    if (!info || info->kind != os::FileKind::kFile || info->modified >= before) continue;
    (void)os::RemoveFile(path);
  }
}

}  // namespace spate::apps
