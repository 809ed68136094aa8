#include "view/task_text.h"

#include <fmt/format.h>

#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "view/json_view.h"

namespace spate::cli {

const char* StateWord(TaskState state) {
  return state == TaskState::kLeased ? "running" : WordOf(state);
}

const char* StateWord(const TaskFacts& task) {
  return task.withdrawn ? "withdrawn" : StateWord(task.state);
}

present::Tone ToneOf(TaskState state) {
  switch (state) {
    case TaskState::kFailed:
      return present::Tone::kBad;
    case TaskState::kUnknown:
    case TaskState::kCancelled:
      return present::Tone::kDoubtful;
    default:
      return present::Tone::kPlain;
  }
}

std::string TaskId(JobId job, TaskIndex index) {
  return fmt::format("{}.{}", job.value, uint64_t{index} + 1);
}

void AddAttemptFields(present::JsonLine& line, const AttemptFacts& attempt, std::string_view user,
                      std::string_view system) {
  const AttemptEnd& end = attempt.end;
  present::AddFields(line, "attempt", end.ref.attempt, "verdict", attempt.verdict, "counts",
                     attempt.counts, "cause", end.cause, "status", end.status);
  AddEndFields(line, end, user, system);
  present::AddFields(line, "stdout_kept", attempt.stdout_kept, "stderr_kept", attempt.stderr_kept);
}

void AddTaskFields(present::JsonLine& line, JobId job, const TaskFacts& task) {
  present::AddFields(line, "job", job, "task", uint64_t{task.index} + 1, "state", StateWord(task),
                     "attempts", task.attempts, "tries", task.tries);
  if (!task.name.empty()) present::AddFields(line, "name", task.name);
  present::AddFields(line, "command", task.command);
}

void AddLastEndFields(present::JsonLine& line, const TaskFacts& task) {
  if (task.last) return AddAttemptFields(line, *task.last);
  for (const char* key :
       {"attempt",    "verdict",       "counts",      "cause",  "status",       "slot",
        "start",      "wall",          "user",        "system", "peak_memory",  "memory_source",
        "read_bytes", "written_bytes", "left_behind", "note",   "stdout_bytes", "stderr_bytes",
        "not_kept",   "stdout_kept",   "stderr_kept"}) {
    line.Null(key);
  }
}

std::string EndText(const TaskFacts& task) {
  if (!task.last || task.last->end.cause == Cause::kSuccess) return "";
  return present::CauseText(task.last->end);
}

}  // namespace spate::cli
