#include "doors/doors.h"

#include <utility>

#include "doors/parasol/hub/parasol_habits.h"
#include "wire/field_bytes.h"

namespace spate::doors {

format::Dialects AllDialects() { return DialectsOfNode({}, ""); }

format::Dialects DialectsOfNode(parasol::NodeTasks tasks, const std::string& bash) {
  format::Dialects dialects(bash);
  parasol::AddDialect(dialects, std::move(tasks));
  return dialects;
}

hub::HabitsByKind AllHabits(const parasol::ParasolSite* site) {
  hub::HabitsByKind habits;
  parasol::AddHabits(habits, site == nullptr ? 0 : site->default_ram);
  return habits;
}

std::string SiteFacts(const parasol::ParasolSite* site) {
  return site == nullptr ? "" : wire::BytesOf(*site);
}

}  // namespace spate::doors
