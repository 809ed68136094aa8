// The records that pegasus-mpi-cluster writes among the output of its tasks, and Pegasus finds
// there (docs/formats/pmc-records.md). Each is one line, with its newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace spate::pmc {

// How far local time is ahead of UTC, in minutes; west of Greenwich it is negative. It is that of
// the time which it stands beside: a summer has another one.
using UtcOffset = int;

// "2026-11-21T18:56:10.123+01:00".
std::string LocalIsoTime(Instant when, UtcOffset offset);

// One try of a task.
struct ClusterTask {
  std::string_view id;  // of the Pegasus record before the task (format/dag); empty: none
  std::string_view name;
  Instant start;
  UtcOffset offset = 0;
  Duration duration;
  int status = 0;        // as wait(2) gives it
  std::string_view app;  // the first word of its command
  std::string_view host;
  uint32_t slot = 0;  // rank of the worker
  uint32_t cpus = 0;
  uint64_t memory_mb = 0;
};
std::string ClusterTaskRecord(const ClusterTask& task);

// The whole run.
struct ClusterSummary {
  bool ok = false;         // every task has succeeded, now or in an earlier run
  uint64_t tasks = 0;      // of the DAG
  uint64_t submitted = 0;  // tries
  uint64_t succeeded = 0;  // tasks, in this run
  uint64_t failed = 0;     // tries
  Instant start;
  UtcOffset offset = 0;
  Duration duration;
  int64_t pid = 0;       // of the master
  std::string_view app;  // as the program was called
  Duration runtime;      // of all tries
  uint64_t slots = 0;    // workers
  uint64_t cpus = 0;     // of all hosts
};
std::string ClusterSummaryRecord(const ClusterSummary& summary);

}  // namespace spate::pmc
