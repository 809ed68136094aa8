// Texts of the history commands about one task, as fields and as words.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "core/model/job_facts.h"
#include "present/json/json_line.h"
#include "present/table/table.h"

namespace spate::cli {

// "queued", "running", "succeeded", ...: words of TaskState for people, who know no leases.
const char* StateWord(TaskState state);
// "withdrawn" of one that its list no longer has.
const char* StateWord(const TaskFacts& task);
present::Tone ToneOf(TaskState state);

// "12.3"
std::string TaskId(JobId job, TaskIndex index);

// The keys of an attempt, from "attempt" on; its processor time has these names.
void AddAttemptFields(present::JsonLine& line, const AttemptFacts& attempt,
                      std::string_view user = "user", std::string_view system = "system");
// The keys that every line about a task has, from "job" on.
void AddTaskFields(present::JsonLine& line, JobId job, const TaskFacts& task);

// The last attempt's fields, all null before the first end.
void AddLastEndFields(present::JsonLine& line, const TaskFacts& task);

// Result of the last attempt: "exit code 3"; "" before the first end and after a success.
std::string EndText(const TaskFacts& task);

}  // namespace spate::cli
