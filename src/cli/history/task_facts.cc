#include "cli/history/task_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/history/job_facts.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

void CountOrNull(JsonLine& line, std::string_view key, int64_t value) {
  if (value < 0) {
    line.Null(key);
  } else {
    line.Number(key, value);
  }
}

}  // namespace

const char* StateWord(TaskState state) {
  return state == TaskState::kLeased ? "running" : TaskStateName(state);
}

Tone ToneOf(TaskState state) {
  switch (state) {
    case TaskState::kFailed:
      return Tone::kBad;
    case TaskState::kUnknown:
    case TaskState::kCancelled:
      return Tone::kDoubtful;
    default:
      return Tone::kPlain;
  }
}

std::string TaskId(uint32_t job, TaskIndex index) {
  return fmt::format("{}.{}", job, uint64_t{index} + 1);
}

TaskTexts::TaskTexts(const HistoryCall& call, store::History& history) : history_(history) {
  auto settings = call.environment().settings(history.summary().row);
  if (!settings) return;
  settings_ = std::move(*settings);
  auto compiled = call.environment().dialects.Compile(settings_, JobId(history.summary().number));
  if (compiled) compiled_ = std::move(*compiled);
}

Result<std::string> TaskTexts::Command(TaskIndex index, uint16_t slot) {
  auto row = history_.RowText(index);
  if (!row) return row;
  if (compiled_) return format::CommandText(*compiled_, *row, index, slot);
  std::ranges::replace(*row, '\0', ' ');
  return row;
}

std::optional<TaskBody> TaskTexts::Body(TaskIndex index, uint16_t slot) {
  auto row = history_.RowText(index);
  if (!row || !compiled_) return std::nullopt;
  auto body = format::Expand(*compiled_, *row, index, slot);
  if (!body) return std::nullopt;
  return std::move(*body);
}

void AddAttemptFields(JsonLine& line, const store::AttemptEntry& attempt) {
  const AttemptEnd& end = attempt.record.end;
  line.Number("attempt", end.ref.attempt.value);
  line.Text("verdict", engine::VerdictName(attempt.record.verdict));
  line.Flag("counts", attempt.record.counts);
  line.Text("cause", CauseName(end.cause)).Number("status", end.status);
  line.Number("slot", end.slot).Seconds("start", end.start.seconds());
  line.Seconds("wall", end.wall.seconds()).Seconds("user", end.user.seconds());
  line.Seconds("system", end.system.seconds());
  line.Number("peak_memory", static_cast<int64_t>(end.peak_memory));
  line.Text("memory_source", MemorySourceName(end.memory_source));
  CountOrNull(line, "read_bytes", end.read_bytes);
  CountOrNull(line, "written_bytes", end.written_bytes);
  line.Number("left_behind", end.left_behind);
  TextOrBase64(line, "note", end.note);
  line.Number("stdout_bytes", static_cast<int64_t>(end.stdout_total));
  line.Number("stderr_bytes", static_cast<int64_t>(end.stderr_total));
  line.Number("stdout_kept", static_cast<int64_t>(attempt.kept.stdout_bytes));
  line.Number("stderr_kept", static_cast<int64_t>(attempt.kept.stderr_bytes));
}

void AddTaskFields(JsonLine& line, uint32_t job, const store::TaskSummary& task,
                   std::string_view command) {
  line.Number("job", job).Number("task", int64_t{task.index} + 1);
  line.Text("state", StateWord(task.state));
  line.Number("attempts", task.attempts).Number("tries", task.tries);
  TextOrBase64(line, "command", command);
}

void AddLastEndFields(JsonLine& line, const store::TaskSummary& task) {
  if (task.last) return AddAttemptFields(line, *task.last);
  for (const char* key :
       {"attempt",     "verdict",       "counts",       "cause",         "status",
        "slot",        "start",         "wall",         "user",          "system",
        "peak_memory", "memory_source", "read_bytes",   "written_bytes", "left_behind",
        "note",        "stdout_bytes",  "stderr_bytes", "stdout_kept",   "stderr_kept"}) {
    line.Null(key);
  }
}

std::string EndText(const store::TaskSummary& task) {
  if (!task.last || task.last->record.end.cause == Cause::kSuccess) return "";
  return CauseText(task.last->record.end);
}

}  // namespace spate::cli
