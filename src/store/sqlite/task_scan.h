// TaskScan: where every task of a job stands, from one pass over its journal.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
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

using spate::JobStatistics;

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
