#include "doors/parasol/hub/parasol_habits.h"

namespace spate::parasol {

void AddHabits(hub::HabitsByKind& habits, uint64_t default_memory) {
  habits[RowKind::kParasol] = {
      .grows_by_name = true,
      .when_all_fail =
          "Sick batch! Correct the problem, and then: para clearSickNodes, or parasol "
          "-results=FILE clear sick",
      .default_memory = default_memory,
      .pause_despite_success = true,
      .public_tasks = true};
}

}  // namespace spate::parasol
