// The C library's cpu_set_t ends at processor 1023, so the system calls are used as they are.
#include "os/affinity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace spate::os {
namespace {

constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr size_t kMostWords = 65536 / kWordBits;

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

bool SetAllowedCpus(const CpuMask& mask) {
  return syscall(SYS_sched_setaffinity, 0, mask.words.size() * sizeof(unsigned long),
                 mask.words.data()) == 0;
}

}  // namespace spate::os
