#include "doors/doors.h"

#include <utility>

#include "doors/parasol/hub/para_hub.h"

namespace spate::doors {

format::Dialects AllDialects() { return DialectsOfNode({}); }

format::Dialects DialectsOfNode(parasol::NodeTasks tasks) {
  format::Dialects dialects;
  parasol::AddDialect(dialects, std::move(tasks));
  return dialects;
}

hub::HabitsByKind AllHabits(const parasol::ParasolSite* site) {
  hub::HabitsByKind habits;
  parasol::AddHabits(habits, site == nullptr ? 0 : site->default_ram);
  return habits;
}

}  // namespace spate::doors
