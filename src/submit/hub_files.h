// Files that go to tasks on nodes, and come back from them: the client's side.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/main.h"
#include "client/hub_call.h"
#include "core/model/job.h"
#include "plan/task_list.h"
#include "submit/hub_submit.h"

namespace spate::submit {

// Reads the files that --put names for any of the tasks, below the job's folder, and notes them in
// the settings. The pieces of their contents, each content once. Errors (kInvalid, and those of
// the files) name the file. After CheckTaskFiles.
Result<std::vector<std::string>> ReadFiles(const cli::TaskList& tasks, JobSettings& settings);

// After a job that was waited for: writes what its tasks brought home, below its folder, and
// appends what they forward. `code`, unless that failed or the job goes on.
Result<int> BringHome(client::HubCall& call, const HubSetting& setting,
                      const Submission& submission, JobId job, int code);

// `spate job get`
int GetFiles(const cli::Invocation& invocation);

}  // namespace spate::submit
