// Jobs and tasks that a question about their life means (spate job stop, kill, set ...).
//
// Thread: the loop's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/selection.h"
#include "hub/answers/answers.h"
#include "hub/answers/pick.h"
#include "hub/jobs.h"

namespace spate::hub {

// The part of one job that a question means.
struct Meant {
  JobId job;
  bool whole = false;
  std::vector<TasksOfJob> named = {};
  Chosen tasks = {};  // unless it is the whole
};

// The jobs, and the tasks of other jobs, that a question means; tasks only if they are queued or
// running, or (`running_only`) running. kInvalid: none of them is. Jobs that have ended are added
// to `ended`.
Result<std::vector<Meant>> PickMeant(Asking& asking, Jobs& jobs, const JobSelector& whole,
                                     const std::vector<TasksOfJob>& tasks, bool running_only,
                                     std::vector<JobId>& ended);
std::string NameOf(JobId job, uint64_t task);  // "12.3"

}  // namespace spate::hub
