// Jobs and tasks that the words of a command name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/words.h"
#include "client/asker.h"
#include "wire/questions.h"

namespace spate::cli {

// All of them together. No words: the newest, which is what an empty selector means to questions.
Result<JobSelector> SelectJobs(std::span<const std::string> words);
// Words with a dot name tasks, others jobs; an element for each word.
Result<std::vector<wire::TaskPick>> SelectTasks(std::span<const std::string> words);
// Puts the numbers of tasks in the place of their names, as whoever is asked knows them. kInvalid:
// a number of a task is the name of another one, too. Asks nothing where whole jobs are named.
Status LookUpNames(client::Asker& asker, std::vector<TasksOfJob>& tasks);
// --timeout; nullopt: there is none.
Result<std::optional<Duration>> TimeoutOf(const Words& words);
// --filter of tasks, as wire::ListTasks::states; all of them when it is not given.
Result<uint32_t> TaskStatesOf(const Words& words);

// --limit; `otherwise` when it is not given.
Result<uint64_t> LimitOf(const Words& words, uint64_t otherwise);

}  // namespace spate::cli
