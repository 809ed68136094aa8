// Folders of jobs. A number is taken by mkdir, which only one of any number of processes wins; the
// right to write is the lock, which the system drops with its process.
//
// A folder that is removed is first renamed to ".forgotten-N-PID" under its lock, so that nobody
// ever sees half of a job.
#include "store/sqlite/job_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"

namespace spate::store {
namespace {

constexpr uint64_t kLeastFreeBytes = 1 << 20;
constexpr std::string_view kForgotten = ".forgotten-";

std::string JobsPath(const std::string& state_dir) { return os::JoinPath(state_dir, "jobs"); }

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

Status CheckFileSystem(const std::string& state_dir, const JobDirOptions& options) {
  auto facts = os::FileSystemOf(state_dir);
  if (!facts) return std::unexpected(std::move(facts.error()));
  if (!options.pretend_file_system.empty()) {
    facts->name = options.pretend_file_system;
    facts->is_network = true;
  }
  if (facts->is_network) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("the state folder '{}' is on a network file system ({}), where the "
                            "journal would not be safe; name a folder on a disk of this machine, "
                            "such as --state /var/tmp/$USER-spate (or set SPATE_STATE)",
                            EscapeForScreen(state_dir), facts->name));
  }
  if (facts->read_only) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' is on a read-only file system; choose another "
                            "with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir)));
  }
  return {};
}

Status CheckOwnerAndSpace(const std::string& state_dir) {
  auto info = os::Stat(state_dir);
  if (!info) return std::unexpected(std::move(info.error()));
  auto self = os::Stat("/proc/self");
  if (self && self->user != info->user) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' belongs to another user (uid {}; this process "
                            "has {}); choose one of your own with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir), info->user, self->user));
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

Error WithHint(Error error) {
  if (error.kind == ErrorKind::kPermission) {
    error.message += "; choose another state folder with --state (or SPATE_STATE)";
  }
  return error;
}

Result<os::FileLock> Lock(const std::string& path, uint32_t number) {
  std::string lock_path = path + "/lock";
  auto lock = os::FileLock::TryLock(lock_path, JobOwner::ThisProcess().ToLine());
  if (lock || lock.error().kind != ErrorKind::kBusy) return lock;
  JobOwner owner = JobOwner::FromLine(os::FileLock::LastOwner(lock_path));
  if (owner.pid == 0) {
    return Fail(ErrorKind::kBusy, fmt::format("job {} is in use by another process", number));
  }
  return Fail(ErrorKind::kBusy, fmt::format("job {} is being run by process {} on {}", number,
                                            owner.pid, EscapeForScreen(owner.host)));
}

Status EmptySpool(const std::string& spool) {
  if (auto removed = os::RemoveTree(spool); !removed) return removed;
  return os::MakeDir(spool, 0700);
}

// Renames and removes a folder whose lock is held.
Status RemoveLocked(const std::string& path, uint32_t number) {
  std::string aside =
      fmt::format("{}/{}{}-{}", os::DirName(path), kForgotten, number, JobOwner::ThisProcess().pid);
  if (auto renamed = os::Rename(path, aside); !renamed) return renamed;
  return os::RemoveTree(aside);
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

Result<JobDir> JobDir::Create(const std::string& state_dir, const JobDirOptions& options) {
  if (auto checked = CheckFileSystem(state_dir, options); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  std::string jobs = JobsPath(state_dir);
  if (os::Exists(state_dir)) {
    if (auto checked = CheckOwnerAndSpace(state_dir); !checked) {
      return std::unexpected(std::move(checked.error()));
    }
  }
  // Commands may hold secrets: the history is for its owner.
  if (auto made = os::MakeDirs(jobs, 0700); !made) {
    return std::unexpected(WithHint(std::move(made.error())));
  }
  if (auto checked = CheckOwnerAndSpace(state_dir); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  auto numbers = JobNumbers(state_dir);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  uint32_t number = numbers->empty() ? 1 : numbers->back() + 1;
  std::string path;
  for (;; ++number) {
    path = JobPath(state_dir, number);
    auto made = os::MakeDir(path, 0700);
    if (made) break;
    if (made.error().kind != ErrorKind::kExists) {
      return std::unexpected(WithHint(std::move(made.error())));
    }
  }
  auto lock = Lock(path, number);
  if (!lock) {
    (void)os::RemoveTree(path);
    return std::unexpected(std::move(lock.error()));
  }
  JobDir dir(path, number, std::move(*lock));
  if (auto made = os::MakeDir(dir.SpoolPath(), 0700); !made) {
    (void)dir.Remove();
    return std::unexpected(std::move(made.error()));
  }
  return dir;
}

Result<JobDir> JobDir::Open(const std::string& state_dir, uint32_t number,
                            const JobDirOptions& options) {
  std::string path = JobPath(state_dir, number);
  if (!os::Exists(path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no job {} in '{}'; `spate job list` shows those that are",
                            number, EscapeForScreen(state_dir)));
  }
  if (auto checked = CheckFileSystem(state_dir, options); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  if (auto checked = CheckOwnerAndSpace(state_dir); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  auto lock = Lock(path, number);
  if (!lock) return std::unexpected(WithHint(std::move(lock.error())));
  JobDir dir(path, number, std::move(*lock));
  if (auto emptied = EmptySpool(dir.SpoolPath()); !emptied) {
    return std::unexpected(std::move(emptied.error()));
  }
  return dir;
}

Status JobDir::Remove() { return RemoveLocked(path_, number_); }

std::string JobPath(const std::string& state_dir, uint32_t number) {
  return fmt::format("{}/{}", JobsPath(state_dir), number);
}

Result<std::vector<uint32_t>> JobNumbers(const std::string& state_dir) {
  std::vector<uint32_t> numbers;
  auto entries = os::ListDir(JobsPath(state_dir));
  if (!entries) {
    if (entries.error().kind == ErrorKind::kNotFound) return numbers;
    return std::unexpected(std::move(entries.error()));
  }
  for (const os::DirEntry& entry : *entries) {
    auto number = ParseNumber(entry.name);
    if (number && *number > 0 && *number < UINT32_MAX && entry.kind == os::FileKind::kDir) {
      numbers.push_back(static_cast<uint32_t>(*number));
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::optional<JobOwner>> RunningOwner(const std::string& job_path) {
  std::string lock = job_path + "/lock";
  auto held = os::FileLock::IsHeld(lock);
  if (!held) return std::unexpected(std::move(held.error()));
  if (!*held) return std::nullopt;
  return JobOwner::FromLine(os::FileLock::LastOwner(lock));
}

Status ForgetJob(const std::string& state_dir, uint32_t number) {
  std::string path = JobPath(state_dir, number);
  if (!os::Exists(path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no job {} in '{}'", number, EscapeForScreen(state_dir)));
  }
  auto lock = Lock(path, number);
  if (!lock) return std::unexpected(std::move(lock.error()));
  return RemoveLocked(path, number);
}

void SweepForgotten(const std::string& state_dir) {
  auto entries = os::ListDir(JobsPath(state_dir));
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    // Two sweepers, or a sweeper and the remover, do the same work: harmless.
    if (entry.name.starts_with(kForgotten)) {
      (void)os::RemoveTree(os::JoinPath(JobsPath(state_dir), entry.name));
    }
  }
}

}  // namespace spate::store
