#include "store/sqlite/owner_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/thread.h"

namespace spate::store {
namespace {

constexpr size_t kMostBytes = 4096;
// From one look at another machine's file to the next.
constexpr Duration kLookAgain = Duration::Seconds(1);
constexpr std::string_view kBeat = " beat=";

// By the times of two files on the same server, the younger of which was written just now. Some
// file systems take them from the clocks of their clients, which may differ by less than this.
constexpr Duration kLongDead = Duration::Seconds(3600);

std::string PathIn(const std::string& folder) { return folder + "/owner"; }

bool IsLongDead(const std::string& folder) {
  auto now = os::Stat(folder + "/lock");
  auto last = os::Stat(PathIn(folder));
  return now && last && last->modified + kLongDead < now->modified;
}

int64_t Now() { return os::NanosSinceBoot(); }

// Opens the file each time, so that a network file system asks its server.
std::string TextOf(const std::string& path) { return os::ReadFile(path, kMostBytes).value_or(""); }

std::unexpected<Error> Busy(const std::string& path, const JobOwner& owner) {
  return Fail(ErrorKind::kBusy,
              fmt::format("'{}' is held by process {} on {}", EscapeForScreen(path), owner.pid,
                          EscapeForScreen(owner.host)));
}

// True if the owner of `text` gives no sign of life for so long.
bool StaysSilent(const std::string& path, const std::string& text, Duration patience) {
  for (const int64_t end = Now() + patience.ns; Now() < end;) {
    (void)os::WaitReadable(-1, std::min(kLookAgain, patience));
    if (TextOf(path) != text) return false;
  }
  return true;
}

// Two may find the same dead owner: whoever has moved another file than it looked at, gives it
// back.
Status RemoveDead(const std::string& path, const std::string& text) {
  const std::string aside =
      fmt::format("{}.gone-{}-{}", path, JobOwner::ThisProcess().pid, os::MonotonicNanos());
  if (Status moved = os::Rename(path, aside); !moved) {
    return moved.error().kind == ErrorKind::kNotFound ? Status() : moved;
  }
  const std::string found = TextOf(aside);
  if (found == text) return os::RemoveFile(aside);
  TRY(os::Rename(aside, path));
  return Busy(path, JobOwner::FromLine(found));
}

}  // namespace

OwnerFile::OwnerFile(std::string path, OwnerFileOptions options)
    : path_(std::move(path)), options_(std::move(options)), identity_(options_.self.ToLine()) {}

std::string OwnerFile::Line(uint64_t beat) const {
  return fmt::format("{}{}{:010}\n", identity_, kBeat, beat);
}

Status OwnerFile::Make() {
  auto fd = TRY(os::OpenWrite(path_, os::OpenHow::kCreateNew, 0600));
  const int64_t begun = Now();
  Status written = os::WriteAll(fd.get(), Line(0), path_);
  if (written) written = os::Fsync(fd.get(), path_);
  if (!written) {
    (void)os::RemoveFile(path_);  // half of it would name nobody
    return written;
  }
  last_beat_ = begun;
  sync_time_ = {Now() - begun};
  return {};
}

Result<std::shared_ptr<OwnerFile>> OwnerFile::Acquire(const std::string& folder,
                                                      OwnerFileOptions options) {
  std::shared_ptr<OwnerFile> file(new OwnerFile(PathIn(folder), std::move(options)));
  const OwnerFileOptions& how = file->options_;
  for (;;) {
    Status made = file->Make();
    if (made) break;
    if (made.error().kind != ErrorKind::kExists) return std::unexpected(std::move(made.error()));
    const std::string text = TextOf(file->path_);
    const JobOwner owner = JobOwner::FromLine(text);
    if (owner.boot != how.self.boot && !IsLongDead(folder)) {
      if (how.patience == Duration()) return Busy(file->path_, owner);
      if (how.waiting) how.waiting(owner);
      if (!StaysSilent(file->path_, text, how.patience)) {
        if (!os::Exists(file->path_)) continue;  // it has ended
        return Busy(file->path_, JobOwner::FromLine(TextOf(file->path_)));
      }
    }
    TRY(RemoveDead(file->path_, text));
  }
  file->thread_ = os::ThreadWithoutSignals([file = file.get()] { file->BeatOn(); });
  return file;
}

OwnerFile::~OwnerFile() {
  if (!thread_.joinable()) return;  // never taken
  {
    std::lock_guard lock(stopping_);
    stopped_ = true;
  }
  stop_.notify_all();
  thread_.join();
  if (IsOurs()) (void)os::RemoveFile(path_);
}

void OwnerFile::BeatOn() {
  std::unique_lock lock(stopping_);
  const auto beat = std::chrono::nanoseconds(options_.beat.ns);
  while (!stop_.wait_for(lock, beat, [this] { return stopped_; })) {
    lock.unlock();
    (void)Beat();  // MayWrite tells
    lock.lock();
  }
}

Status OwnerFile::IsOurs() const {
  const std::string text = TRY(os::ReadFile(path_, kMostBytes));
  if (text.starts_with(identity_ + std::string(kBeat))) return {};
  return Busy(path_, JobOwner::FromLine(text));
}

Status OwnerFile::Beat() {
  std::lock_guard lock(writing_);
  const int64_t begun = Now();
  TRY(IsOurs());
  // If another one has just moved it away, it is there again, and that one sees a sign of life.
  auto fd = TRY(os::OpenWrite(path_, os::OpenHow::kReadWrite, 0600));
  TRY(os::WriteAllAt(fd.get(), Line(++beats_), 0, path_));
  TRY(os::Fsync(fd.get(), path_));
  last_beat_ = begun;
  return {};
}

Status OwnerFile::MayWrite() {
  if (Now() - last_beat_ < options_.valid.ns) return {};
  Status beat = Beat();
  if (beat) return {};
  const bool lost =
      beat.error().kind == ErrorKind::kBusy || beat.error().kind == ErrorKind::kNotFound;
  if (!lost) return beat;
  return Fail(ErrorKind::kBusy,
              fmt::format("this process was unresponsive for too long, and another process has "
                          "taken over its folder: {}; unrecorded work continues there",
                          beat.error().message));
}

std::optional<JobOwner> OwnerElsewhere(const std::string& folder) {
  auto text = os::ReadFile(PathIn(folder), kMostBytes);
  if (!text) return std::nullopt;
  JobOwner owner = JobOwner::FromLine(*text);
  if (owner.boot == JobOwner::ThisProcess().boot) return std::nullopt;
  return owner;
}

bool SeemsAlive(const std::string& folder) {
  auto info = os::Stat(PathIn(folder));
  return info && os::Clock().Now() < info->modified + OwnerFile::kPatience;
}

}  // namespace spate::store
