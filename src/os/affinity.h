// Which processors the calling thread may run on.
#pragma once

#include <cstdint>
#include <vector>

namespace spate::os {

// As the kernel has it: bit N of the whole is processor N.
struct CpuMask {
  std::vector<unsigned long> words;

  static CpuMask Of(const std::vector<int>& cpus);
  std::vector<int> Cpus() const;  // the numbers of its processors, ascending
  friend bool operator==(const CpuMask&, const CpuMask&) = default;
};

// Empty when the system does not tell.
CpuMask AllowedCpus();
// False when the system refuses. One system call and nothing else: also for a vfork child.
bool SetAllowedCpus(const CpuMask& mask);

}  // namespace spate::os
