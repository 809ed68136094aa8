// Files of cgroup v2: memory.max, memory.oom.group, memory.peak, memory.events, cgroup.kill.
// (Since Linux 6.14 a child that clone3 puts into a cgroup which was ever killed, while its
// parent's was not, is killed at once: the kernel compares the counts of kills of the two. Hence
// Renew.) They are opened once; an attempt costs a read and a write, none where there is no
// controller.
#include "shepherd/slot_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

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

}  // namespace

SlotCgroup::SlotCgroup(const std::string& folder) : path_(folder) {
  if (!path_.empty()) Open();
}

void SlotCgroup::Open() {
  folder_.Reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  kill_ = OpenAt(folder_, "cgroup.kill", O_WRONLY);
  memory_events_ = OpenAt(folder_, "memory.events", O_RDONLY);
  memory_peak_ = OpenAt(folder_, "memory.peak", O_RDWR);
  can_reset_peak_ = memory_peak_ && write(memory_peak_.get(), "reset\n", 6) == 6;
  if (!memory_peak_) memory_peak_ = OpenAt(folder_, "memory.peak", O_RDONLY);
  // The whole attempt goes when the kernel has to end a part of it.
  if (memory_events_) WriteTo(folder_, "memory.oom.group", "1");
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

bool SlotCgroup::WasOutOfMemory() { return limit_ != 0 && ReadOomKills() > oom_kills_before_; }

uint64_t SlotCgroup::ReadOomKills() {
  char buffer[512];
  std::string_view text = ReadFromStart(memory_events_, buffer, sizeof buffer);
  size_t at = text.find("oom_kill ");
  return at == text.npos ? 0 : NumberIn(text.substr(at + 9));
}

bool SlotCgroup::KillAll() {
  if (!kill_ || pwrite(kill_.get(), "1", 1, 0) != 1) return false;
  killed_ = true;
  return true;
}

void SlotCgroup::Renew() {
  if (!killed_) return;
  killed_ = false;
  folder_.Reset();
  kill_.Reset();
  memory_peak_.Reset();
  memory_events_.Reset();
  limit_ = 0;
  can_reset_peak_ = false;
  if (rmdir(path_.c_str()) == 0 && mkdir(path_.c_str(), 0777) == 0) Open();
}

}  // namespace spate::shepherd
