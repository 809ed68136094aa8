#include "view/json_view.h"

#include <fmt/format.h>

#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "view/human_view.h"
#include "view/output_pieces.h"

namespace spate::cli {
namespace {

template <typename... Fields>
present::JsonLine TaskLine(std::string_view type, const AttemptRef& ref, const Fields&... fields) {
  present::JsonLine line = present::TypedLine(type);
  present::AddFields(line, "task", uint64_t{ref.index} + 1, "attempt", ref.attempt, fields...);
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

void AddEndFields(present::JsonLine& line, const AttemptEnd& end, std::string_view user,
                  std::string_view system) {
  using present::OrNull;
  present::AddFields(line, "slot", end.slot, "start", end.start, "wall", end.wall, user, end.user,
                     system, end.system, "peak_memory", end.peak_memory, "memory_source",
                     end.memory_source, "read_bytes", OrNull(end.read_bytes >= 0, end.read_bytes),
                     "written_bytes", OrNull(end.written_bytes >= 0, end.written_bytes),
                     "left_behind", end.left_behind, "note", end.note, "stdout_bytes",
                     end.stdout_total, "stderr_bytes", end.stderr_total, "not_kept", end.not_kept);
}

void JsonView::WriteLine(const present::JsonLine& line) {
  screen_.Write(Stream::kOut, line.Finish());
}

void JsonView::OnStart(const RunStart& start) {
  start_ = start;
  screen_.Write(Stream::kOut, present::JsonOf("run", "job", start.job, "name", start.name, "total",
                                              start.counts.total, "open", start.open, "done_before",
                                              start.counts.succeeded, "resumed", start.resumed,
                                              "slots", start.slots, "time", start.now));
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
  present::JsonLine line = TaskLine("end", end.ref, "verdict", ended.verdict, "cause", end.cause,
                                    "status", end.status, "command", texts_.command(end.ref.index));
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
  using present::OrNull;
  present::JsonLine line;
  if (const auto* started = std::get_if<TaskStarted>(&news)) {
    line = TaskLine("start", started->ref, "slot", started->slot);
  } else if (const auto* slow = std::get_if<TaskSlow>(&news)) {
    line = TaskLine("slow", slow->ref);
  } else if (const auto* exceeded = std::get_if<TaskExceeded>(&news)) {
    line = TaskLine("exceeded", exceeded->ref, "resource", exceeded->excess.what, "action",
                    exceeded->excess.done, "used", exceeded->excess.used, "limit",
                    exceeded->excess.limit);
  } else if (const auto* left = std::get_if<TaskLeftRunning>(&news)) {
    line = TaskLine("left_running", left->ref, "processes", left->processes);
  } else if (const auto* paused = std::get_if<StartsPaused>(&news)) {
    line = present::TypedLine("pause");
    present::AddFields(line, "reason", OrNull(paused->reason));
  } else if (const auto* held = std::get_if<HoldNews>(&news)) {
    held_ = held->reason;
    line = present::TypedLine("held");
    present::AddFields(line, "reason", held->reason, "running", held->running);
  } else if (const auto* total = std::get_if<TotalChanged>(&news)) {
    line = present::TypedLine("total");
    present::AddFields(line, "total", total->total, "open", total->open);
  } else if (const auto* remark = std::get_if<Remark>(&news)) {
    line = present::TypedLine("message");
    present::AddFields(line, "error", remark->is_error, "text", remark->text);
    if (remark->is_error) {
      screen_.Write(Stream::kErr, fmt::format("spate: {}\n", EscapeLines(remark->text)));
    }
  }
  line.Seconds("time", now.seconds());
  WriteLine(line);
}

void JsonView::OnFinish(const RunFinish& finish) {
  using present::OrNull;
  if (finish.how == RunEnd::kOutputClosed) return;
  const JobCounts& counts = finish.counts;
  HintContext hints = options_.hints;
  hints.job = start_.job;
  hints.held = held_;
  bool goes_on = hints.on_hub && held_ == engine::HoldReason::kNone;
  const bool fails = counts.failed + counts.unknown > 0;
  const bool waits = counts.queued + counts.leased > 0 && !goes_on;
  const bool released = hints.on_hub || held_ == engine::HoldReason::kMaxFailures;
  auto command = [&](bool helps, auto text) { return helps ? OrNull(text()) : std::nullopt; };
  screen_.Write(
      Stream::kOut,
      present::JsonOf(
          "finish", "job", start_.job, "how", EndName(finish.how), "total", counts.total,
          "succeeded", counts.succeeded, "failed", counts.failed, "unknown", counts.unknown,
          "cancelled", counts.cancelled, "not_done", uint64_t{counts.queued} + counts.leased,
          "tried_again", totals_.tried_again, "wall", finish.now - start_.now, "cpu", totals_.cpu,
          "peak_memory", totals_.peak_memory, "retry_command",
          command(fails, [&] { return RetryCommand(hints); }), "resume_command",
          command(waits, [&] { return released ? ReleaseCommand(hints) : ResumeCommand(hints); }),
          "blamed", finish.blamed, "retry_elsewhere_command",
          command(!finish.blamed.empty(),
                  [&] { return RetryElsewhereCommand(hints, finish.blamed); }),
          "time", finish.now));
}

}  // namespace spate::cli
