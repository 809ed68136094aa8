// Lines of tasks in the job lists of a run, for the few tasks that are named to a person.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "core/model/job.h"

namespace spate::cli {

struct WantedPlace {
  TaskIndex index = 0;
  std::string row;  // as it is stored
};

// "jobs.lst:12" for each, with the name as it was typed; empty where that cannot be told: the list
// came from a pipe, or has changed since and does not have such a line, or several. Reads the lists
// again, so it is for the end of a run. Relative names count from `cwd`. `kind` is that of the
// rows; each list ends at the line `until` (of --follow-until), if that is not empty.
std::vector<std::string> PlacesInLists(const std::string& cwd,
                                       const std::vector<std::string>& files,
                                       const std::vector<WantedPlace>& wanted,
                                       RowKind kind = RowKind::kListLine,
                                       std::string_view until = "");

}  // namespace spate::cli
