// What the history commands say about one task, as fields and as words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/history/call.h"
#include "cli/table/table.h"
#include "cli/view/json_line.h"
#include "core/model/body.h"
#include "format/expand.h"
#include "store/sqlite/history.h"

namespace spate::cli {

// "queued", "running", "succeeded", ...: TaskStateName for people, who know no leases.
const char* StateWord(TaskState state);
Tone ToneOf(TaskState state);

// "12.3"
std::string TaskId(uint32_t job, TaskIndex index);

// The commands of a job's tasks. The history outlives it.
class TaskTexts {
 public:
  TaskTexts(const HistoryCall& call, store::History& history);
  // As it is typed; where the job's settings cannot be read, the row's own text.
  Result<std::string> Command(TaskIndex index, uint16_t slot);
  // Files and checks; nullopt where it cannot be told.
  std::optional<TaskBody> Body(TaskIndex index, uint16_t slot);
  const JobSettings& settings() const { return settings_; }

 private:
  store::History& history_;
  JobSettings settings_;
  std::optional<format::CompiledJob> compiled_;
};

// The keys of an attempt, from "attempt" on.
void AddAttemptFields(JsonLine& line, const store::AttemptEntry& attempt);
// The keys that every line about a task has, from "job" on.
void AddTaskFields(JsonLine& line, uint32_t job, const store::TaskSummary& task,
                   std::string_view command);

// The last attempt's fields, all null before the first end.
void AddLastEndFields(JsonLine& line, const store::TaskSummary& task);

// What the last attempt came to: "exit code 3"; "" before the first end and after a success.
std::string EndText(const store::TaskSummary& task);

}  // namespace spate::cli
