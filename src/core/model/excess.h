// Use of more than a task asked for: what is done then, and what is told of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/enum_list.h"
#include "core/model/fields.h"

namespace spate {

SPATE_ENUM(Resource, kCpu, "cpu", kMemory, "memory", kProcesses, "processes");

// --on-excess. The numbers are stored; new ones go to the end.
SPATE_ENUM(OnExcess,
    // Memory and processes: kKill. Cpus: use is not compared with the request.
    kUsual, "",
    kWarn, "warn",  // it is told, and the task continues
    kStop, "stop",  // the task is stopped as by `spate job stop`; of cpus it gets no more
    kKill, "kill");

// A running attempt has used more than it asked for.
struct Excess {
  Resource what = Resource::kMemory;
  OnExcess done = OnExcess::kWarn;
  uint64_t used = 0;   // bytes, processes and threads, or thousandths of a cpu
  uint64_t limit = 0;  // likewise
  SPATE_MESSAGE(1, what, 2, done, 3, used, 4, limit);
  friend bool operator==(const Excess&, const Excess&) = default;
};
// "used 3.0 GB of memory, but asked for 2.0 GB"
std::string TextOf(const Excess& excess);
// "2.0 GB of memory", "50 processes", "1.5 cpus"
std::string AmountText(Resource what, uint64_t amount);

// A limit or guarantee of a running attempt, and what holds the attempt to it.
SPATE_ENUM(LimitOf,
    kCpuShare, "cpu share",                // in proportion to its request, while cpus are short
    kCpu, "cpus",
    kMemory, "memory",
    kMemoryGuarantee, "memory guarantee",  // memory that others do not take from it
    kProcesses, "processes",
    kOpenFiles, "open files",
    kCoreSize, "core size",
    kStackSize, "stack size",
    kNice, "niceness");
SPATE_ENUM(LimitBy,
    kNothing, "nothing",  // the node lacks what could enforce it
    kCgroup, "cgroup",    // the kernel, for all processes together
    kWatch, "watch",      // by looks at the processes
    kProcess, "rlimit");  // the kernel, for each process
struct EnforcedLimit {
  LimitOf what = LimitOf::kMemory;
  LimitBy by = LimitBy::kNothing;
  uint64_t most = 0;  // bytes, a count, thousandths of a cpu, or a weight; UINT64_MAX: no bound
  OnExcess on_excess = OnExcess::kUsual;  // kUsual: nothing is done beyond the limit itself
  SPATE_FIELDS(1, what, 2, by, 3, most, 4, on_excess);
  friend bool operator==(const EnforcedLimit&, const EnforcedLimit&) = default;
};

}  // namespace spate
