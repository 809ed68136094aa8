// HubScan: what a hub reads of its journal when it starts. Damage of one job does not keep the
// others from running: such a job is set aside, and none of its records reaches the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/ids.h"
#include "core/engine/record.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_spans.h"

namespace spate::store {

struct HubScan {
  std::map<JobId, uint64_t> unfinished;  // accepted, with the number of the first record
  std::map<JobId, std::string> damaged;  // set aside, and why; none of them is in `unfinished`
  JobId last_job;                        // the largest number of one that there is
  // Only for replayed jobs:
  std::map<JobId, uint64_t> output;  // where the kept output ends
  SpansOfJobs spans;                 // where the records lie
};

// Reads and checks short columns of all jobs, and none of the texts: these are when they are used.
// 1 us for each job. kCorrupt: the table itself is damaged.
Result<HubScan> ScanJobs(Database& db);

// Visits the records of unfinished jobs and those of no job, in order. All rows from the first of
// them on are read and checked, since damage may hide whose a row is. When one of an unfinished job
// is damaged, or missing, the job moves to `damaged`; true then: the caller has been told of
// records that belong to such a job, and begins again with a fresh state. A number that is missing
// without a trace may have been any job's: all that had begun are set aside.
// kCorrupt: a table itself is damaged, or a record that belongs to no job.
Result<bool> ReplayHub(Database& db, HubScan& scan,
                       const std::function<void(const engine::Record&)>& visit);

}  // namespace spate::store
