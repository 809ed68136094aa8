// JobHabits: what a hub does for the jobs of one kind of rows (RowKind) beside what it does for
// all. A door brings its own, and the main programs hand it to the hub.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/model/job.h"

namespace spate::hub {

struct JobHabits {
  // A submission of a name that is known adds its tasks to that job, also when the job has ended.
  bool grows_by_name = false;
  std::string when_all_fail;    // the answer to who adds to a job that is held because all fail
  uint64_t default_memory = 0;  // of a task that does not say, bytes; 0: none
  bool pause_despite_success = false;  // JobPolicy
  bool public_tasks = false;           // everybody sees its needs and tasks (RowDialect::ArePublic)
};
using HabitsByKind = std::map<RowKind, JobHabits>;

}  // namespace spate::hub
