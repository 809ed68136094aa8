#include "store/sqlite/state_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "os/file.h"

namespace spate::store {
namespace {

constexpr uint64_t kLeastFreeBytes = 1 << 20;

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

Status CheckFileSystem(const std::string& state_dir, const StateOptions& options) {
  auto facts = TRY(os::FileSystemOf(state_dir));
  if (!options.pretend_file_system.empty()) {
    facts.name = options.pretend_file_system;
    facts.is_network = true;
  }
  if (facts.is_network) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("the state folder '{}' is on a network file system ({}), where the "
                            "journal would not be safe; name a folder on a disk of this machine, "
                            "such as --state /var/tmp/$USER-spate (or set SPATE_STATE)",
                            EscapeForScreen(state_dir), facts.name));
  }
  if (facts.read_only) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' is on a read-only file system; choose another "
                            "with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir)));
  }
  return {};
}

Status CheckOwnerAndSpace(const std::string& state_dir) {
  auto info = TRY(os::Stat(state_dir));
  auto self = os::Stat("/proc/self");
  if (self && self->user != info.user) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' belongs to another user (uid {}; this process "
                            "has {}); choose one of your own with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir), info.user, self->user));
  }
  auto space = os::SpaceOf(state_dir);
  if (space && (space->free < kLeastFreeBytes || space->free_files == 0)) {
    return Fail(ErrorKind::kExhausted,
                fmt::format("the state folder '{}' is full ({} left); free some space there, or "
                            "choose another with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir), FormatSize(space->free)));
  }
  return {};
}

Error WithStateHint(Error error) {
  if (error.kind == ErrorKind::kPermission) {
    error.message += "; choose another state folder with --state (or SPATE_STATE)";
  }
  return error;
}

Status EmptySpool(const std::string& spool) {
  TRY(os::RemoveTree(spool));
  return os::MakeDir(spool, 0700);
}

uint64_t FolderBytes(const std::string& folder) {
  uint64_t bytes = 0;
  auto entries = os::ListDir(folder);
  if (!entries) return 0;
  for (const os::DirEntry& entry : *entries) {
    auto info = os::StatLink(folder + '/' + entry.name);
    if (info && info->kind == os::FileKind::kFile) bytes += info->size;
  }
  return bytes;
}

}  // namespace spate::store
