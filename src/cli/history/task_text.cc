#include "cli/history/task_text.h"

#include <fmt/format.h>

#include "cli/view/json_view.h"
#include "present/text/end_text.h"

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

void AddAttemptFields(present::JsonLine& line, const AttemptFacts& attempt) {
  const AttemptEnd& end = attempt.end;
  line.Number("attempt", end.ref.attempt.value);
  line.Text("verdict", WordOf(attempt.verdict));
  line.Flag("counts", attempt.counts);
  line.Text("cause", WordOf(end.cause)).Number("status", end.status);
  AddEndFields(line, end);
  line.Number("stdout_kept", static_cast<int64_t>(attempt.stdout_kept));
  line.Number("stderr_kept", static_cast<int64_t>(attempt.stderr_kept));
}

void AddTaskFields(present::JsonLine& line, JobId job, const TaskFacts& task) {
  line.Number("job", job.value).Number("task", int64_t{task.index} + 1);
  line.Text("state", StateWord(task));
  line.Number("attempts", task.attempts).Number("tries", task.tries);
  if (!task.name.empty()) present::TextOrBase64(line, "name", task.name);
  present::TextOrBase64(line, "command", task.command);
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
