#include "cli/view/json_view.h"

#include <fmt/format.h>

#include "cli/view/human_view.h"
#include "cli/view/output_pieces.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

void CountOrNull(present::JsonLine& line, std::string_view key, int64_t value) {
  if (value < 0) {
    line.Null(key);
  } else {
    line.Number(key, value);
  }
}

present::JsonLine TaskLine(std::string_view type, const AttemptRef& ref) {
  present::JsonLine line;
  line.Text("type", type).Number("task", int64_t{ref.index} + 1);
  line.Number("attempt", ref.attempt.value);
  return line;
}

const char* EndName(RunEnd how) {
  switch (how) {
    case RunEnd::kFinished:
      return "finished";
    case RunEnd::kHalted:
      return "halted";
    case RunEnd::kInterrupted:
      return "interrupted";
    case RunEnd::kOutputClosed:
      return "output-closed";
    case RunEnd::kBroken:
      break;
  }
  return "broken";
}

}  // namespace

void AddEndFields(present::JsonLine& line, const AttemptEnd& end) {
  line.Number("slot", end.slot).Seconds("start", end.start.seconds());
  line.Seconds("wall", end.wall.seconds()).Seconds("user", end.user.seconds());
  line.Seconds("system", end.system.seconds());
  line.Number("peak_memory", static_cast<int64_t>(end.peak_memory));
  line.Text("memory_source", WordOf(end.memory_source));
  CountOrNull(line, "read_bytes", end.read_bytes);
  CountOrNull(line, "written_bytes", end.written_bytes);
  line.Number("left_behind", end.left_behind);
  present::TextOrBase64(line, "note", end.note);
  line.Number("stdout_bytes", static_cast<int64_t>(end.stdout_total));
  line.Number("stderr_bytes", static_cast<int64_t>(end.stderr_total));
  line.Text("not_kept", WordOf(end.not_kept));
}

void JsonView::WriteLine(const present::JsonLine& line) {
  screen_.Write(Stream::kOut, line.Finish());
}

void JsonView::OnStart(const RunStart& start) {
  start_ = start;
  present::JsonLine line;
  line.Text("type", "run").Number("v", present::kJsonVersion).Number("job", start.job.value);
  present::TextOrBase64(line, "name", start.name);
  line.Number("total", start.counts.total).Flag("open", start.open);
  line.Number("done_before", start.counts.succeeded).Flag("resumed", start.resumed);
  line.Number("slots", start.slots).Seconds("time", start.now.seconds());
  WriteLine(line);
}

void JsonView::WriteStream(present::JsonLine& line, std::string_view name,
                           const OutputStream& stream) {
  if (stream.spool.empty()) {
    present::TextOrBase64(line, name, stream.bytes);
    return;
  }
  // A long one: checked in a first reading, escaped into a file in a second.
  present::Utf8Check check;
  auto read = ForEachPiece(stream, 0, [&](std::string_view piece) { check.Feed(piece); });
  auto file = SpillFile::Make(options_.spill_folder);
  Status written = file ? Status() : std::unexpected(file.error());
  present::Base64 encoder;
  auto append = [&](const std::string& text) {
    if (written) written = (*file)->Append(text);
  };
  if (read && written) {
    read = ForEachPiece(stream, 0, [&](std::string_view piece) {
      append(check.valid() ? present::JsonEscaped(piece) : encoder.Feed(piece));
    });
    if (!check.valid()) append(encoder.Finish());
  }
  if (!read || !written) {
    line.Null(name);
    return;
  }
  line.Raw(fmt::format("{}{}", name, check.valid() ? "" : "_base64"), "\"");
  screen_.Write(Stream::kOut, line.DrainText());
  screen_.WriteFile(Stream::kOut, PartOf(*file, 0));
  line.Append("\"");
}

void JsonView::OnEnded(const TaskEnded& ended) {
  const AttemptEnd& end = ended.end;
  totals_.Add(end, ended.verdict);
  present::JsonLine line = TaskLine("end", end.ref);
  line.Text("verdict", WordOf(ended.verdict)).Text("cause", WordOf(end.cause));
  line.Number("status", end.status);
  present::TextOrBase64(line, "command", texts_.command(end.ref.index));
  if (options_.tag) {
    TaskIndex index = end.ref.index;
    std::string values = fmt::format("{}", fmt::join(texts_.values(index), " "));
    present::TextOrBase64(line, "tag", texts_.tag ? texts_.tag(index) : values);
  }
  AddEndFields(line, end);
  if (options_.show_output) {
    static const TaskOutput kNothing;
    const TaskOutput& output = ended.output ? *ended.output : kNothing;
    WriteStream(line, "stdout", output.out);
    WriteStream(line, "stderr", output.err);
  }
  WriteLine(line);
}

void JsonView::OnNews(const News& news, Instant now) {
  const auto* no_longer = std::get_if<TaskLeftRunning>(&news);
  if (no_longer != nullptr && no_longer->processes.empty()) return;
  if (std::holds_alternative<PaceBegins>(news)) return;  // of the bar
  present::JsonLine line;
  if (const auto* started = std::get_if<TaskStarted>(&news)) {
    line = TaskLine("start", started->ref);
    line.Number("slot", started->slot);
  } else if (const auto* slow = std::get_if<TaskSlow>(&news)) {
    line = TaskLine("slow", slow->ref);
  } else if (const auto* left = std::get_if<TaskLeftRunning>(&news)) {
    line = TaskLine("left_running", left->ref);
    present::TextOrBase64(line, "processes", left->processes);
  } else if (const auto* paused = std::get_if<StartsPaused>(&news)) {
    line.Text("type", "pause");
    if (paused->reason.empty()) {
      line.Null("reason");
    } else {
      present::TextOrBase64(line, "reason", paused->reason);
    }
  } else if (const auto* held = std::get_if<HoldNews>(&news)) {
    held_ = held->reason;
    line.Text("type", "held").Text("reason", WordOf(held->reason));
    line.Number("running", held->running);
  } else if (const auto* total = std::get_if<TotalChanged>(&news)) {
    line.Text("type", "total").Number("total", total->total).Flag("open", total->open);
  } else if (const auto* remark = std::get_if<Remark>(&news)) {
    line.Text("type", "message").Flag("error", remark->is_error);
    present::TextOrBase64(line, "text", remark->text);
    if (remark->is_error) {
      screen_.Write(Stream::kErr, fmt::format("spate: {}\n", EscapeLines(remark->text)));
    }
  }
  line.Seconds("time", now.seconds());
  WriteLine(line);
}

void JsonView::OnFinish(const RunFinish& finish) {
  if (finish.how == RunEnd::kOutputClosed) return;
  const JobCounts& counts = finish.counts;
  HintContext hints = options_.hints;
  hints.job = start_.job;
  hints.held = held_;
  bool goes_on = hints.on_hub && held_ == engine::HoldReason::kNone;
  present::JsonLine line;
  line.Text("type", "finish").Number("job", start_.job.value).Text("how", EndName(finish.how));
  line.Number("total", counts.total).Number("succeeded", counts.succeeded);
  line.Number("failed", counts.failed).Number("unknown", counts.unknown);
  line.Number("cancelled", counts.cancelled);
  line.Number("not_done", int64_t{counts.queued} + counts.leased);
  line.Number("tried_again", static_cast<int64_t>(totals_.tried_again));
  line.Seconds("wall", (finish.now - start_.now).seconds());
  line.Seconds("cpu", totals_.cpu.seconds());
  line.Number("peak_memory", static_cast<int64_t>(totals_.peak_memory));
  if (counts.failed + counts.unknown > 0) {
    present::TextOrBase64(line, "retry_command", RetryCommand(hints));
  } else {
    line.Null("retry_command");
  }
  if (counts.queued + counts.leased > 0 && !goes_on) {
    bool released = hints.on_hub || held_ == engine::HoldReason::kMaxFailures;
    present::TextOrBase64(line, "resume_command",
                          released ? ReleaseCommand(hints) : ResumeCommand(hints));
  } else {
    line.Null("resume_command");
  }
  line.Raw("blamed", BlamedJson(finish.blamed));
  if (finish.blamed.empty()) {
    line.Null("retry_elsewhere_command");
  } else {
    present::TextOrBase64(line, "retry_elsewhere_command",
                          RetryElsewhereCommand(hints, finish.blamed));
  }
  line.Seconds("time", finish.now.seconds());
  WriteLine(line);
}

}  // namespace spate::cli
