// All about one task: what it is, and every attempt with what it used and left.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/job_words.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "cli/options/words.h"
#include "command/history_call.h"
#include "command/job/job_text.h"
#include "command/task/run_use.h"
#include "command/task/tasks.h"
#include "core/model/gang_end.h"
#include "plan/list_places.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"
#include "present/text/running_text.h"
#include "present/text/size_text.h"
#include "present/text/start_text.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

std::string CheckText(const Check& check) {
  return fmt::format("{} {} {}", check.when == CheckWhen::kIn ? "in" : "out", WordOf(check.kind),
                     check.file);
}

const char* SourceText(MemorySource source) {
  switch (source) {
    case MemorySource::kCgroup:
      return "as measured by its cgroup";
    case MemorySource::kSampled:
      return "sampled; the true peak may be higher";
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
  if (kept < total) text += fmt::format(" (beginning and end kept, {})", FormatSize(kept));
  return text;
}

std::string OutputText(const AttemptFacts& attempt) {
  const AttemptEnd& end = attempt.end;
  std::string text = StreamText("of output", end.stdout_total, attempt.stdout_kept);
  std::string errors = StreamText("of errors", end.stderr_total, attempt.stderr_kept);
  uint64_t kept = attempt.files_kept;
  for (const std::string& more : {errors, StreamText("of files", kept, kept)}) {
    if (!text.empty() && !more.empty()) text += ", ";
    text += more;
  }
  return text.append(present::NotKeptWhy(end.not_kept));
}

// How gangs ended, by attempt: their verdicts are with the parts that ended last.
using DecidedLines = std::map<Attempt, std::string_view>;
DecidedLines DecidedLinesOf(const TaskDetails& at) {
  DecidedLines lines;
  for (const AttemptFacts& each : at.attempts) {
    std::string_view line = DecidedLine(each.end.note);
    if (each.verdict != Verdict::kPart && !line.empty()) lines[each.end.ref.attempt] = line;
  }
  return lines;
}

// True if this part decided the gang's end.
bool Decided(const DecidedLines& decided, const AttemptFacts& part) {
  auto line = decided.find(part.end.ref.attempt);
  return part.verdict == Verdict::kPart && line != decided.end() &&
         line->second.find(fmt::format("on node {} ", part.node)) != std::string_view::npos;
}

// "ranks 4-7 on node n2"; of the part that ended last, where another one decided: "the last part:
// ranks 0-3 on node n1".
std::string PartText(const AttemptFacts& attempt) {
  const auto& processes = attempt.end.processes;
  const std::string_view decided = DecidedLine(attempt.end.note);
  const bool other = !decided.empty() && decided.find(fmt::format("on node {} ", attempt.node)) ==
                                             std::string_view::npos;
  std::string text = other ? "the last part: " : "";
  text += present::RanksText(processes.front().rank,
                             processes.back().rank - processes.front().rank + 1);
  if (!attempt.node.empty()) text += " on node " + attempt.node;
  return text;
}

// Processes of the attempt; of a gang, which may have thousands, only those that failed.
std::vector<std::string> ProcessLines(const AttemptEnd& end) {
  std::vector<std::string> lines;
  const bool of_gang = IsOfGang(end);
  for (const ProcessEnd& process : end.processes) {
    if (!of_gang) {
      lines.push_back(fmt::format("step {} command {}: status {}", process.step + 1,
                                  process.command + 1, process.status));
    } else if (process.status != 0) {
      lines.push_back(fmt::format("rank {}: status {}", process.rank, process.status));
    }
  }
  return lines;
}

// The lines about an attempt, each for a field of its own.
std::vector<std::string> AttemptLines(const HistoryCall& call, const DecidedLines& decided,
                                      const AttemptFacts& attempt) {
  const AttemptEnd& end = attempt.end;
  std::vector<std::string> lines = {AttemptText(attempt)};
  if (Decided(decided, attempt)) lines[0] += ", for which the others were ended";
  if (IsOfGang(end)) lines.push_back(PartText(attempt));
  if (end.slot > 0) {
    const bool names_node = !attempt.node.empty() && !IsOfGang(end);
    lines.push_back(fmt::format("started {} in slot {}{}, took {}", call.FullTimeText(end.start),
                                end.slot, names_node ? " of node " + attempt.node : "",
                                FormatDuration(end.wall)));
    lines.push_back(fmt::format("CPU {} user, {} system", FormatDuration(end.user),
                                FormatDuration(end.system)));
  } else if (!attempt.node.empty() && !IsOfGang(end)) {
    lines.push_back("given to node " + attempt.node);
  }
  if (end.peak_memory > 0) {
    lines.push_back(fmt::format("memory peak {}, {}", FormatSize(end.peak_memory),
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
    lines.push_back(
        end.left_behind == 1
            ? "1 process outlived it and was terminated"
            : fmt::format("{} processes outlived it and were terminated", end.left_behind));
  }
  for (const std::string& line : ProcessLines(end)) lines.push_back(line);
  // Some causes are told with the note.
  bool one_line = end.note.find('\n') == std::string::npos;
  bool told = one_line && lines[0].find(EscapeForScreen(end.note)) != std::string::npos;
  for (size_t from = 0; from < end.note.size() && !told;) {
    size_t stop = std::min(end.note.find('\n', from), end.note.size());
    // The first line has this one.
    if (std::string line = end.note.substr(from, stop - from); DecidedLine(line).empty()) {
      lines.push_back(std::move(line));
    }
    from = stop + 1;
  }
  return lines;
}

// "jobs.lst:5", for a task that failed; empty where that cannot be told.
std::string PlaceOf(const TaskDetails& at) {
  bool failed = at.task.state == TaskState::kFailed || at.task.state == TaskState::kUnknown;
  if (!failed || !at.row || !at.job.files) return "";
  std::string cwd = at.job.cwd.value_or("");
  std::vector<std::string> files;
  for (std::string_view file : *at.job.files) {
    if (file.starts_with(cwd + "/")) file.remove_prefix(cwd.size() + 1);
    files.emplace_back(file);
  }
  auto typed = ParseWords(kRunWords, at.job.argv.value_or(std::vector<std::string>()));
  std::string until(typed ? typed->Last(opt::kFollowUntil).value_or("") : "");
  return PlacesInLists(cwd, files, {{at.task.index, *at.row}}, RowKind::kListLine, until).front();
}

// Processes that tasks wait for after their commands have ended, by job and task number, as the hub
// knows them now. Asked before the tasks are: answers come one question after another.
using LeftRunningTexts = std::map<std::pair<JobId, uint32_t>, std::string>;
LeftRunningTexts AskLeftRunning(HistoryCall& call) {
  LeftRunningTexts texts;
  if (!call.on_hub()) return texts;
  auto tasks = SelectTasks(call.words().words);
  if (!tasks) return texts;
  wire::LookAtJobs question;
  for (const wire::TaskPick& pick : *tasks) {
    question.jobs.all |= pick.jobs.all;
    question.jobs.last |= pick.jobs.last;
    std::ranges::copy(pick.jobs.ranges, std::back_inserter(question.jobs.ranges));
    for (const TasksOfJob& of_job : pick.tasks) {
      if (of_job.job) {
        question.jobs.ranges.push_back({*of_job.job, *of_job.job});
      } else {
        question.jobs.last = true;
      }
    }
  }
  // Facts that the hub cannot tell now are left out.
  (void)call.Query(std::move(question), [&](const wire::JobNow& now) {
    for (const LeftRunningFacts& left : now.left) {
      texts[{now.job, left.task}] =
          present::WaitText("", fmt::format("{} on node {}", left.processes, left.node),
                            ", left running by the command");
    }
  });
  return texts;
}

// Facts of running tasks, by job and task number, as the hub knows them now.
using RunningTasks = std::map<std::pair<JobId, uint32_t>, std::vector<RunningFacts>>;
RunningTasks AskRunning(HistoryCall& call, const std::vector<TaskDetails>& tasks) {
  RunningTasks running;
  wire::ExplainTasks question;
  for (const TaskDetails& at : tasks) {
    if (at.task.state != TaskState::kLeased || at.live) continue;
    const uint32_t number = at.task.index + 1;
    question.tasks.push_back({.job = at.job.job.value, .ranges = {{number, number, 1}}});
  }
  if (!call.on_hub() || question.tasks.empty()) return running;
  (void)call.Query(std::move(question),
                   [&](TaskWhy task) { running[{task.job, task.task}] = std::move(task.running); });
  return running;
}

// Facts beside what the journal has of a task.
struct Around {
  std::string place;                  // in its list, of one that failed
  std::string left;                   // what it waits for
  std::vector<RunningFacts> running;  // where, as a hub knows
  UseAsker* uses = nullptr;
};

void PrintPage(HistoryCall& call, const TaskDetails& at, const Around& around) {
  present::Page page(call.width(), [&](std::string_view text) { call.Write(text); });
  page.Title(fmt::format("task {}  {}", IdOf(at), StateWord(at.task)));
  page.Field("waits for", around.left);
  page.Field("command", at.task.command);
  page.Field("in list", around.place);
  page.Field("folder", at.cwd);
  page.Field("stdin", at.stdin_file);
  page.Field("stdout", at.stdout_file);
  page.Field("stderr", at.stderr_file);
  std::string checks = "checks";
  for (const Check& check : at.checks) page.Field(std::exchange(checks, ""), CheckText(check));
  const TaskClass asks = at.asks.value_or(TaskClass());
  if (at.asks) page.Field("needs", NeedsText(asks.needs));
  if (at.time_limit) page.Field("time limit", FormatDuration(*at.time_limit));
  if (at.resize) page.Field("changed", present::ResizeText(*at.resize));
  page.Field("gang", GangText(asks.gang));
  std::string start = "start";
  for (const std::string& line : StartLinesOf(at, around.running)) {
    page.Field(std::exchange(start, ""), line);
  }
  if (asks.deadline) page.Field("deadline", call.FullTimeText(*asks.deadline));
  page.Field("bound by", WordOf(asks.bound));
  const DecidedLines decided = DecidedLinesOf(at);
  for (const AttemptFacts& attempt : at.attempts) {
    std::string label = fmt::format("attempt {}", attempt.end.ref.attempt.value);
    for (const std::string& line : AttemptLines(call, decided, attempt)) {
      page.Field(label, line);
      label.clear();
    }
  }
  if (at.live) {
    const RunningFacts here{.task = at.task.index + 1, .attempt = at.live->attempt};
    const auto uses = around.uses->Query(at.job.job, {&here, 1});
    page.Field(fmt::format("attempt {}", at.live->attempt),
               fmt::format("running since {} ({}) in slot {} as process {}",
                           call.FullTimeText(at.live->since),
                           FormatDuration(std::max(call.now() - at.live->since, Duration())),
                           at.live->slot, at.live->pid));
    if (!uses.empty() && uses.front()) page.Field("", present::UseText(*uses.front()));
  } else if (!around.running.empty()) {
    std::string label = fmt::format("attempt {}", around.running.front().attempt);
    const auto uses = around.uses->Query(at.job.job, around.running);
    for (const std::string& line : present::RunningLines(around.running, call.now(), false, uses)) {
      page.Field(label, label.empty() ? line : "running " + line);
      label.clear();
    }
  }
  page.Command("why", fmt::format("spate task explain{} {}", call.StateOption(), IdOf(at)));
  if (!at.attempts.empty()) {
    page.Command("to read", fmt::format("spate job cat{} {}", call.StateOption(), IdOf(at)));
  }
}

present::Json NeedsJson(const Needs& needs) {
  present::JsonLine named;
  for (const NamedNeed& need : needs.named) {
    named.Number(present::JsonEscaped(need.name), need.count);
  }
  return present::ObjectOf("cpus", needs.milli_cpus / 1000.0, "memory", needs.memory, "named",
                           present::Json{named.Object()});
}

present::Json CheckJson(const Check& check) {
  return present::ObjectOf("when", check.when == CheckWhen::kIn ? "in" : "out", "kind", check.kind,
                           "file", check.file);
}

present::Json EndJson(const AttemptFacts& attempt) {
  present::JsonLine line;
  AddAttemptFields(line, attempt);
  present::AddFields(line, "node", present::OrNull(attempt.node), "processes",
                     attempt.end.processes);
  return {line.Object()};
}

void PrintJson(HistoryCall& call, const TaskDetails& at, const Around& around) {
  using present::OrNull;
  std::vector<RunningFacts> running = around.running;
  if (at.live) {
    running = {{.task = at.task.index + 1,
                .attempt = at.live->attempt,
                .node = at.job.host.value_or(""),
                .since = at.live->since}};
  }
  present::JsonLine line = present::TypedLine("task");
  AddTaskFields(line, at.job.job, at.task);
  present::AddFields(
      line, "cwd", at.cwd, "place", OrNull(around.place), "left_running", OrNull(around.left),
      "running", present::RunningJson(running, call.now(), around.uses->Query(at.job.job, running)),
      "start_news", present::StartNewsJson(at.story), "stdin_file", OrNull(at.stdin_file),
      "stdout_file", OrNull(at.stdout_file), "stderr_file", OrNull(at.stderr_file), "checks",
      present::ListOf(at.checks, CheckJson), "needs",
      at.asks ? std::optional(NeedsJson(at.asks->needs)) : std::nullopt);
  AddClassFields(line, at.asks.value_or(TaskClass()));
  present::AddFields(line, "time_limit", at.time_limit, "change", at.resize);
  present::AddFields(line, "ends", present::ListOf(at.attempts, EndJson));
  call.Write(line);
}

// Prints tasks in the order in which they are added; asks where they run for many at once.
class InfoPrinter {
 public:
  explicit InfoPrinter(HistoryCall& call)
      : call_(call), uses_(call), lefts_(AskLeftRunning(call)) {}
  void Add(const TaskDetails& at) {
    tasks_.push_back(at);
    if (tasks_.size() == kAskedAtOnce) Flush();
  }
  void Flush() {
    auto running = AskRunning(call_, tasks_);
    for (const TaskDetails& at : std::exchange(tasks_, {})) {
      const std::pair id(at.job.job, at.task.index + 1);
      Around around{.place = places_ < kMostPlaces ? PlaceOf(at) : "", .uses = &uses_};
      if (!around.place.empty()) ++places_;
      if (auto left = lefts_.find(id); left != lefts_.end()) around.left = left->second;
      if (auto runs = running.find(id); runs != running.end()) around.running = runs->second;
      Print(at, around);
    }
  }

 private:
  static constexpr size_t kAskedAtOnce = 100;
  static constexpr int kMostPlaces = 20;  // for each its lists are read

  void Print(const TaskDetails& at, const Around& around) {
    if (!call_.human()) return PrintJson(call_, at, around);
    if (!std::exchange(first_, false)) call_.Write("\n");
    PrintPage(call_, at, around);
  }

  HistoryCall& call_;
  UseAsker uses_;
  const LeftRunningTexts lefts_;
  std::vector<TaskDetails> tasks_;
  int places_ = 0;
  bool first_ = true;
};

Result<int> TaskInfo(HistoryCall& call) {
  InfoPrinter printer(call);
  auto code = ForEachTask(call, [&](const TaskDetails& at) { printer.Add(at); });
  printer.Flush();
  return code;
}

}  // namespace

extern const Command kTaskInfo = {
    .order = 130,
    .group = CommandGroup::kHistory,
    .name = "task info",
    .arguments = "TASK...",
    .completes = Completes::kTasks,
    .summary = "show task details",
    .details =
        "TASK is JOB.INDEX or JOB.NAME: 12.3, 12.3-9, last.align. If a number is also the name of "
        "another task, 12.#3 is the third task and 12.name=3 the task named 3.",
    .examples = {{{"spate task info 12.3", "task 3 of job 12"},
                  {"spate task info last.1", "the first task of the newest job"}}},
    .words_min = 1,
    .options = {{opt::kAboutJobs}},
    .run = LookAtJobs<TaskInfo>,
};

}  // namespace spate::cli::command
