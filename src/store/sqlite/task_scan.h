// TaskScan: where every task of a job stands, from one pass over its journal.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

struct TaskStanding {
  TaskState state = TaskState::kQueued;
  uint16_t attempts = 0;   // that have ended; 65535 stands for more
  uint16_t tries = 0;      // of them, those that count
  bool cancelled = false;  // leased, and not to run again (TasksCancelled)
  uint64_t last_seq = 0;   // of the newest ended attempt; 0: none
};

struct JobStatistics {
  uint64_t attempts = 0;
  Duration median_wall;  // of the attempts that succeeded
  Duration total_wall;   // of all attempts
  Duration total_user;
  Duration total_system;
  uint64_t peak_memory = 0;  // of the largest attempt
  TaskIndex peak_task = 0;
  Instant first_start;  // zero: nothing was started
  Instant last_end;
  double tasks_per_second = 0;  // that succeeded, from first_start to last_end
  uint64_t output_bytes = 0;    // kept
};

struct TaskScan {
  std::vector<TaskStanding> tasks;
  JobCounts counts;
  JobStatistics statistics;
  bool open = false;  // more tasks may come (--follow)
};

// About 0.4 us for each attempt. Checks what it decodes, not each row's checksum (CheckJob does).
// `part` is of one job (PartOf).
Result<TaskScan> ScanTasks(Database& db, const JournalPart& part);

}  // namespace spate::store
