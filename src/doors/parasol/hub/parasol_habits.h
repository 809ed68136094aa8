// A hub's work for Parasol's batches, in addition to its work for all jobs.
#pragma once

#include <cstdint>

#include "hub/job_habits.h"

namespace spate::parasol {

// `default_memory` of a job that does not say, bytes.
void AddHabits(hub::HabitsByKind& habits, uint64_t default_memory);

}  // namespace spate::parasol
