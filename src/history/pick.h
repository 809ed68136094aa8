// Jobs and tasks that a question names. An error says what there is instead.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "core/model/selection.h"
#include "history/source.h"
#include "store/history.h"
#include "wire/questions.h"

namespace spate::history {

// Jobs that there are, ascending; those that were never accepted are among them.
Result<std::vector<uint32_t>> AllJobs(const Source& source);
// Returns the newest `most` jobs of a hub, or all runs.
Result<store::NewestJobs> NewestJobs(const Source& source, size_t most);

// The jobs that are named (the newest when none are), ascending, each once. A number that is named
// and not there is an error; a range need only touch one. What the viewer may not see is passed
// over, unless it is named by its number alone, or `hidden_too`.
Result<std::vector<uint32_t>> PickJobs(const Source& source, const JobSelector& named,
                                       bool hidden_too = false);

struct PickedTasks {
  uint32_t job = 0;
  bool all = false;
  std::vector<NumberRange> ranges;
};
// One entry for each job, in the order of naming. Numbers and names become ranges of numbers;
// kInvalid: a number, or range, is also the name of a task that it does not mean.
Result<std::vector<PickedTasks>> PickTasks(const Source& source,
                                           const std::vector<wire::TaskPick>& named);

// Tasks of an opened job by index, until `visit` returns false; of those that have left its list
// only what is named by number. kNotFound when a range touches no task. `states` as in
// store::TaskFilter.
Status VisitTasks(store::JobJournal& history, const PickedTasks& picked, uint32_t states,
                  const std::function<bool(const store::TaskSummary&)>& visit);

}  // namespace spate::history
