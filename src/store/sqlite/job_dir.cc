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
#include "os/process.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kForgotten = ".forgotten-";

std::string JobsPath(const std::string& state_dir) { return os::JoinPath(state_dir, "jobs"); }

std::optional<uint64_t> NumberOfJob(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// True if a living process holds the folder, so that waiting for the lock is in vain. A process
// that was killed may hold it for a moment longer.
bool IsHeldByTheLiving(const std::string& path) {
  auto owner = RunningOwner(path);
  if (!owner || !*owner || !(*owner)->IsOfThisMachine()) return false;
  auto process = os::InfoOf(static_cast<os::Pid>((*owner)->pid));
  return process && static_cast<int64_t>(process->start_time) == (*owner)->start &&
         process->state != 'Z' && !process->ending;
}

Result<FolderLock> LockJob(const std::string& path, uint32_t number, const StateOptions& options) {
  auto file_system = TRY(NetworkFileSystemOf(path, options));
  if (!IsHeldByTheLiving(path)) {
    auto lock = FolderLock::Acquire(path, file_system, options);
    if (lock || lock.error().kind != ErrorKind::kBusy) return lock;
  }
  JobOwner owner = LastOwner(path);
  if (owner.pid == 0) {
    return Fail(ErrorKind::kBusy, fmt::format("job {} is in use by another process", number));
  }
  return Fail(ErrorKind::kBusy, fmt::format("job {} is being run by process {} on {}", number,
                                            owner.pid, EscapeForScreen(owner.host)));
}

// Renames and removes a folder whose lock is held.
Status RemoveLocked(const std::string& path, uint32_t number) {
  std::string aside =
      fmt::format("{}/{}{}-{}", os::DirName(path), kForgotten, number, JobOwner::ThisProcess().pid);
  TRY(os::Rename(path, aside));
  return os::RemoveTree(aside);
}

}  // namespace

Result<JobDir> JobDir::Create(const std::string& state_dir, const StateOptions& options) {
  TRY(NetworkFileSystemOf(state_dir, options));  // before anything is made
  std::string jobs = JobsPath(state_dir);
  if (os::Exists(state_dir)) {
    TRY(CheckOwnerAndSpace(state_dir));
  }
  // Commands may hold secrets: the history is for its owner.
  if (auto made = os::MakeDirs(jobs, 0700); !made) {
    return std::unexpected(WithStateHint(std::move(made.error())));
  }
  TRY(CheckOwnerAndSpace(state_dir));
  auto numbers = TRY(RunNumbers(state_dir));
  uint32_t number = numbers.empty() ? 1 : numbers.back() + 1;
  std::string path;
  for (;; ++number) {
    path = JobPath(state_dir, number);
    auto made = os::MakeDir(path, 0700);
    if (made) break;
    if (made.error().kind != ErrorKind::kExists) {
      return std::unexpected(WithStateHint(std::move(made.error())));
    }
  }
  auto lock = LockJob(path, number, options);
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
                            const StateOptions& options) {
  std::string path = JobPath(state_dir, number);
  if (!os::Exists(path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("no job {} in '{}'", number, EscapeForScreen(state_dir)),
                SeeAlso("job list", "--state", state_dir));
  }
  TRY(CheckOwnerAndSpace(state_dir));
  auto lock = LockJob(path, number, options);
  if (!lock) return std::unexpected(WithStateHint(std::move(lock.error())));
  JobDir dir(path, number, std::move(*lock));
  TRY(TakeOver(dir.place()));
  TRY(EmptySpool(dir.SpoolPath()));
  return dir;
}

Status JobDir::Remove() { return RemoveLocked(path_, number_); }

std::string JobPath(const std::string& state_dir, uint32_t number) {
  return fmt::format("{}/{}", JobsPath(state_dir), number);
}

Result<std::vector<uint32_t>> RunNumbers(const std::string& state_dir) {
  std::vector<uint32_t> numbers;
  auto entries = os::ListDir(JobsPath(state_dir));
  if (!entries) {
    if (entries.error().kind == ErrorKind::kNotFound) return numbers;
    return std::unexpected(std::move(entries.error()));
  }
  for (const os::DirEntry& entry : *entries) {
    auto number = NumberOfJob(entry.name);
    if (number && *number > 0 && *number < UINT32_MAX && entry.kind == os::FileKind::kDir) {
      numbers.push_back(static_cast<uint32_t>(*number));
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

Status ForgetJob(const std::string& state_dir, uint32_t number) {
  std::string path = JobPath(state_dir, number);
  if (!os::Exists(path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("no job {} in '{}'", number, EscapeForScreen(state_dir)));
  }
  auto lock = TRY(LockJob(path, number, {}));
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
