// The question for the environment of a job's tasks, as it was submitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/model/fields.h"
#include "core/model/selection.h"

namespace spate::wire {

// Asks a hub for the variables of a job (JobSettings::environment). Only the job's owner may: they
// are what is inside its tasks (core/model/visit.h).
struct ReadEnvironment {
  static constexpr uint32_t kNumber = 92;
  TasksOfJob task;  // one of the job
  SPATE_FIELDS(1, task);
  friend bool operator==(const ReadEnvironment&, const ReadEnvironment&) = default;

  struct Answer {
    JobId job;
    std::vector<std::string> environment;  // "NAME=value"
    SPATE_FIELDS(1, job, 2, environment);
    friend bool operator==(const Answer&, const Answer&) = default;
  };
};

}  // namespace spate::wire
