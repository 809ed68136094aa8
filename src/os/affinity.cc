// The C library's cpu_set_t ends at processor 1023, so the system calls are used as they are.
#include "os/affinity.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <set>

#include "base/number.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr size_t kMostWords = 65536 / kWordBits;
// A process that starts threads all the time is looked at no more often.
constexpr int kMostLooks = 32;
constexpr uint64_t kShortTurn = 100'000;  // nanoseconds, the least that the kernel takes

// The struct of sched_setattr(2); C libraries name it since 2.41 only.
struct Scheduling {
  uint32_t size = sizeof(Scheduling);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // nanoseconds; of an ordinary thread: its slice
  uint64_t deadline = 0;
  uint64_t period = 0;
};

bool g_has_short_turns = false;

bool SetThread(Pid thread, const CpuMask& mask) {
  return syscall(SYS_sched_setaffinity, thread, mask.words.size() * sizeof(unsigned long),
                 mask.words.data()) == 0;
}

// Changes only the slice, and only of an ordinary thread. A kernel without slices reports 0.
bool SetSlice(uint64_t ns) {
  Scheduling now;
  if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return false;
  if (now.policy != SCHED_OTHER || now.runtime == 0) return false;
  now.runtime = ns;
  return syscall(SYS_sched_setattr, 0, &now, 0) == 0;
}

}  // namespace

CpuMask CpuMask::Of(const std::vector<int>& cpus) {
  CpuMask mask;
  for (int cpu : cpus) {
    auto at = static_cast<size_t>(cpu);
    if (mask.words.size() <= at / kWordBits) mask.words.resize(at / kWordBits + 1);
    mask.words[at / kWordBits] |= 1ul << at % kWordBits;
  }
  return mask;
}

CpuMask CpuMask::All() {
  CpuMask mask;
  mask.words.assign(kMostWords, ~0ul);
  return mask;
}

std::vector<int> CpuMask::Cpus() const {
  std::vector<int> cpus;
  for (size_t at = 0; at < words.size() * kWordBits; ++at) {
    if ((words[at / kWordBits] >> at % kWordBits & 1) != 0) cpus.push_back(static_cast<int>(at));
  }
  return cpus;
}

CpuMask AllowedCpus() {
  CpuMask mask;
  mask.words.resize(kMostWords);
  long bytes = syscall(SYS_sched_getaffinity, 0, mask.words.size() * sizeof(unsigned long),
                       mask.words.data());
  mask.words.resize(bytes > 0 ? static_cast<size_t>(bytes) / sizeof(unsigned long) : 0);
  return mask;
}

bool SetAllowedCpus(const CpuMask& mask) { return SetThread(0, mask); }

// A thread has the mask of the one that starts it, so after a look that finds no new thread all
// have it.
Status SetAllowedCpusOf(Pid pid, const CpuMask& mask) {
  std::string folder = "/proc/" + std::to_string(pid) + "/task";
  std::set<Pid> seen;
  for (int look = 0; look < kMostLooks; ++look) {
    auto threads = TRY(ListDir(folder));
    bool found_new = false;
    for (const DirEntry& entry : threads) {
      auto thread = ReadNumber<Pid>(entry.name);
      if (!thread || !seen.insert(*thread).second) continue;
      found_new = true;
      if (!SetThread(*thread, mask) && errno != ESRCH) {
        return FailErrno("set the processors of process " + std::to_string(pid));
      }
    }
    if (!found_new) break;
  }
  return {};
}

bool ResetMemoryPolicy() { return syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0) == 0; }

void TakeShortTurns() { g_has_short_turns = SetSlice(kShortTurn); }

void TakeUsualTurns() {
  if (g_has_short_turns) (void)SetSlice(0);
}

void GiveWay() { (void)setpriority(PRIO_PROCESS, 0, 19); }

}  // namespace spate::os
