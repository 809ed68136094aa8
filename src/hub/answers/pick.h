// Jobs, tasks and nodes that a question of a caller names. An error says what there is instead.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/selection.h"
#include "hub/caller.h"
#include "hub/jobs.h"
#include "wire/changes.h"

namespace spate::hub {

// The jobs, whoever owns them; some may be there twice.
Result<std::vector<JobId>> NamedJobs(Jobs& jobs, const Caller& caller, const JobSelector& named);
// The jobs, ascending, each once. kPermission: one is another user's. kCorrupt: one is damaged,
// unless `damaged_too`.
Result<std::vector<JobId>> PickJobs(Jobs& jobs, const Caller& caller, const JobSelector& named,
                                    bool damaged_too = false);
// The job of these tasks; errors as of PickJobs.
Result<JobId> PickJob(Jobs& jobs, const Caller& caller, const TasksOfJob& tasks);

// kPermission: the job is another user's. Administrators have no right to what is inside a task:
// its owner's environment, files and memory. `what`: "enter its tasks".
Status CheckIsOwner(const Jobs& jobs, const Caller& caller, JobId job, std::string_view what);

struct Chosen {
  std::vector<TaskRange> tasks;
  uint32_t count = 0;
};
// The tasks of a job that are named and in one of these states.
Chosen Choose(const Jobs& jobs, JobId job, const std::vector<TasksOfJob>& parts,
              std::initializer_list<TaskState> states);

// Changes each of the jobs that has not ended.
wire::JobsChanged ChangeEach(Jobs& jobs, const std::vector<JobId>& picked,
                             const std::function<void(JobId)>& change);

Error UnknownNode(const std::string& name);

}  // namespace spate::hub
