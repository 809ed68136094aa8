// Disk usage of a job.
#pragma once

#include <cstdint>
#include <string>

#include "store/sqlite/job_list.h"

namespace spate::history {

// Bytes of the files in a run's folder; 0 when it cannot be read.
uint64_t FolderBytes(const std::string& job_path);
// The same of a job; of a hub's job, whose records lie among others', its output.
uint64_t StoredBytes(const store::JobSummary& job);

}  // namespace spate::history
