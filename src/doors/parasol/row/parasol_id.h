// Numbers of Parasol's jobs: each is a task of a hub's job.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "core/model/limits.h"

namespace spate::parasol {

inline constexpr uint64_t kParasolIdsOfJob = kLimits.tasks_per_job;

constexpr uint64_t ParasolId(JobId job, TaskIndex task) {
  return uint64_t{job.value} * kParasolIdsOfJob + task;
}
struct ParasolIdParts {
  JobId job;
  TaskIndex task = 0;
};
// Job 0: it is not one of ours.
constexpr ParasolIdParts PartsOfParasolId(uint64_t id) {
  return {JobId(static_cast<uint32_t>(id / kParasolIdsOfJob)),
          static_cast<TaskIndex>(id % kParasolIdsOfJob)};
}

}  // namespace spate::parasol
