// Files of cgroup v2: memory.max, memory.peak, memory.current, memory.stat, memory.events,
// cgroup.kill, cgroup.freeze. They are
// opened once; an attempt costs a read and a write, none where there is no controller.
//
// memory.oom.group stays off: it would take the shepherd along. The kernel kills the largest
// process, and the shepherd, told by memory.events, the rest.
//
// Tasks are not put into a cgroup apart from the shepherd's by clone3: that costs each 10 us, and
// since Linux 6.14 a child born into a cgroup that was ever killed, while its parent's was not, is
// killed at once (the kernel compares the counts of kills of the two).
#include "shepherd/slot_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "os/cgroup.h"
#include "os/file.h"

namespace spate::shepherd {
namespace {

os::Fd OpenAt(const os::Fd& folder, const char* name, int how) {
  if (!folder) return {};
  return os::Fd(openat(folder.get(), name, how | O_CLOEXEC));
}

bool WriteTo(const os::Fd& folder, const char* name, std::string_view text) {
  os::Fd fd = OpenAt(folder, name, O_WRONLY);
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string_view ReadFromStart(const os::Fd& fd, char* buffer, size_t size) {
  ssize_t got = pread(fd.get(), buffer, size, 0);
  return got > 0 ? std::string_view(buffer, static_cast<size_t>(got)) : std::string_view();
}

uint64_t NumberIn(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The number in the line that begins with `name`; 0 when there is none.
uint64_t LineOf(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return NumberIn(text.substr(at + name.size()));
  }
  return 0;
}

}  // namespace

SlotCgroup::SlotCgroup(const std::string& folder) : path_(folder) {
  if (path_.empty()) return;
  folder_.Reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!IsHere() && !WriteTo(folder_, "cgroup.procs", "0")) {
    folder_.Reset();
    return;
  }
  kill_ = OpenAt(folder_, "cgroup.kill", O_WRONLY);
  memory_events_ = OpenAt(folder_, "memory.events", O_RDONLY);
  memory_now_ = OpenAt(folder_, "memory.current", O_RDONLY);
  memory_stat_ = OpenAt(folder_, "memory.stat", O_RDONLY);
  memory_peak_ = OpenAt(folder_, "memory.peak", O_RDWR);
  can_reset_peak_ = memory_peak_ && write(memory_peak_.get(), "reset\n", 6) == 6;
  if (!memory_peak_) memory_peak_ = OpenAt(folder_, "memory.peak", O_RDONLY);
}

// The folder's name is enough: the launcher put us there or nobody did.
bool SlotCgroup::IsHere() const {
  auto text = os::ReadFile("/proc/self/cgroup", 1 << 16);
  if (!text) return false;
  size_t at = text->find("0::");
  if (at == text->npos || (at != 0 && (*text)[at - 1] != '\n')) return false;
  std::string_view mine = std::string_view(*text).substr(at + 3);
  mine = mine.substr(0, mine.find('\n'));
  return mine.size() > 1 && path_.ends_with(mine);
}

void SlotCgroup::Begin(uint64_t memory_limit) {
  if (memory_events_ && memory_limit != limit_) {
    std::string text = memory_limit == 0 ? "max" : std::to_string(memory_limit);
    if (WriteTo(folder_, "memory.max", text)) limit_ = memory_limit;
    WriteTo(folder_, "memory.swap.max", memory_limit == 0 ? "max" : "0");
  }
  if (limit_ != 0) oom_kills_before_ = ReadOomKills();
  if (!memory_peak_) return;
  if (can_reset_peak_) {
    can_reset_peak_ = write(memory_peak_.get(), "reset\n", 6) == 6;
  } else {
    char buffer[32];
    peak_before_ = NumberIn(ReadFromStart(memory_peak_, buffer, sizeof buffer));
  }
}

std::optional<uint64_t> SlotCgroup::Peak() {
  if (!memory_peak_) return std::nullopt;
  char buffer[32];
  uint64_t peak = NumberIn(ReadFromStart(memory_peak_, buffer, sizeof buffer));
  if (peak == 0 || (!can_reset_peak_ && peak <= peak_before_)) return std::nullopt;
  return peak;
}

std::optional<uint64_t> SlotCgroup::Used() const {
  if (!memory_now_ || !memory_stat_) return std::nullopt;
  char buffer[32];
  uint64_t now = NumberIn(ReadFromStart(memory_now_, buffer, sizeof buffer));
  return now - std::min(now, Cache());
}

// "file" has shared memory in it, which is no cache: nothing else holds it.
uint64_t SlotCgroup::Cache() const {
  char buffer[8192];
  std::string_view text = ReadFromStart(memory_stat_, buffer, sizeof buffer);
  uint64_t file = LineOf(text, "file ");
  return file - std::min(file, LineOf(text, "shmem "));
}

bool SlotCgroup::WasOutOfMemory() { return limit_ != 0 && ReadOomKills() > oom_kills_before_; }

uint64_t SlotCgroup::ReadOomKills() {
  char buffer[512];
  std::string_view text = ReadFromStart(memory_events_, buffer, sizeof buffer);
  return LineOf(text, "oom_kill ");
}

// cgroup.kill and cgroup.freeze spare nobody, so this process steps aside for a while.
bool SlotCgroup::StepAside() {
  if (frozen_) return true;
  std::string aside = path_ + std::string(os::kAside);
  if (mkdir(aside.c_str(), 0777) != 0 && errno != EEXIST) return false;
  os::Fd folder(open(aside.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return WriteTo(folder, "cgroup.procs", "0");
}

void SlotCgroup::StepBack() {
  if (frozen_) return;
  WriteTo(folder_, "cgroup.procs", "0");
  rmdir((path_ + std::string(os::kAside)).c_str());
}

bool SlotCgroup::KillAll() {
  if (!kill_) return false;
  bool killed = StepAside() && pwrite(kill_.get(), "1", 1, 0) == 1;
  StepBack();
  return killed;
}

bool SlotCgroup::Freeze() {
  if (!folder_ || frozen_) return frozen_;
  bool frozen = StepAside() && WriteTo(folder_, "cgroup.freeze", "1");
  if (!frozen) StepBack();
  frozen_ = frozen;
  return frozen_;
}

void SlotCgroup::Thaw() {
  if (!frozen_) return;
  WriteTo(folder_, "cgroup.freeze", "0");
  frozen_ = false;
  StepBack();
}

}  // namespace spate::shepherd
