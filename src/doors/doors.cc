#include "doors/doors.h"

#include <utility>

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
  habits[RowKind::kParasol] = {
      .grows_by_name = true,
      .when_all_fail =
          "Sick batch! Correct the problem, and then: para clearSickNodes, or parasol "
          "-results=FILE clear sick",
      .default_memory = site == nullptr ? 0 : site->default_ram,
      .pause_despite_success = true,
      .public_tasks = true};
  return habits;
}

std::string SiteFacts(const parasol::ParasolSite* site) {
  return site == nullptr ? "" : wire::BytesOf(*site);
}

}  // namespace spate::doors
