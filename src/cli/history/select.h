// Which jobs and tasks the words of a command name. An error says what there is instead.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/history/call.h"
#include "format/selector/selector.h"
#include "store/sqlite/history.h"

namespace spate::cli {

// Jobs that there are, ascending; those that were never accepted are among them.
Result<std::vector<uint32_t>> AllJobs(HistoryCall& call);

// The jobs named by `words` ("last" when there are none), ascending, each once. A number that is
// typed and not there is an error; a range need only touch one.
Result<std::vector<uint32_t>> PickJobs(HistoryCall& call, std::span<const std::string> words);

struct PickedTasks {
  uint32_t job = 0;
  bool all = false;
  std::vector<NumberRange> ranges;
};
// The same where words may name tasks (12.3-9); one entry for each job, in the order typed.
Result<std::vector<PickedTasks>> PickTasks(HistoryCall& call, std::span<const std::string> words);

// Tasks of an opened job by index, until `visit` returns false. kNotFound when a range touches no
// task. `states` as in store::TaskFilter.
Status VisitTasks(store::History& history, const PickedTasks& picked, uint32_t states,
                  const std::function<bool(const store::TaskSummary&)>& visit);

// --filter of tasks: store::TaskFilter::states; all of them when it is not given.
Result<uint32_t> TaskStatesOf(const Words& words);

}  // namespace spate::cli
