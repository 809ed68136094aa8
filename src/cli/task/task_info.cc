// All about one task: what it is, and every attempt with what it used and left.
#include <fmt/format.h>

#include "base/units.h"
#include "cli/history/job_facts.h"
#include "cli/run/list_places.h"
#include "cli/table/page.h"
#include "cli/task/task_verbs.h"
#include "cli/text/end_text.h"
#include "format/list_line.h"

namespace spate::cli {
namespace {

using store::AttemptEntry;

std::vector<Check> ChecksOf(const TaskAtHand& at) {
  if (at.texts.settings().row_kind != RowKind::kListLine) return {};
  auto row = at.history.RowText(at.task.index);
  if (!row) return {};
  auto line = format::ParseListLine(*row);
  return line ? line->checks : std::vector<Check>();
}

std::string CheckText(const Check& check) {
  return fmt::format("{} {} {}", check.when == CheckWhen::kIn ? "in" : "out",
                     CheckKindName(check.kind), check.file);
}

const char* SourceText(MemorySource source) {
  switch (source) {
    case MemorySource::kCgroup:
      return "as its cgroup counted";
    case MemorySource::kSampled:
      return "sampled, the true peak may be higher";
    case MemorySource::kRusage:
      return "of its largest process";
    case MemorySource::kNone:
      break;
  }
  return "";
}

std::string StreamText(const char* name, uint64_t total, uint64_t kept) {
  if (total == 0) return "";
  std::string text = fmt::format("{} {}", FormatSize(total), name);
  if (kept == 0) return text + " (not kept)";
  if (kept < total) text += fmt::format(" (its ends kept, {})", FormatSize(kept));
  return text;
}

std::string OutputText(const AttemptEntry& attempt) {
  const AttemptEnd& end = attempt.record.end;
  std::string text = StreamText("of output", end.stdout_total, attempt.kept.stdout_bytes);
  std::string errors = StreamText("of errors", end.stderr_total, attempt.kept.stderr_bytes);
  uint64_t kept = attempt.kept.files_bytes;
  for (const std::string& more : {errors, StreamText("of files", kept, kept)}) {
    if (!text.empty() && !more.empty()) text += ", ";
    text += more;
  }
  return text;
}

// The lines about an attempt, each for a field of its own.
std::vector<std::string> AttemptLines(const HistoryCall& call, const AttemptEntry& attempt) {
  const AttemptEnd& end = attempt.record.end;
  std::vector<std::string> lines = {AttemptText(attempt)};
  if (end.slot > 0) {
    lines.push_back(fmt::format("started {} in slot {}, took {}", call.FullTimeText(end.start),
                                end.slot, FormatDuration(end.wall)));
    lines.push_back(fmt::format("CPU {} user, {} system", FormatDuration(end.user),
                                FormatDuration(end.system)));
  }
  if (end.peak_memory > 0) {
    lines.push_back(fmt::format("memory {} at most, {}", FormatSize(end.peak_memory),
                                SourceText(end.memory_source)));
  }
  if (end.read_bytes >= 0 || end.written_bytes >= 0) {
    auto size = [](int64_t bytes) {
      return bytes < 0 ? std::string("?") : FormatSize(static_cast<uint64_t>(bytes));
    };
    lines.push_back(
        fmt::format("I/O {} read, {} written", size(end.read_bytes), size(end.written_bytes)));
  }
  lines.push_back(OutputText(attempt));
  if (end.left_behind > 0) {
    lines.push_back(end.left_behind == 1
                        ? "1 process outlived it and was ended"
                        : fmt::format("{} processes outlived it and were ended", end.left_behind));
  }
  for (const ProcessEnd& process : end.processes) {
    lines.push_back(fmt::format("step {} command {}: status {}", process.step + 1,
                                process.command + 1, process.status));
  }
  // Some causes are told with the note.
  bool one_line = end.note.find('\n') == std::string::npos;
  bool told = one_line && lines[0].find(EscapeForScreen(end.note)) != std::string::npos;
  for (size_t at = 0; at < end.note.size() && !told;) {
    size_t stop = std::min(end.note.find('\n', at), end.note.size());
    lines.push_back(end.note.substr(at, stop - at));
    at = stop + 1;
  }
  return lines;
}

// "jobs.lst:5", for a task that failed; empty where that cannot be told. The lists of a hub's job
// are where its user is, and not for the hub to read.
std::string PlaceOf(const HistoryCall& call, const TaskAtHand& at) {
  bool failed = at.task.state == TaskState::kFailed || at.task.state == TaskState::kUnknown;
  bool listed = at.texts.settings().row_kind == RowKind::kListLine && !call.on_hub();
  if (!failed || !listed) return "";
  const store::JobRow& job = at.history.summary().row;
  auto row = at.history.RowText(at.task.index);
  if (!row) return "";
  std::vector<std::string> files;
  for (std::string_view file : job.files) {
    if (file.starts_with(job.cwd + "/")) file.remove_prefix(job.cwd.size() + 1);
    files.emplace_back(file);
  }
  return PlacesInLists(job.cwd, files, {{at.task.index, std::move(*row)}}).front();
}

void PrintPage(HistoryCall& call, const TaskAtHand& at, const std::string& place) {
  Page page(call.width(), [&](std::string_view text) { call.Put(text); });
  page.Title(fmt::format("task {}  {}", at.id(), StateWord(at.task.state)));
  page.Field("command", at.command);
  page.Field("in list", place);
  page.Field("folder", at.texts.settings().cwd);
  auto body = at.texts.Body(at.task.index, at.task.last ? at.task.last->record.end.slot : 0);
  if (body) {
    page.Field("stdin", body->stdin_file);
    page.Field("stdout", body->stdout_file);
    page.Field("stderr", body->stderr_file);
  }
  std::vector<Check> checks = ChecksOf(at);
  for (size_t i = 0; i < checks.size(); ++i)
    page.Field(i == 0 ? "checks" : "", CheckText(checks[i]));
  if (const Needs* needs = at.log.NeedsOf(at.task.index)) page.Field("needs", NeedsText(*needs));
  for (const AttemptEntry& attempt : at.attempts) {
    std::string label = fmt::format("attempt {}", attempt.record.end.ref.attempt.value);
    for (const std::string& line : AttemptLines(call, attempt)) {
      page.Field(label, line);
      label.clear();
    }
  }
  page.Command("why", fmt::format("spate task explain{} {}", call.StateOption(), at.id()));
  if (!at.attempts.empty()) {
    page.Command("to read", fmt::format("spate job cat{} {}", call.StateOption(), at.id()));
  }
}

// An object without its newline.
std::string Inside(const JsonLine& line) {
  std::string text = line.Finish();
  text.pop_back();
  return text;
}

template <typename T, typename ToJson>
std::string ListOf(const std::vector<T>& values, ToJson to_json) {
  std::string list;
  for (const T& value : values) list += (list.empty() ? "" : ",") + Inside(to_json(value));
  return "[" + list + "]";
}

void AddNeeds(JsonLine& line, const Needs* needs) {
  if (needs == nullptr) {
    line.Null("needs");
    return;
  }
  JsonLine inner;
  inner.Seconds("cpus", needs->milli_cpus / 1000.0);
  inner.Number("memory", static_cast<int64_t>(needs->memory));
  JsonLine named;
  for (const NamedNeed& need : needs->named) named.Number(JsonEscaped(need.name), need.count);
  inner.Raw("named", Inside(named));
  line.Raw("needs", Inside(inner));
}

void PrintJson(HistoryCall& call, const TaskAtHand& at, const std::string& place) {
  JsonLine line = TypedLine("task");
  AddTaskFields(line, at.history.summary().number, at.task, at.command);
  TextOrBase64(line, "cwd", at.texts.settings().cwd);
  if (place.empty()) {
    line.Null("place");
  } else {
    line.Text("place", place);
  }
  auto body = at.texts.Body(at.task.index, at.task.last ? at.task.last->record.end.slot : 0);
  for (const auto& [key, file] : {std::pair{"stdin_file", body ? body->stdin_file : ""},
                                  {"stdout_file", body ? body->stdout_file : ""},
                                  {"stderr_file", body ? body->stderr_file : ""}}) {
    if (file.empty()) {
      line.Null(key);
    } else {
      TextOrBase64(line, key, file);
    }
  }
  line.Raw("checks", ListOf(ChecksOf(at), [](const Check& check) {
             JsonLine inner;
             inner.Text("when", check.when == CheckWhen::kIn ? "in" : "out");
             inner.Text("kind", CheckKindName(check.kind));
             TextOrBase64(inner, "file", check.file);
             return inner;
           }));
  AddNeeds(line, at.log.NeedsOf(at.task.index));
  line.Raw("ends", ListOf(at.attempts, [](const AttemptEntry& attempt) {
             JsonLine inner;
             AddAttemptFields(inner, attempt);
             inner.Raw("processes",
                       ListOf(attempt.record.end.processes, [](const ProcessEnd& process) {
                         JsonLine one;
                         one.Number("step", process.step).Number("command", process.command);
                         one.Number("rank", process.rank).Number("status", process.status);
                         return one;
                       }));
             return inner;
           }));
  call.Put(line);
}

}  // namespace

Result<int> TaskInfo(HistoryCall& call) {
  constexpr int kMostPlaces = 20;  // for each its lists are read
  int places = 0;
  bool first = true;
  return ForEachTask(call, [&](const TaskAtHand& at) {
    std::string place = places < kMostPlaces ? PlaceOf(call, at) : "";
    if (!place.empty()) ++places;
    if (!call.human()) return PrintJson(call, at, place);
    if (!std::exchange(first, false)) call.Put("\n");
    PrintPage(call, at, place);
  });
}

}  // namespace spate::cli
