// A thread's processors, its scheduling, and where its memory comes from.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "os/process.h"

namespace spate::os {

// The kernel's form: bit N of the whole is processor N.
struct CpuMask {
  std::vector<unsigned long> words;

  static CpuMask Of(const std::vector<int>& cpus);
  // All there could be. To set it is to clear an affinity: the system leaves out those that the
  // cpuset of the process does not have.
  static CpuMask All();
  std::vector<int> Cpus() const;  // the numbers of its processors, ascending
  friend bool operator==(const CpuMask&, const CpuMask&) = default;
};

// Processors of the calling thread; empty when the system does not tell.
CpuMask AllowedCpus();
// For the calling thread, and what it starts from now on. False, with errno, when the system
// refuses. One system call and nothing else: also for a vfork child.
bool SetAllowedCpus(const CpuMask& mask);
// For all threads of another process, not for its children. kNotFound: it has ended.
Status SetAllowedCpusOf(Pid pid, const CpuMask& mask);
// New memory of the calling thread, and of what it starts, comes from the node it runs on: undoes
// what numactl or a launcher asked for. False, with errno, when the system refuses, which harms
// nothing: containers often forbid it. One system call, as above.
bool ResetMemoryPolicy();

// This process has the processors when no other one wants them, from now on.
void GiveWay();
// This thread, and what it starts, waits less for a processor that others keep busy, at the price
// of shorter turns: a slice of 0.1 ms (Linux 6.12; before that, or where it may not, nothing
// changes).
void TakeShortTurns();
// Undoes that in a child, also of vfork: at most two system calls.
void TakeUsualTurns();

}  // namespace spate::os
