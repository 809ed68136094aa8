// Checks that tasks added to a job are of the job's kind: a row alone does not say what runs.
#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "core/model/job.h"

namespace spate::hub {

// Rows made with the settings `added` mean the same among those of the job: they are of its kind,
// for its command, with its values. kInvalid: they do not, and what to type instead.
Status CheckSameTasks(JobId job, const JobSettings& settings, const JobSettings& added);

}  // namespace spate::hub
