// All about one job: what its row, its journal and its folder tell.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/history/log_facts.h"
#include "cli/history/select.h"
#include "cli/history/state_size.h"
#include "cli/history/task_facts.h"
#include "cli/job/job_verbs.h"
#include "cli/table/page.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

using store::JobStanding;

constexpr size_t kShownValues = 10;
constexpr size_t kShownTasks = 8;      // of one kind of failure
constexpr size_t kShownFailures = 10;  // kinds
constexpr size_t kJsonTasks = 100;

// Tasks that failed in the same way.
struct FailureKind {
  Cause cause = Cause::kExit;
  int32_t status = 0;
  std::string text;
  std::vector<TaskIndex> tasks;
};

// A node that gets nothing more of the job.
struct SetAside {
  std::string node;
  std::string why;
};

struct JobDetails {
  JobFacts facts;
  LogFacts log;
  store::JobStatistics statistics;
  std::vector<FailureKind> failures;  // the most frequent first
  std::vector<SetAside> set_aside;
  uint64_t bytes = 0;  // of its folder
};

Result<std::vector<FailureKind>> FailuresOf(store::History& history) {
  std::map<std::pair<Cause, int32_t>, FailureKind> kinds;
  uint32_t states =
      store::TaskFilter::Bit(TaskState::kFailed) | store::TaskFilter::Bit(TaskState::kUnknown);
  auto visited = history.Tasks({.states = states}, [&](const store::TaskSummary& task) {
    if (!task.last) return true;
    AttemptEnd end = task.last->record.end;
    FailureKind& kind = kinds[{end.cause, end.status}];
    if (kind.tasks.empty()) {
      // Without what differs from task to task.
      end.note.clear();
      end.peak_memory = 0;
      kind = {end.cause, end.status, CauseText(end), {}};
    }
    kind.tasks.push_back(task.index);
    return true;
  });
  if (!visited) return std::unexpected(std::move(visited.error()));
  std::vector<FailureKind> failures;
  for (auto& [key, kind] : kinds) failures.push_back(std::move(kind));
  std::ranges::stable_sort(failures, std::greater<>(),
                           [](const FailureKind& kind) { return kind.tasks.size(); });
  return failures;
}

Result<std::vector<SetAside>> SetAsideOf(store::History& history, const LogFacts& log) {
  std::vector<SetAside> nodes;
  for (const auto& [node, why] : log.set_aside) {
    auto name = history.NodeName(node);
    if (!name) return std::unexpected(std::move(name.error()));
    nodes.push_back({std::move(*name), why});
  }
  return nodes;
}

// A hub writes a job's row about once a second; its journal knows at once whether it is held.
void CorrectStanding(const LogFacts& log, JobStanding& standing) {
  if (log.held != engine::HoldReason::kNone) {
    standing = JobStanding::kHeld;
  } else if (standing == JobStanding::kHeld) {
    standing = JobStanding::kRunning;
  }
}

Result<JobDetails> DetailsOf(const HistoryCall& call, uint32_t number) {
  auto summary = store::SummarizeJob(call.place(), number);
  if (!summary) return std::unexpected(std::move(summary.error()));
  JobDetails details;
  details.bytes = BytesOf(*summary);
  if (summary->standing == JobStanding::kDamaged) {
    details.facts.summary = std::move(*summary);
    return details;
  }
  auto history = call.OpenHistory(number);
  if (!history) return std::unexpected(std::move(history.error()));
  auto facts = FactsOf(call, history->summary());
  if (!facts) return std::unexpected(std::move(facts.error()));
  details.facts = std::move(*facts);
  if (details.facts.summary.standing == JobStanding::kDamaged) return details;
  auto log = ReadLog(*history);
  if (!log) return std::unexpected(std::move(log.error()));
  details.log = std::move(*log);
  auto statistics = history->Statistics();
  if (!statistics) return std::unexpected(std::move(statistics.error()));
  details.statistics = *statistics;
  // A hub's row says what its list says, also between two writes of it.
  if (!call.on_hub()) details.facts.counts = *history->Counts();
  if (call.on_hub() && details.facts.summary.standing != JobStanding::kFinished) {
    CorrectStanding(details.log, details.facts.summary.standing);
    auto set_aside = SetAsideOf(*history, details.log);
    if (!set_aside) return std::unexpected(std::move(set_aside.error()));
    details.set_aside = std::move(*set_aside);
  }
  auto failures = FailuresOf(*history);
  if (!failures) return std::unexpected(std::move(failures.error()));
  details.failures = std::move(*failures);
  return details;
}

// Why a hub's job is held, and since when.
std::string HeldText(const HistoryCall& call, const LogFacts& log) {
  std::string since = log.held_at.ns > 0 ? " since " + call.FullTimeText(log.held_at) : "";
  switch (log.held) {
    case engine::HoldReason::kHaltRule:
      return fmt::format("held{} by --halt", since);
    case engine::HoldReason::kMaxFailures:
      return fmt::format("held{} by --max-failures, until what failed is run again", since);
    case engine::HoldReason::kAllFail:
      return fmt::format(
          "held{}: {} attempts failed one after the other, and none has succeeded on any node",
          since, log.policy.pause_after_failures);
    case engine::HoldReason::kDamaged:
      return fmt::format(
          "held{}: some of it is damaged; the hub's log and, on its machine, spate state check hub "
          "tell what",
          since);
    default:
      return fmt::format("held{} by a person", since);
  }
}

std::string StandingText(const HistoryCall& call, const JobDetails& details) {
  const store::JobSummary& summary = details.facts.summary;
  switch (summary.standing) {
    case JobStanding::kRunning:
      if (summary.place.is_hub) return "running";
      return fmt::format("running, as process {}", summary.owner ? summary.owner->pid : 0);
    case JobStanding::kFinished:
      return "finished";
    case JobStanding::kInterrupted:
      return fmt::format("interrupted: its process {} ended without a word", summary.row.pid);
    case JobStanding::kDamaged:
      return "damaged";
    case JobStanding::kQueued:
      return "queued: nothing of it has been started yet";
    case JobStanding::kHeld:
      return HeldText(call, details.log);
    case JobStanding::kStopped:
      break;
  }
  switch (details.log.held) {
    case engine::HoldReason::kHaltRule:
      return "stopped by --halt before all tasks had ended";
    case engine::HoldReason::kMaxFailures:
      return "stopped by --max-failures before all tasks had ended";
    case engine::HoldReason::kAllFail:
      return "held: its tasks failed one after the other";
    default:
      return "stopped before all tasks had ended";
  }
}

// Why its next task is not started; empty: none waits, or its state has told it.
std::string WhyWaits(const HistoryCall& call, const JobDetails& details) {
  const auto& waits = call.environment().waits;
  auto why = waits.find(details.facts.summary.number);
  bool told = details.facts.summary.standing == JobStanding::kHeld;
  return why == waits.end() || told ? "" : why->second;
}

std::string CountsText(const JobCounts& counts, bool cancels) {
  std::string text = FormatCount(counts.total);
  bool first = true;
  for (auto [count, what] : {std::pair{counts.succeeded, "succeeded"},
                             {counts.failed, "failed"},
                             {counts.unknown, "unknown"},
                             {counts.cancelled, cancels ? "cancelled" : "no longer in the list"},
                             {counts.leased, "running or next"},
                             {counts.queued, "queued"}}) {
    if (count == 0) continue;
    text += fmt::format("{} {} {}", first ? ":" : ",", FormatCount(count), what);
    first = false;
  }
  return text;
}

void PrintWho(const HistoryCall& call, const JobDetails& details, Page& page) {
  const store::JobRow& row = details.facts.summary.row;
  page.Field("command", CommandLineOf(details.facts.summary, kShownValues));
  page.Field("folder", row.cwd);
  for (size_t i = 0; i < row.files.size(); ++i) page.Field(i == 0 ? "lists" : "", row.files[i]);
  std::string who = call.on_hub()
                        ? fmt::format("{} on {}", row.user, row.host)
                        : fmt::format("{} on {}, process {}", row.user, row.host, row.pid);
  if (row.runs > 1) {
    std::string times = row.runs == 2 ? "once" : fmt::format("{} times", row.runs - 1);
    who += fmt::format(" (the job was taken up {})", times);
  }
  page.Field(call.on_hub() ? "sent by" : "run by", who);
  page.Field("created", call.FullTimeText(row.created));
  if (row.runs > 1) page.Field("taken up", call.FullTimeText(row.started));
  if (row.ended) page.Field("ended", call.FullTimeText(*row.ended));
  if (details.facts.took) page.Field("took", FormatDuration(*details.facts.took));
}

void PrintTasks(const HistoryCall& call, const JobDetails& details, Page& page) {
  const JobCounts& counts = details.facts.counts;
  const store::JobStatistics& all = details.statistics;
  page.Field("tasks", CountsText(counts, call.on_hub() || !details.log.cancelled.empty()));
  uint32_t ended = counts.succeeded + counts.failed + counts.unknown;
  if (all.attempts != ended) page.Field("attempts", FormatCount(all.attempts));
  for (size_t i = 0; i < std::min(details.failures.size(), kShownFailures); ++i) {
    const FailureKind& kind = details.failures[i];
    page.Field(i == 0 ? "failures" : "",
               fmt::format("{}: {} ({} {})", FormatCount(kind.tasks.size()), kind.text,
                           kind.tasks.size() == 1 ? "task" : "tasks",
                           TaskNumbersText(kind.tasks, kShownTasks)));
  }
  if (details.failures.size() > kShownFailures) {
    page.Field("", fmt::format("and {} further kinds", details.failures.size() - kShownFailures));
  }
  if (all.attempts == 0) return;
  std::string wall = fmt::format("{} in all", FormatDuration(all.total_wall));
  if (counts.succeeded > 0) {
    wall = fmt::format("median {}, {}", FormatDuration(all.median_wall), wall);
  }
  page.Field("wall time", wall);
  if (all.tasks_per_second > 0) page.Field("rate", BriefRate(all.tasks_per_second));
  page.Field("CPU time", fmt::format("{} user, {} system", FormatDuration(all.total_user),
                                     FormatDuration(all.total_system)));
  if (all.peak_memory > 0) {
    page.Field("memory", fmt::format("peak {} (task {})", FormatSize(all.peak_memory),
                                     uint64_t{all.peak_task} + 1));
  }
  page.Field("output", fmt::format("{} kept", FormatSize(all.output_bytes)));
}

bool CanResume(const JobFacts& facts) {
  return facts.summary.standing == JobStanding::kStopped ||
         facts.summary.standing == JobStanding::kInterrupted;
}

bool CanRetry(const JobFacts& facts) {
  return facts.summary.standing != JobStanding::kRunning &&
         facts.counts.failed + facts.counts.unknown > 0;
}

// Lets a held job go on; empty: it is not held. Released with all its failures, --max-failures
// would hold it again at once.
std::string ReleaseCommand(const HistoryCall& call, const JobDetails& details) {
  if (details.facts.summary.standing != JobStanding::kHeld) return "";
  bool failures = details.log.held == engine::HoldReason::kMaxFailures;
  return fmt::format("spate job {}{} {}", failures ? "retry" : "release", call.StateOption(),
                     details.facts.summary.number);
}

std::string NodeCommand(const SetAside& node) { return "spate node resume " + node.node; }

void PrintSetAside(const HistoryCall& call, const JobDetails& details, Page& page) {
  for (const SetAside& node : details.set_aside) {
    page.Field(&node == details.set_aside.data() ? "set aside" : "",
               fmt::format("{}: {}", node.node, node.why));
  }
  if (!details.set_aside.empty() && !call.environment().viewer.is_admin) {
    page.Field("", "(an administrator of the hub lets nodes be used again)");
  }
}

void PrintNext(const HistoryCall& call, const JobDetails& details, Page& page) {
  const JobFacts& facts = details.facts;
  uint32_t number = facts.summary.number;
  std::string selector = fmt::format("{}", number);
  if (facts.summary.standing == JobStanding::kDamaged) {
    page.Command("to examine", fmt::format("spate state check{} {}", call.StateOption(), number));
    page.Command("to remove", fmt::format("spate job forget{} {}", call.StateOption(), number));
    return;
  }
  if (std::string command = ReleaseCommand(call, details); !command.empty()) {
    page.Command("to go on", command);
  }
  for (const SetAside& node : details.set_aside) {
    page.Command("to use again", NodeCommand(node));
  }
  if (CanResume(facts)) page.Command("to go on", ResumeCommandOf(call, facts.summary.row));
  if (CanRetry(facts)) page.Command("to retry", RetryCommandOf(call, selector));
  if (facts.counts.failed + facts.counts.unknown > 0) {
    page.Command("to see", fmt::format("spate job tasks{} {} --filter failed,unknown",
                                       call.StateOption(), number));
  }
  if (facts.counts.finished() > 0) {
    page.Command("to read", fmt::format("spate job cat{} {}", call.StateOption(), number));
  }
}

void PrintPage(HistoryCall& call, const JobDetails& details) {
  const store::JobSummary& summary = details.facts.summary;
  Page page(call.width(), [&](std::string_view text) { call.Put(text); });
  page.Title(fmt::format("job {}  {}", summary.number, NameOf(summary.row)));
  page.Field("state", StandingText(call, details));
  if (std::string why = WhyWaits(call, details); !why.empty()) page.Field("waits", why);
  if (summary.standing == JobStanding::kDamaged) {
    page.Field("problem", summary.problem);
  } else {
    PrintWho(call, details, page);
    PrintTasks(call, details, page);
    PrintSetAside(call, details, page);
  }
  if (!call.on_hub()) {
    page.Field("kept in", fmt::format("{} ({})", summary.place.folder, FormatSize(details.bytes)));
  }
  PrintNext(call, details, page);
}

std::string FailuresJson(const std::vector<FailureKind>& failures) {
  std::string list;
  for (const FailureKind& kind : failures) {
    std::string tasks;
    for (size_t i = 0; i < std::min(kind.tasks.size(), kJsonTasks); ++i) {
      tasks += fmt::format("{}{}", i == 0 ? "" : ",", uint64_t{kind.tasks[i]} + 1);
    }
    JsonLine line;
    line.Text("cause", CauseName(kind.cause)).Number("status", kind.status);
    line.Number("count", static_cast<int64_t>(kind.tasks.size())).Raw("tasks", "[" + tasks + "]");
    std::string text = line.Finish();
    text.pop_back();
    list += (list.empty() ? "" : ",") + text;
  }
  return "[" + list + "]";
}

std::string SetAsideJson(const std::vector<SetAside>& nodes) {
  std::string list;
  for (const SetAside& node : nodes) {
    JsonLine line;
    TextOrBase64(line, "node", node.node);
    TextOrBase64(line, "why", node.why);
    TextOrBase64(line, "command", NodeCommand(node));
    std::string text = line.Finish();
    text.pop_back();
    list += (list.empty() ? "" : ",") + text;
  }
  return "[" + list + "]";
}

void AddHeldFields(JsonLine& line, const HistoryCall& call, const JobDetails& details) {
  const LogFacts& log = details.log;
  bool held = log.held != engine::HoldReason::kNone && log.held_at.ns > 0;
  TimeOrNull(line, "held_since", held ? std::optional(log.held_at) : std::nullopt);
  std::string command = ReleaseCommand(call, details);
  if (command.empty()) {
    line.Null("release_command");
  } else {
    line.Text("release_command", command);
  }
  line.Raw("set_aside", SetAsideJson(details.set_aside));
  if (std::string why = WhyWaits(call, details); why.empty()) {
    line.Null("waits");
  } else {
    TextOrBase64(line, "waits", why);
  }
}

void PrintJson(HistoryCall& call, const JobDetails& details) {
  const JobFacts& facts = details.facts;
  const store::JobStatistics& all = details.statistics;
  JsonLine line = TypedLine("job");
  AddJobFields(line, facts);
  line.Text("held", HoldName(details.log.held));
  AddHeldFields(line, call, details);
  line.Number("retries", details.log.policy.retry.retries);
  line.Number("attempts", static_cast<int64_t>(all.attempts));
  line.Raw("failures", FailuresJson(details.failures));
  line.Seconds("median_wall", all.median_wall.seconds());
  line.Seconds("total_wall", all.total_wall.seconds());
  line.Seconds("total_user", all.total_user.seconds());
  line.Seconds("total_system", all.total_system.seconds());
  line.Number("peak_memory", static_cast<int64_t>(all.peak_memory));
  bool started = all.first_start.ns > 0;
  if (all.peak_memory > 0) {
    line.Number("peak_task", int64_t{all.peak_task} + 1);
  } else {
    line.Null("peak_task");
  }
  TimeOrNull(line, "first_start", started ? std::optional(all.first_start) : std::nullopt);
  TimeOrNull(line, "last_end", started ? std::optional(all.last_end) : std::nullopt);
  line.Seconds("tasks_per_second", all.tasks_per_second);
  line.Number("output_kept", static_cast<int64_t>(all.output_bytes));
  line.Number("bytes", static_cast<int64_t>(details.bytes));
  if (CanResume(facts)) {
    TextOrBase64(line, "resume_command", ResumeCommandOf(call, facts.summary.row));
  } else {
    line.Null("resume_command");
  }
  if (CanRetry(facts)) {
    TextOrBase64(line, "retry_command",
                 RetryCommandOf(call, fmt::format("{}", facts.summary.number)));
  } else {
    line.Null("retry_command");
  }
  call.Put(line);
}

}  // namespace

Result<int> JobInfo(HistoryCall& call) {
  auto numbers = PickJobs(call, call.words().words);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  bool first = true;
  for (uint32_t number : *numbers) {
    if (call.form() == OutputForm::kQuiet) {
      call.Put(fmt::format("{}\n", number));
      continue;
    }
    auto details = DetailsOf(call, number);
    if (!details) {
      bool never = details.error().kind == ErrorKind::kNotFound && numbers->size() > 1;
      if (never) continue;  // never accepted; one of several
      return std::unexpected(std::move(details.error()));
    }
    if (call.human()) {
      if (!std::exchange(first, false)) call.Put("\n");
      PrintPage(call, *details);
    } else {
      PrintJson(call, *details);
    }
  }
  return kExitSuccess;
}

}  // namespace spate::cli
