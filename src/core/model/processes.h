// Processes of running attempts, as their nodes list them when somebody asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/limits.h"
#include "core/model/selection.h"

namespace spate {

// The kernel's word for it, but for `frozen`: its attempt is frozen, which the kernel does not
// show.
SPATE_ENUM(ProcessState,
    kOther, "other",
    kRunning, "running",
    kSleeping, "sleeping",
    kDisk, "disk",        // in a call that cannot be interrupted
    kStopped, "stopped",  // by a signal or a debugger
    kZombie, "zombie",    // it has ended, and its parent has not waited for it
    kFrozen, "frozen");

struct ProcessFacts {
  static constexpr size_t kMostCommand = 1024;
  uint32_t pid = 0;
  uint32_t parent = 0;           // its pid
  uint64_t start = 0;            // clock ticks from the machine's start: with the pid it names one
  std::optional<uint32_t> rank;  // of a gang's process, or that of an MPI launcher of the task
  ProcessState state = ProcessState::kOther;
  Duration cpu;         // user and system time, its own
  uint64_t memory = 0;  // resident bytes
  uint32_t threads = 0;
  Duration elapsed;                    // since its start
  std::string command;                 // its words with blanks between them, or "[NAME]"; any bytes
  std::optional<uint64_t> gpu_memory;  // bytes; nullopt: it uses no GPU, or nobody can tell
  SPATE_FIELDS(1, pid, 2, parent, 3, start, 4, rank, 5, state, 6, cpu, 7, memory, 8, threads,
               9, elapsed, 10, Bound(command, .most = kMostCommand), 11, gpu_memory);
  friend bool operator==(const ProcessFacts&, const ProcessFacts&) = default;
};

// Those of one attempt on one node, parents before their children.
struct AttemptProcesses {
  JobId job;
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string user;  // whose job it is; the hub knows
  std::vector<ProcessFacts> processes;
  SPATE_FIELDS(1, job, 2, task, 3, attempt, 4, user, 5, processes);
  friend bool operator==(const AttemptProcesses&, const AttemptProcesses&) = default;
};

// Answer of one node.
struct NodeProcesses {
  std::string node;
  std::string why;        // it did not answer; empty: it did
  std::string boot;       // another word for each start of its machine
  uint64_t left_out = 0;  // processes for which the answer had no room
  std::vector<AttemptProcesses> attempts;
  SPATE_FIELDS(1, node, 2, why, 3, boot, 4, left_out, 5, attempts);
  friend bool operator==(const NodeProcesses&, const NodeProcesses&) = default;
};

// The question to a node, which its hub alone may ask (node/questions/processes.cc).
struct ReadProcesses {
  static constexpr uint32_t kNumber = 17;
  using Answer = NodeProcesses;
  struct Wanted {
    JobId job;
    std::vector<NumberRange> tasks;  // empty: all
    SPATE_FIELDS(1, job, 2, tasks);
  };
  std::vector<Wanted> jobs;
  uint32_t pid = 0;         // this one alone; 0: all
  uint64_t most_bytes = 0;  // of the answer
  SPATE_FIELDS(1, jobs, 2, pid, 3, most_bytes);
};

}  // namespace spate
