// All about one job: what its row, its journal and its folder tell.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/retry_options.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_graph.h"
#include "command/job/job_text.h"
#include "command/task/run_use.h"
#include "present/graph/critical_path.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"
#include "present/text/limit_text.h"
#include "present/text/reason_json.h"
#include "present/text/running_text.h"
#include "present/text/size_text.h"
#include "present/text/slowed_text.h"
#include "present/text/start_text.h"
#include "present/why.h"
#include "view/failures.h"
#include "view/summary.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr size_t kShownValues = 10;
constexpr size_t kShownTasks = 8;      // of one kind of failure
constexpr size_t kShownFailures = 10;  // kinds
constexpr uint64_t kJsonTasks = 100;

// By job, why its next task is not started; the hub alone knows.
using JobsNow = std::map<JobId, wire::JobNow>;

// Why a hub's job is held, and since when.
std::string HeldText(const HistoryCall& call, const JobDetails& details) {
  std::string since = details.held_since ? " since " + call.FullTimeText(*details.held_since) : "";
  switch (details.held) {
    case HoldReason::kHaltRule:
      return fmt::format("held{} by --halt", since);
    case HoldReason::kMaxFailures:
      return fmt::format("held{} by --max-failures until the failed tasks are retried", since);
    case HoldReason::kAllFail:
      return fmt::format(
          "held{}: {} attempts in a row have failed, and none has succeeded on any node", since,
          details.policy.pause_after_failures);
    case HoldReason::kDamaged:
      return fmt::format(
          "held{}: part of it is damaged; for details, see the hub's log, or run spate state check "
          "hub on its machine",
          since);
    case HoldReason::kResults:
      return fmt::format("starts no more tasks{} until its program has taken the results that wait",
                         since);
    default:
      return fmt::format("held{} by a user", since);
  }
}

// The reason why a run was stopped.
std::string StoppedText(HoldReason held) {
  if (held == HoldReason::kAllFail) return "held: too many failures in a row without a success";
  const char* by = held == HoldReason::kHaltRule      ? " by --halt"
                   : held == HoldReason::kMaxFailures ? " by --max-failures"
                                                      : "";
  return fmt::format("stopped{} before all tasks had ended", by);
}

std::string StandingText(const HistoryCall& call, const JobDetails& details) {
  const JobStanding standing = details.job.outcome();
  switch (standing) {
    case JobStanding::kRunning:
      if (call.on_hub()) return "running";
      return fmt::format("running, as process {}", details.owner.value_or(0));
    case JobStanding::kFinished:
    case JobStanding::kSucceeded:
    case JobStanding::kFailed:
    case JobStanding::kCancelled:
      return WordOf(standing);
    case JobStanding::kInterrupted:
      return fmt::format("interrupted: its process {} ended unexpectedly",
                         details.job.pid.value_or(0));
    case JobStanding::kDamaged:
      return "damaged";
    case JobStanding::kNewer:
      return "of a newer release of spate";
    case JobStanding::kQueued:
      return "queued: none of its tasks has been started yet";
    case JobStanding::kHeld:
      return HeldText(call, details);
    case JobStanding::kFrozen:
    case JobStanding::kFreezing:
      return fmt::format("{}: stopped{}{}; to continue: spate job cont{} {}", WordOf(standing),
                         details.stop ? " since " + call.FullTimeText(details.stop->at) : "",
                         details.stop && !details.stop->by.empty()
                             ? " by " + EscapeForScreen(details.stop->by)
                             : "",
                         call.StateOption(), details.job.job.value);
    case JobStanding::kStopped:
      break;
  }
  return StoppedText(details.held);
}

const wire::JobNow& NowOf(const JobDetails& details, const JobsNow& now) {
  static const wire::JobNow kUnknown;
  auto known = now.find(details.job.job);
  return known == now.end() ? kUnknown : known->second;
}

// Empty: none waits, or its state has told it.
std::string WhyWaits(const HistoryCall& call, const JobDetails& details, const JobsNow& now) {
  const bool told = details.job.state == JobStanding::kHeld || IsStopped(details.job.state);
  return told ? "" : present::TextOf(NowOf(details, now).waits, call.StateOption());
}

// When the gang of the job's newest story started, as far as it runs.
std::optional<Instant> StartOf(const JobDetails& details, const JobsNow& now) {
  std::optional<Instant> start;
  for (const RunningFacts& part : NowOf(details, now).running) {
    if (part.task == details.story_task) start = std::min(start.value_or(part.since), part.since);
  }
  return start;
}

// Lines of a page: some tasks, and how many more.
void PrintLeftRunning(const std::vector<LeftRunningFacts>& left, present::Page& page) {
  constexpr size_t kMostLeft = 5;
  std::string label = "waits for";
  for (size_t i = 0; i < std::min(left.size(), kMostLeft); ++i) {
    page.Field(std::exchange(label, ""), present::LeftText(left[i]));
  }
  if (left.size() > kMostLeft)
    page.Field("", "and " + present::CountOf(left.size() - kMostLeft, "other task"));
}

std::string CountsText(const JobCounts& counts, bool on_hub) {
  std::string text = FormatCount(counts.total);
  bool first = true;
  for (auto [count, what] : {std::pair{counts.succeeded, "succeeded"},
                             {counts.failed, "failed"},
                             {counts.unknown, "unknown"},
                             {counts.cancelled, "cancelled"},
                             {counts.leased, on_hub ? "running" : "running or next"},
                             {counts.queued, "queued"}}) {
    if (count == 0) continue;
    text += fmt::format("{} {} {}", first ? ":" : ",", FormatCount(count), what);
    first = false;
  }
  return text;
}

// Empty: nothing was left out.
std::string NotPassedText(const std::vector<std::string>& names) {
  constexpr size_t kShownNames = 3;
  if (names.empty()) return "";
  const auto shown = std::span(names).first(std::min(names.size(), kShownNames));
  const size_t more = names.size() - shown.size();
  return fmt::format("{}{} (of the submitter's batch job; each node sets its own)",
                     fmt::join(shown, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void PrintWho(const HistoryCall& call, const JobDetails& details, present::Page& page) {
  const JobFacts& job = details.job;
  page.Field("comment", details.comment);
  if (job.argv) page.Field("command", CommandLineOf(job, call.on_hub(), kShownValues));
  page.Field("folder", job.cwd.value_or(""));
  std::string label = "lists";
  for (const std::string& file : job.files.value_or(std::vector<std::string>())) {
    page.Field(std::exchange(label, ""), file);
  }
  std::string who = fmt::format("{} on {}", job.user, job.host.value_or(""));
  if (!call.on_hub()) who += fmt::format(", process {}", job.pid.value_or(0));
  uint32_t runs = job.runs.value_or(1);
  if (runs > 1) {
    std::string times = runs == 2 ? "once" : fmt::format("{} times", runs - 1);
    who += fmt::format(" (the job was resumed {})", times);
  }
  page.Field(call.on_hub() ? "submitter" : "run by", who);
  page.Field("created", call.FullTimeText(job.created.value_or(Instant())));
  if (runs > 1) page.Field("resumed", call.FullTimeText(job.started.value_or(Instant())));
  if (job.ended) page.Field("ended", call.FullTimeText(*job.ended));
  if (job.took) page.Field("took", FormatDuration(*job.took));
  page.Field("gang", GangText(details.newest.gang));
  if (details.priority != 0) page.Field("priority", fmt::format("{}", details.priority));
  const Duration time = details.newest.needs.time;
  if (time.ns > 0) page.Field("time limit", FormatDuration(time));
  if (details.time_limit) {
    page.Field("changed", "time limit " + FormatDuration(*details.time_limit));
  }
  for (const ChangedTask& task : details.changed) {
    page.Field(&task == details.changed.data() && !details.time_limit ? "changed" : "",
               fmt::format("task {}: {}", task.index + 1, present::ResizeText(task.change)));
  }
  if (const uint64_t more = details.changed_tasks - details.changed.size(); more > 0) {
    page.Field("", fmt::format("and {}", present::CountOf(more, "more running task")));
  }
  if (details.newest.deadline) {
    page.Field("deadline", call.FullTimeText(*details.newest.deadline));
  }
  page.Field("bound by", WordOf(details.newest.bound));
  page.Field("limits", present::LimitsText(details.newest.needs, details.limits));
  page.Field("not passed", NotPassedText(details.foreign));
}

// Empty: tasks are not tried again.
std::string RetriesText(const RetryPolicy& retry) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (retry.elsewhere > 0) add(fmt::format("{} on other nodes", retry.elsewhere));
  if (retry.retries > 0) add(FormatCount(retry.retries));
  if (text.empty()) return "";
  if (retry.retry_on != kAllCauses || !retry.exits.empty()) add("on " + RetryOnText(retry));
  if (retry.delay.ns > 0) add(fmt::format("after {}", FormatDuration(retry.delay)));
  if (retry.memory_growth > 0) {
    add(fmt::format("memory {}{}", GrowthText(retry.memory_growth),
                    retry.max_memory > 0 ? " up to " + FormatSize(retry.max_memory) : ""));
  }
  return text;
}

std::string RetryElsewhereCommandOf(const HistoryCall& call, const JobDetails& details) {
  std::string more;
  for (const BlamedFacts& each : details.blamed) more += " --not-on " + ShellQuote(each.node);
  return RetryCommandOf(call, fmt::format("{}", details.job.job.value)) + more;
}

void PrintBlamed(const JobDetails& details, present::Page& page) {
  for (const BlamedFacts& each : details.blamed) {
    page.Field(&each == details.blamed.data() ? "blame" : "",
               fmt::format("{} of {} failed on {}, where none succeeded", FormatCount(each.failed),
                           present::CountOf(details.job.counts.total, "task"), each.node));
  }
}

void PrintParted(const JobDetails& details, present::Page& page) {
  for (const PartedFacts& each : details.parted) {
    page.Field(
        &each == details.parted.data() ? "kept apart" : "",
        fmt::format("from job {}: {}", each.job.value, present::SlowedText(each, details.job.job)));
  }
}

void PrintTasks(const JobDetails& details, bool on_hub, present::Page& page) {
  const JobCounts& counts = details.job.counts;
  const JobStatistics& all = details.statistics;
  page.Field("tasks", CountsText(counts, on_hub));
  page.Field("cancelled", details.job.why_cancelled.value_or(""));
  if (details.withdrawn > 0) {
    page.Field("withdrawn", fmt::format("{} no longer in the list; not counted",
                                        present::CountOf(details.withdrawn, "task")));
  }
  uint32_t ended = counts.succeeded + counts.failed + counts.unknown;
  if (all.attempts != ended) page.Field("attempts", FormatCount(all.attempts));
  for (size_t i = 0; i < std::min(details.failures.size(), kShownFailures); ++i) {
    const FailureFacts& kind = details.failures[i];
    page.Field(i == 0 ? "failures" : "",
               fmt::format("{}: {} ({} {})", FormatCount(kind.count), present::CauseText(kind.end),
                           kind.count == 1 ? "task" : "tasks",
                           TaskNumbersText(kind.tasks, kind.count, kShownTasks)));
  }
  if (details.failures.size() > kShownFailures) {
    page.Field("", fmt::format("and {} more kinds", details.failures.size() - kShownFailures));
  }
  PrintBlamed(details, page);
  PrintParted(details, page);
  page.Field("retries", RetriesText(details.policy.retry));
  if (all.attempts == 0) return;
  std::string wall = fmt::format("{} in all", FormatDuration(all.total_wall));
  if (counts.succeeded > 0) {
    wall = fmt::format("median {}, {}", FormatDuration(all.median_wall), wall);
  }
  page.Field("wall time", wall);
  if (all.tasks_per_second > 0) page.Field("rate", present::BriefRate(all.tasks_per_second));
  page.Field("CPU time", fmt::format("{} user, {} system", FormatDuration(all.total_user),
                                     FormatDuration(all.total_system)));
  if (all.peak_memory > 0) {
    page.Field("memory", fmt::format("peak {} (task {})", FormatSize(all.peak_memory),
                                     uint64_t{all.peak_task} + 1));
  }
  page.Field("output", fmt::format("{} kept", FormatSize(all.output_bytes)));
  (void)TellNotKept(details.job.job, details.job.not_kept,
                    [&](const std::string& text) { page.Field("", text); });
}

bool CanResume(const JobFacts& job) {
  return job.state == JobStanding::kStopped || job.state == JobStanding::kInterrupted;
}

bool CanRetry(const JobFacts& job) {
  return job.state != JobStanding::kRunning && job.failed() > 0;
}

// Lets a held job go on; empty: it is not held. Released with all its failures, --max-failures
// would hold it again at once.
std::string ReleaseCommand(const HistoryCall& call, const JobDetails& details) {
  if (details.job.state != JobStanding::kHeld || details.held == HoldReason::kResults) return "";
  bool failures = details.held == HoldReason::kMaxFailures;
  return fmt::format("spate job {}{} {}", failures ? "retry" : "release", call.StateOption(),
                     details.job.job.value);
}

std::string NodeCommand(const SetAsideFacts& node) { return "spate node resume " + node.node; }

void PrintSetAside(const JobDetails& details, present::Page& page) {
  for (const SetAsideFacts& node : details.set_aside) {
    page.Field(&node == details.set_aside.data() ? "excluded" : "",
               fmt::format("{}: {}", node.node, node.why));
  }
  if (!details.set_aside.empty() && !details.for_admin) {
    page.Field("", "(only an administrator of the hub can resume nodes)");
  }
}

void PrintNext(const HistoryCall& call, const JobDetails& details, present::Page& page) {
  const JobFacts& job = details.job;
  uint32_t number = job.job.value;
  if (job.state == JobStanding::kNewer) return;
  if (job.state == JobStanding::kDamaged) {
    page.Command("to examine", fmt::format("spate state check{} {}", call.StateOption(), number));
    page.Command("to remove", fmt::format("spate job forget{} {}", call.StateOption(), number));
    return;
  }
  if (std::string command = ReleaseCommand(call, details); !command.empty()) {
    page.Command("to proceed", command);
  }
  for (const SetAsideFacts& node : details.set_aside) {
    page.Command("to include", NodeCommand(node));
  }
  if (CanResume(job)) page.Command("to resume", ResumeCommandOf(call, job));
  if (CanRetry(job) && !details.blamed.empty()) {
    page.Command("elsewhere", RetryElsewhereCommandOf(call, details));
  }
  if (CanRetry(job)) page.Command("to retry", RetryCommandOf(call, fmt::format("{}", number)));
  if (job.failed() > 0) {
    page.Command("to see", fmt::format("spate job tasks{} {} --filter failed,unknown",
                                       call.StateOption(), number));
  }
  if (details.statistics.output_bytes > 0) {
    page.Command("to read", fmt::format("spate job cat{} {}", call.StateOption(), number));
  }
}

// Nothing of a job without edges. What cannot be told is left out.
void PrintGraph(HistoryCall& call, const JobDetails& details, present::Page& page) {
  if (details.edges == 0) return;
  const uint32_t job = details.job.job.value;
  page.Field("graph",
             fmt::format("{} (spate job graph{} {})", present::CountOf(details.edges, "edge"),
                         call.StateOption(), job));
  auto asked = AskGraph(call, JobSelector{.ranges = {{job, job, 1}}});
  if (!asked) return;
  auto shape = present::Shape::Of(asked->graph);
  if (!shape) return;
  const present::CriticalPath critical = present::CriticalPathOf(asked->graph, *shape);
  const char* label = "critical";
  for (const std::string& line : present::CriticalPathLines(
           critical, asked->graph, present::PhasesOf(asked->graph, *shape))) {
    page.Field(std::exchange(label, ""), line);
  }
}

void PrintPage(HistoryCall& call, const JobDetails& details, const JobsNow& now, UseAsker& asker) {
  const JobFacts& job = details.job;
  present::Page page(call.width(), [&](std::string_view text) { call.Write(text); });
  page.Title(fmt::format("job {}  {}", job.job.value, job.name.value_or("")));
  page.Field("state", StandingText(call, details));
  page.Field("waits", WhyWaits(call, details, now));
  PrintLeftRunning(NowOf(details, now).left, page);
  std::string label = "running";
  const std::vector<RunningFacts>& running = NowOf(details, now).running;
  const auto uses = asker.Query(details.job.job, running);
  for (const std::string& line :
       present::RunningLines(running, call.now(), /*with_task=*/true, uses)) {
    page.Field(std::exchange(label, ""), line);
  }
  label = "enforced";
  for (const std::string& line : present::EnforcedLines(running, uses)) {
    page.Field(std::exchange(label, ""), line);
  }
  label = "excess";
  for (const ExcessFacts& each : details.excesses) {
    page.Field(std::exchange(label, ""), present::ExcessText(each.task, each.excess));
  }
  label = fmt::format("start of {}", details.story_task);
  for (const std::string& line : present::StartLines(details.story, StartOf(details, now))) {
    page.Field(std::exchange(label, ""), line);
  }
  if (!IsReadable(job.state)) {
    page.Field("problem", job.problem.value_or(""));
  } else {
    PrintWho(call, details, page);
    PrintTasks(details, call.on_hub(), page);
    PrintGraph(call, details, page);
    PrintSetAside(details, page);
  }
  if (job.path) {
    page.Field("kept in", fmt::format("{} ({})", *job.path, FormatSize(details.bytes)));
  }
  PrintNext(call, details, page);
}

// ---- JSON --------------------------------------------------------------------------------------

// The first of them, by number.
std::vector<uint64_t> NumbersOf(const std::vector<TaskRange>& tasks) {
  std::vector<uint64_t> numbers;
  for (TaskRange range : tasks) {
    for (uint64_t i = 0; i < range.count && numbers.size() < kJsonTasks; ++i) {
      numbers.push_back(range.first + i + 1);
    }
  }
  return numbers;
}

present::Json FailuresJson(const std::vector<FailureFacts>& failures) {
  return present::ListOf(failures, [](const FailureFacts& kind) {
    return present::ObjectOf("cause", kind.end.cause, "status", kind.end.status, "count",
                             kind.count, "tasks", NumbersOf(kind.tasks));
  });
}

present::Json SetAsideJson(const std::vector<SetAsideFacts>& nodes) {
  return present::ListOf(nodes, [](const SetAsideFacts& node) {
    return present::ObjectOf("node", node.node, "why", node.why, "command", NodeCommand(node));
  });
}

void AddStatistics(present::JsonLine& line, const JobDetails& details) {
  using present::OrNull;
  const JobStatistics& all = details.statistics;
  const bool started = all.first_start.ns > 0;
  present::AddFields(line, "attempts", all.attempts, "failures", FailuresJson(details.failures),
                     "blamed", details.blamed, "median_wall", all.median_wall, "total_wall",
                     all.total_wall, "total_user", all.total_user, "total_system", all.total_system,
                     "peak_memory", all.peak_memory, "peak_task",
                     OrNull(all.peak_memory > 0, uint64_t{all.peak_task} + 1), "first_start",
                     OrNull(started, all.first_start), "last_end", OrNull(started, all.last_end),
                     "tasks_per_second", all.tasks_per_second, "output_kept", all.output_bytes);
}

void PrintJson(HistoryCall& call, const JobDetails& details, const JobsNow& now, UseAsker& asker) {
  using present::OrNull;
  const JobFacts& job = details.job;
  const wire::JobNow& live = NowOf(details, now);
  const RetryPolicy& retry = details.policy.retry;
  const Duration time = details.newest.needs.time;
  present::JsonLine line = present::TypedLine("job");
  present::AddFields(line, WithOutcome(job));
  present::AddFields(
      line, "held", details.held, "held_since", details.held_since, "stop", details.stop,
      "stopped_tasks", details.stopped_tasks, "parted", details.parted, "release_command",
      OrNull(ReleaseCommand(call, details)), "set_aside", SetAsideJson(details.set_aside), "waits",
      OrNull(WhyWaits(call, details, now)), "reasons", present::ReasonsJson(live.waits),
      "left_running", live.left, "start_news", present::StartNewsJson(details.story),
      "start_news_task", OrNull(details.story_task > 0, details.story_task), "running_tasks",
      present::RunningJson(live.running, call.now(), asker.Query(job.job, live.running)),
      "withdrawn", details.withdrawn, "not_passed", details.foreign, "comment", details.comment,
      "retries", retry.retries, "retry_on", RetryOnText(retry), "retry_elsewhere", retry.elsewhere,
      "retry_memory", retry.memory_growth, "max_memory", retry.max_memory, "priority",
      details.priority, "time_limit", OrNull(time.ns > 0, time));
  present::AddFields(line, "limits", details.limits, "excesses", details.excesses, "changed",
                     details.changed, "changed_tasks", details.changed_tasks, "changed_time_limit",
                     details.time_limit);
  AddClassFields(line, details.newest);
  AddStatistics(line, details);
  auto command = [](bool helps, auto text) { return helps ? OrNull(text()) : std::nullopt; };
  const bool elsewhere = CanRetry(job) && !details.blamed.empty();
  present::AddFields(
      line, "bytes", details.bytes, "resume_command",
      command(CanResume(job), [&] { return ResumeCommandOf(call, job); }), "retry_command",
      command(CanRetry(job),
              [&] { return RetryCommandOf(call, fmt::format("{}", job.job.value)); }),
      "retry_elsewhere_command",
      command(elsewhere, [&] { return RetryElsewhereCommandOf(call, details); }));
  call.Write(line);
}

JobsNow AskJobsNow(HistoryCall& call, const JobSelector& jobs) {
  JobsNow known;
  bool last = jobs.last || (!jobs.all && jobs.ranges.empty());
  // Facts that the hub cannot tell now, or a run that has ended, are left out.
  (void)call.Query(wire::LookAtJobs{{jobs.all, last, jobs.ranges}},
                   [&](wire::JobNow now) { known.insert_or_assign(now.job, std::move(now)); });
  return known;
}

Result<int> JobInfo(HistoryCall& call) {
  auto jobs = TRY(SelectJobs(call.words().words));
  JobsNow now = AskJobsNow(call, jobs);
  std::vector<JobDetails> pages;  // a page asks more, when all of this was heard
  auto told = call.Query(wire::DescribeJobs{std::move(jobs)}, [&](JobDetails details) {
    if (call.form() == OutputForm::kQuiet) {
      call.Write(fmt::format("{}\n", details.job.job.value));
    } else {
      pages.push_back(std::move(details));
    }
  });
  UseAsker asker(call);
  bool first = true;
  for (const JobDetails& details : pages) {
    if (!call.human()) {
      PrintJson(call, details, now, asker);
      continue;
    }
    if (!std::exchange(first, false)) call.Write("\n");
    PrintPage(call, details, now, asker);
  }
  return told ? Result<int>(kExitSuccess) : std::unexpected(std::move(told.error()));
}

}  // namespace

extern const Command kJobInfo = {
    .order = 30,
    .group = CommandGroup::kHistory,
    .name = "job info",
    .arguments = "[JOB...]",
    .completes = Completes::kJobs,
    .summary = "show job details (default: last)",
    .details = "",
    .examples = {{{"spate job info", "of the newest job"}, {"spate job info 12", "of job 12"}}},
    .options = {{opt::kAboutJobs}},
    .run = LookAtJobs<JobInfo>,
};

}  // namespace spate::cli::command
