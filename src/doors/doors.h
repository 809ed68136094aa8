// Parts that the doors add to programs: dialects for those that read rows, habits for hubs.
// The one place that knows all doors (docs/HACKING.md, "Add a door").
#pragma once

#include <string>

#include "doors/parasol/formats/site_facts.h"
#include "doors/parasol/row/parasol_dialect.h"
#include "format/dialect.h"
#include "hub/job_habits.h"

namespace spate::doors {

// For a program that shows what rows say.
format::Dialects AllDialects();
// For a node that runs rows, with the file of bash there.
format::Dialects DialectsOfNode(parasol::NodeTasks tasks, const std::string& bash);
// For a hub; `site` is null unless paraHub started it.
hub::HabitsByKind AllHabits(const parasol::ParasolSite* site);
// The hub's text about the site (HubFacts::site).
std::string SiteFacts(const parasol::ParasolSite* site);

}  // namespace spate::doors
