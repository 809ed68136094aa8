// Outputs that finished tasks should have left.
#pragma once

#include <vector>

#include "core/model/job.h"
#include "run/prepared_job.h"

namespace spate::run {

// Reports the files that {check out} of succeeded tasks names and that do not exist, with the
// command that runs these tasks again. Passes over tasks in `leaving`, which is normalized. Looks
// at a bounded number of files, and says nothing where a file server does not answer.
void TellMissingOutputs(PreparedJob& job, const std::vector<TaskRange>& leaving);

}  // namespace spate::run
