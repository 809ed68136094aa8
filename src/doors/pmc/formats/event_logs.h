// Logs that tell what becomes of each task (docs/formats/pmc-records.md): jobstate.log,
// DAGFILE.dagman.out and DAGFILE.resource. All texts are whole lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "doors/pmc/formats/records.h"

namespace spate::pmc {

enum class TaskStage { kSubmitted, kStarted, kEnded };

struct TaskEvent {
  Instant when;
  UtcOffset offset = 0;  // for dagman.out
  TaskStage stage = TaskStage::kSubmitted;
  std::string_view task;
  uint64_t number = 0;  // of the submission, from 1: each try has its own
  int status = 0;       // as wait(2) gives it; of kEnded
};

// An end is two lines.
std::string JobstateLines(const TaskEvent& event);
std::string JobstateStart(Instant when);
std::string JobstateEnd(Instant when, bool ok);

// A submission and an end are two lines.
std::string DagmanLines(const TaskEvent& event);
// `dag` is the file name without its folder.
std::string DagmanStart(Instant when, UtcOffset offset, int64_t pid, std::string_view dag);
std::string DagmanEnd(Instant when, UtcOffset offset, int64_t pid, bool ok);

// Free resources of a host.
struct FreeResources {
  std::string_view host;
  uint64_t slots = 0, cpus = 0, memory_mb = 0;
};
std::string ResourceLine(Instant when, const FreeResources& free);

}  // namespace spate::pmc
