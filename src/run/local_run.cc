// Kinds of runs: new, resumed, or a retry; see local_run.h.
#include "run/local_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/options/list_files.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_uses.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "cli/report.h"
#include "core/model/ranges.h"
#include "format/expand.h"
#include "format/selector/selector.h"
#include "os/file.h"
#include "os/terminal.h"
#include "plan/job_text.h"
#include "plan/list_places.h"
#include "plan/plan.h"
#include "plan/shared_needs.h"
#include "plan/slots_file.h"
#include "plan/this_machine.h"
#include "plan/value_list.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "run/earlier_runs.h"
#include "run/missing_outputs.h"
#include "run/prepared_job.h"
#include "run/run_asker.h"
#include "view/joblog.h"
#include "view/summary.h"

namespace spate::run {
namespace {

using cli::RunOptions;

// Reports that a new job starts where the user may expect a resumed one: --resume found no earlier
// run, or the newest run was cut off.
void TellNew(const PreparedJob& job) {
  const RunOptions& options = job.options();
  if (options.show.form == cli::OutputForm::kQuiet) return;
  if (options.resume) {
    fmt::print(stderr, "spate: no earlier run to resume: starting job {}\n", job.id().value);
    return;
  }
  auto cut = FindCutOff(job.state_dir(), job.here().cwd, options);
  if (!cut) return;
  cli::HintContext hints = job.hints();
  hints.files = options.sources.files;
  // --resume takes the newest run of the list.
  fmt::print(stderr,
             "spate: job {0} of the same list was cut off: {1} of {2} done; job {3} runs all of "
             "them again\nto resume job {0} instead, stop this run, and type: {4} && {5}\n",
             cut->number, FormatCount(cut->row.counts.succeeded),
             present::CountOf(cut->row.counts.total, "task"), job.id().value,
             present::TextOf(Advice("job forget", job.id().value), cli::WhoseOption(hints)),
             cli::ResumeCommand(hints));
}

// A run that was never accepted cannot be resumed.
void TellPassedOver(const RunOptions& options, const EarlierRun& earlier) {
  if (!earlier.passed_over || options.show.form == cli::OutputForm::kQuiet) return;
  fmt::print(stderr,
             "spate: passing over job {}: it ended before its tasks were stored, so none of them "
             "ran\n",
             *earlier.passed_over);
}

// A machine without bash has /bin/sh.
void TellShell(const RunOptions& options, const JobSettings& settings, bool needs_shell) {
  const bool quiet = options.show.form == cli::OutputForm::kQuiet;
  if (needs_shell && settings.shell.empty() && !settings.bash && !quiet) cli::PrintMessage(kNoBash);
}

Result<int> RunNew(const cli::Invocation& invocation, const Surroundings& here,
                   RunOptions& options) {
  std::vector<std::string> argv = invocation.preset;
  argv.insert(argv.end(), invocation.argv.begin(), invocation.argv.end());
  Plan plan{.here = here,
            .words = invocation.words,
            .argv = invocation.argv,
            .options = options,
            .dry_run = options.dry_run,
            .longest_first = [&](const cli::RowSource& rows) {
              return LongestFirst(client::StateDirOf(options.state_dir, here), here.cwd, options,
                                  rows);
            }};
  TRY(MakePlan(plan));
  cli::TaskList& tasks = plan.tasks;
  if (plan.dry_run) {
    return PrintCommands(tasks.rows, plan.settings, JobId(1), [](TaskIndex) { return true; });
  }
  const bool comes_later = plan.comes_later();
  if (tasks.count == 0 && !comes_later) {
    fmt::print(stderr, "spate: 0 tasks: nothing to do\n");
    return cli::kExitSuccess;
  }
  auto job = TRY(PreparedJob::Create(here, client::StateDirOf(options.state_dir, here), options));
  if (!job->is_pipe()) TellNew(*job);
  TellShell(options, plan.settings, tasks.needs_shell);
  TellOfArray(options);
  auto submission = TRY(SubmissionOf(std::move(plan), std::move(argv)));
  TRY(job->SetTasks(std::move(submission)));
  auto code = RunToEnd(*job, /*resumed=*/false);
  if (!code && !comes_later) job->Discard();  // nothing was started
  return code;
}

// Consequences of a changed list for a job that is resumed.
struct Changes {
  cli::TaskList tasks;
  bool read = false;  // `tasks` and `list` are those of now
  cli::ListChange list;
  std::vector<TaskRange> withdrawn;  // no longer in the list, however they ended
  std::vector<TaskRange> reopened;   // withdrawn before, and back in the list
};

// True if there is anything to read again: files always, a pipe or values when given now.
bool HasListOfNow(const RunOptions& options, const RunOptions& typed) {
  const auto& files = options.sources.files;
  bool from_pipe = std::find(files.begin(), files.end(), "-") != files.end();
  if (!from_pipe && !options.sources.has_command) return true;
  bool given = !typed.sources.files.empty() || typed.sources.has_command;
  return given && (!from_pipe || cli::StdinIsSource(os::kStdin));
}

// Those that have just left the list.
std::vector<TaskRange> Leaving(const PreparedJob& job, const std::vector<TaskRange>& missing) {
  std::vector<TaskRange> leaving;
  for (TaskRange range : missing) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (!job.engine().LeftList(job.id(), i)) AppendIndex(leaving, i);
    }
  }
  return leaving;
}

// Those that were cancelled, but not for the sake of a task that failed: that is for a retry. And
// those that the list did not have for a while.
std::vector<TaskRange> ToReopen(const PreparedJob& job, const std::vector<TaskRange>& kept,
                                const std::vector<Edge>& edges) {
  const uint32_t total = job.task_count();
  std::vector<bool> hopeless(total);
  VisitInOrder(edges.empty() ? 0 : total, edges, [&](TaskIndex i, auto children) {
    auto state = job.engine().StateOf(job.id(), i);
    bool lost = state == TaskState::kFailed || state == TaskState::kUnknown;
    if (!lost && !(hopeless[i] && state == TaskState::kCancelled)) return;
    for (TaskIndex child : children) hopeless[child] = true;
  });
  std::vector<TaskRange> reopened;
  for (TaskRange range : kept) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      bool cancelled = job.engine().StateOf(job.id(), i) == TaskState::kCancelled;
      bool gone = job.engine().LeftList(job.id(), i);
      if (gone || (cancelled && !hopeless[i])) AppendIndex(reopened, i);
    }
  }
  return reopened;
}

// Reads the lists again and compares.
Result<Changes> ReadChanges(PreparedJob& job, const Surroundings& here, const RunOptions& typed) {
  Changes changes;
  const RunOptions& options = job.options();
  if (!HasListOfNow(options, typed)) {
    if (typed.sources.targets.empty()) return changes;
    return Fail(
        ErrorKind::kInvalid,
        "--target: spate needs the list to select tasks; name its file as in the first run");
  }
  TRY(cli::CheckListFiles(options.sources.files));
  Offer offer = OfferOf(options, here);
  JobSettings settings = job.settings();
  auto context = LoadContextOf(settings, offer.slots, /*run_checks=*/false);
  auto tasks = TRY(cli::LoadTaskList(options, context, settings));
  if (settings.has_source != job.settings().has_source) return changes;  // no values came this time
  TRY(CheckNeeds(tasks, offer));
  changes.tasks = std::move(tasks);
  changes.read = true;
  const std::vector<Edge> edges = job.engine().Edges(job.id());
  const cli::RowSource stored = job.StoredRows();
  changes.list = cli::CompareGraphs({stored, edges}, {changes.tasks.rows, changes.tasks.edges});
  TRY(job.rows_status());
  changes.withdrawn = Leaving(job, changes.list.missing);
  changes.reopened = ToReopen(job, changes.list.kept, edges);
  // Tasks that have not run yet need their inputs now.
  std::vector<bool> leaves(job.task_count());
  for (TaskRange range : changes.withdrawn) {
    std::fill_n(leaves.begin() + range.first, range.count, true);
  }
  auto waits = [&](uint32_t index) {
    if (leaves[index]) return false;
    auto state = job.engine().StateOf(job.id(), index);
    return state == TaskState::kQueued || state == TaskState::kLeased;
  };
  TRY(cli::CheckInputs(job.StoredRows(), waits, context));
  auto is_new = [&](uint32_t position) {
    return std::binary_search(changes.list.added.begin(), changes.list.added.end(), position);
  };
  TRY(cli::CheckInputs(changes.tasks.rows, is_new, context));
  return changes;
}

// Needs typed on the command line (--memory, --cpus and their like), not in the environment.
Result<NeedsChange> NeedsTyped(const std::vector<std::string>& argv) {
  auto words = TRY(cli::ParseWords(cli::kRunWords, argv));
  return cli::MakeNeedsChange(words);
}

// The requests of a job with other needs, to be checked; none where nothing changes.
cli::TaskList ChangedRequests(const PreparedJob& job, const NeedsChange& change) {
  cli::TaskList tasks;
  if (change.empty()) return tasks;
  for (const TaskClass& each : job.engine().Requests(job.id())) {
    tasks.requests.push_back(each);
    tasks.requests.back().needs = Changed(each.needs, change);
    tasks.places.push_back(fmt::format("job {}", job.id().value));
  }
  return tasks;
}

// The needs of a job's queued tasks under the new options: as stated by the list that was read
// again, or all alike. Nothing when no need was typed.
Result<engine::ChangeNeeds> OtherNeeds(const PreparedJob& job, const Changes& changes,
                                       const NeedsChange& change, const Offer& offer) {
  engine::ChangeNeeds needs{job.id(), {}, {}};
  if (change.empty()) return needs;
  if (!changes.read) {
    needs.requests = job.engine().Requests(job.id());
    if (needs.requests.size() > 1) {
      return Fail(ErrorKind::kInvalid,
                  "the tasks have their own needs, and their list is not read again; name the list "
                  "as in the first run, or leave out --memory, --cpus and similar options");
    }
    TRY(CheckNeeds(ChangedRequests(job, change), offer));
    for (TaskClass& each : needs.requests) each.needs = Changed(std::move(each.needs), change);
    needs.runs = {{0, job.task_count(), 0}};
    return needs;
  }
  std::vector<std::pair<TaskIndex, uint32_t>> asked;  // by old task, of the new list's requests
  for (const RequestRun& run : changes.tasks.runs) {
    for (TaskIndex at = run.first; at < run.first + run.count; ++at) {
      TaskIndex was = changes.list.was.at(at);
      if (was != cli::ListChange::kNew) asked.emplace_back(was, run.request);
    }
  }
  std::ranges::sort(asked);
  needs.requests = changes.tasks.requests;
  for (const auto& [index, request] : asked) AppendRequest(needs.runs, index, request);
  return needs;
}

// Fails when --max-failures would stop the run at once, because it counts the failed tasks of
// earlier runs. Tasks that are `gone` are withdrawn or retried and do not count.
Status CheckMaxFailures(const PreparedJob& job, const std::vector<TaskRange>& gone) {
  const uint32_t most = job.options().policy.max_failures;
  uint32_t failed = job.counts().failed;
  for (TaskRange range : gone) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (job.engine().StateOf(job.id(), i) == TaskState::kFailed) --failed;
    }
  }
  if (most == 0 || failed < most || job.engine().Finished(job.id())) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("job {} has {} already, so --max-failures {} starts nothing; to retry "
                          "them and run the remaining tasks: {}; to run only the remaining tasks, "
                          "add --max-failures 0",
                          job.id().value, present::CountOf(failed, "failed task"), most,
                          cli::RetryCommand(job.hints())));
}

int NothingLeft(const PreparedJob& job) {
  JobCounts counts = job.counts();
  uint32_t failed = counts.failed + counts.unknown;
  bool good = failed + counts.cancelled == 0 && !job.cancelled();
  int code = good ? cli::kExitSuccess : cli::kExitTasksFailed;
  if (job.options().show.form == cli::OutputForm::kQuiet) return code;
  fmt::print(stderr, "spate: nothing left to do: job {} is complete ({} of {} succeeded)\n",
             job.id().value, FormatCount(counts.succeeded), present::CountOf(counts.total, "task"));
  if (failed > 0) {
    fmt::print(stderr, "spate: to run again what failed: {}\n", cli::RetryCommand(job.hints()));
  }
  const cli::SourceOptions& sources = job.options().sources;
  if (!sources.targets.empty() && sources.targets.back() != "all") {
    cli::HintContext hints = job.hints();
    hints.files = sources.files;
    fmt::print(stderr, "spate: to run the tasks that --target left out: {} --target all\n",
               cli::ResumeCommand(hints));
  }
  return code;
}

void TellChange(std::string_view what, PreparedJob& job, const Surroundings& here,
                const Changes& changes, size_t missing) {
  constexpr size_t kNamed = 5;
  // Each task by itself: what waits for a task that was edited is not edited.
  cli::ListChange own = cli::CompareLists(job.StoredRows(), changes.tasks.rows);
  const size_t again = changes.list.added.size() - own.added.size();
  size_t fresh = own.added.size();
  std::erase_if(own.added, [&](uint32_t at) { return !SortedContains(own.missing, at); });
  if (own.added.size() > missing) own.added.clear();  // these had left the list before
  std::vector<cli::WantedPlace> edited;
  changes.tasks.rows([&, at = 0u](std::string_view row) mutable {
    if (std::ranges::binary_search(own.added, at)) edited.push_back({at, std::string(row)});
    ++at;
  });
  fresh -= edited.size();
  missing -= std::min(missing, edited.size() + again);
  auto places =
      cli::PlacesInLists(here.cwd, job.options().sources.files, edited, job.settings().row_kind);
  if (places.size() > kNamed || std::ranges::find(places, "") != places.end()) {
    places = {present::CountOf(edited.size(), "task")};
  }
  std::vector<std::string> news;
  if (!edited.empty()) news.push_back(fmt::format("{} edited", fmt::join(places, ", ")));
  if (again > 0) news.push_back(present::CountOf(again, "task") + " with changed predecessors");
  if (fresh > 0) news.push_back(present::CountOf(fresh, "new task"));
  if (missing > 0) news.push_back(present::CountOf(missing, "task") + " no longer in it");
  fmt::print(stderr, "spate: the {} has changed: {}\n", what, fmt::join(news, ", "));
}

// Another input than the one that was taken whole must not be passed over in silence.
Status CheckWholeInput(const PreparedJob& job) {
  auto same = CheckSameInput(os::kStdin, job.InputFolder());
  if (same) return {};
  JobCounts counts = job.counts();
  std::string rest =
      counts.finished() == counts.total
          ? fmt::format("job {} is complete", job.id().value)
          : fmt::format("to resume job {}: the same command with < /dev/null", job.id().value);
  return Fail(same.error().kind,
              fmt::format("{}\n{}; to run the command on this input: the same without --resume",
                          same.error().message, rest));
}

// Goes on with what was taken of the input, and with the rest when it is given again.
Result<int> ResumePipe(PreparedJob& job, const RunOptions& typed, const Surroundings& here,
                       const NeedsChange& change) {
  auto needs = TRY(OtherNeeds(job, {}, change, OfferOf(job.options(), here)));
  bool whole = job.InputIsWhole();
  bool given = typed.sources.has_command && cli::StdinIsSource(os::kStdin);
  if (whole && given) {
    TRY(CheckWholeInput(job));
  }
  JobCounts counts = job.counts();
  if (whole && counts.finished() == counts.total) return NothingLeft(job);
  if (!whole && !given && counts.finished() == counts.total) {
    job.TellRestOfInput();
    return cli::kExitTasksFailed;
  }
  TRY(CheckMaxFailures(job, {}));
  TRY(job.Resume());
  if (!needs.runs.empty()) job.Post(std::move(needs));
  if (!whole && given) {
    TRY(job.ReadOn());
  } else if (whole) {
    job.Post(engine::SealJob{job.id()});
  }
  return RunToEnd(job, /*resumed=*/true);
}

// Stored tasks for which `writes` holds, and those that are added to them.
cli::TaskRows OutputsOfNow(PreparedJob& job, std::function<bool(TaskIndex)> writes,
                           const Changes& changes) {
  return [&job, writes = std::move(writes), &changes](const cli::TaskRowVisitor& visit) {
    TaskIndex next = 0;
    job.StoredRows()([&](std::string_view row) {
      if (writes(next)) visit(next, row);
      ++next;
    });
    const std::vector<uint32_t>& added = changes.list.added;
    if (added.empty()) return;
    uint32_t position = 0;
    changes.tasks.rows([&](std::string_view row) {
      if (std::ranges::binary_search(added, position++)) visit(next++, row);
    });
  };
}

// Files of tasks that have left the list are nobody's any more.
cli::TaskRows OutputsOfList(PreparedJob& job, const Changes& changes) {
  std::vector<bool> left(job.task_count());
  for (TaskIndex i = 0; i < left.size(); ++i) left[i] = job.engine().LeftList(job.id(), i);
  auto mark = [&](const std::vector<TaskRange>& ranges, bool gone) {
    for (TaskRange range : ranges) std::fill_n(left.begin() + range.first, range.count, gone);
  };
  mark(changes.reopened, false);
  mark(changes.withdrawn, true);
  return OutputsOfNow(job, [left = std::move(left)](TaskIndex i) { return !left[i]; }, changes);
}

// Checks that a job may go on. Tasks that are `gone` are withdrawn or run again.
Status CheckAgain(Plan::For whom, const cli::Invocation& invocation, PreparedJob& job,
                  const std::vector<TaskRange>& gone, cli::TaskRows writes, bool dry_run = false,
                  cli::TaskList changed = {}) {
  RunOptions options = job.options();
  Plan plan{.whom = whom,
            .here = job.here(),
            .words = invocation.words,
            .argv = invocation.argv,
            .options = options,
            .dry_run = dry_run,
            .check_failures = [&] { return CheckMaxFailures(job, gone); },
            .settings = job.settings(),
            .tasks = std::move(changed),
            .writes = std::move(writes)};
  auto sound = MakePlan(plan);
  return job.rows_status() ? sound : job.rows_status();
}

Result<int> Resume(const Surroundings& here, const std::string& state_dir,
                   const cli::Invocation& invocation, const RunOptions& typed, uint32_t number) {
  TRY(cli::CheckSources(typed));
  auto parse = [&](const std::vector<std::string>& stored) -> Result<RunOptions> {
    TRY(cli::CheckKept(stored, invocation.argv));
    return cli::ParseAgain(stored, invocation.preset, invocation.argv, cli::kRunWords);
  };
  auto change = TRY(NeedsTyped(invocation.argv));
  auto opened = TRY(PreparedJob::Open(here, state_dir, number, parse));
  PreparedJob& job = *opened;
  if (job.options().sources.input.from == cli::InputOptions::From::kPipe) {
    return ResumePipe(job, typed, here, change);
  }
  auto changes = TRY(ReadChanges(job, here, typed));
  auto needs = TRY(OtherNeeds(job, changes, change, OfferOf(job.options(), here)));
  const cli::ListChange& list = changes.list;
  bool changed = !list.added.empty() || !changes.reopened.empty() || !changes.withdrawn.empty();
  if (job.engine().Finished(job.id()) && !changed) {
    const int code = NothingLeft(job);
    TellMissingOutputs(job, {});
    return code;
  }
  TRY(CheckAgain(Plan::For::kResumed, invocation, job, changes.withdrawn,
                 OutputsOfList(job, changes)));
  TellMissingOutputs(job, Normalized(changes.withdrawn));
  size_t missing = 0;
  for (TaskRange range : changes.withdrawn) missing += range.count;
  bool told = missing > 0 || !list.added.empty();
  if (told && job.options().show.form != cli::OutputForm::kQuiet) {
    const bool is_whole = typed.sources.targets.empty();
    TellChange(is_whole ? "list" : "selection by --target", job, here, changes, missing);
  }
  const uint32_t known = job.task_count();
  std::optional<engine::Event> withdrawn;
  if (missing > 0) {
    withdrawn = engine::WithdrawTasks{job.id(), changes.withdrawn, /*left_list=*/true};
  }
  TRY(job.Resume(std::move(withdrawn)));
  if (!changes.reopened.empty()) job.Post(engine::ReopenTasks{job.id(), changes.reopened});
  job.AddTasks(changes.tasks, list.added, cli::EdgesOfAdded(changes.tasks.edges, list, known));
  if (!needs.runs.empty()) job.Post(std::move(needs));
  job.Post(engine::SealJob{job.id()});
  changes = {};
  return RunToEnd(job, /*resumed=*/true);
}

// A retry runs what the job has. Says so where its list has something else by now.
void TellOldText(PreparedJob& job, const Surroundings& here, const RunOptions& typed,
                 const std::vector<TaskRange>& retried) {
  const RunOptions& options = job.options();
  if (options.show.form == cli::OutputForm::kQuiet || options.sources.files.empty()) return;
  auto changes = ReadChanges(job, here, typed);
  if (!changes || changes->withdrawn.empty()) return;  // a list that cannot be read is not needed
  const std::vector<TaskRange> withdrawn = Normalized(changes->withdrawn);
  size_t old = 0;
  for (TaskRange range : retried) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      old += SortedContains(withdrawn, i) ? 1 : 0;
    }
  }
  if (old == 0) return;
  cli::HintContext hints = job.hints();
  hints.files = options.sources.files;
  fmt::print(stderr,
             "spate: {} no longer in the list as {} then; a retry runs the commands of job {} as "
             "they were\nto run the list as it is now:  {}\n",
             old == 1 ? "1 task is" : fmt::format("{} tasks are", FormatCount(old)),
             old == 1 ? "it was" : "they were", job.id().value, cli::ResumeCommand(hints));
}

// Selected tasks that a retry runs again, sorted; `succeeded`: all of them, and the tasks that
// waited for them.
Result<std::vector<TaskRange>> ToRetry(const PreparedJob& job, const TasksOfJob& selected,
                                       bool succeeded) {
  std::vector<TaskRange> tasks;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    auto state = job.engine().StateOf(job.id(), i);
    bool bad = state == TaskState::kFailed || state == TaskState::kUnknown;
    if ((bad || succeeded) && selected.Contains(i + 1)) AppendIndex(tasks, i);
  }
  if (!succeeded) return tasks;
  if (job.is_pipe()) {
    return Fail(ErrorKind::kInvalid,
                "--succeeded: the input of a task of --pipe is removed when the task has "
                "succeeded; to run it again, start a new run with that input");
  }
  // Tasks that a killed run has left leased do not run any more.
  return job.engine().RunAgain(job.id(), std::move(tasks), /*idle=*/true);
}

Result<int> Retry(const Surroundings& here, const cli::Invocation& invocation) {
  const auto& words = invocation.words.words;
  if (words.size() > 1) {
    return Fail(ErrorKind::kInvalid,
                "name one job: runs of this machine are retried one after the other",
                Remedy("; for jobs of a hub: {}", Advice("job retry", "--hub", 12, 13)));
  }
  auto selected = TRY(format::ParseTaskSelector(words.empty() ? "last" : words.front()));
  if (selected.size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in",
                Remedy(": {}, or 12.3-9", Advice("job retry", 12)));
  }
  TRY(cli::CheckUses(cli::Way::kRetry, invocation.words));
  auto typed = TRY(cli::ParseRun({}, invocation.argv, cli::kRetryWords));
  std::string state_dir = client::StateDirOf(typed.state_dir, here);
  RunAsker runs(here, state_dir, "");
  TRY(cli::LookUpNames(runs, selected));
  const TasksOfJob& tasks = selected.front();
  const uint32_t number =
      tasks.job ? *tasks.job : TRY(runs.Pick({.all = false, .last = true, .ranges = {}})).front();
  auto opened = TRY(PreparedJob::Open(here, state_dir, number, [&](const auto& stored) {
    return cli::ParseAgain(stored, invocation.preset, invocation.argv, cli::kRetryWords);
  }));
  PreparedJob& job = *opened;
  const bool again = invocation.words.Has(cli::opt::kSucceeded);
  auto retried = TRY(ToRetry(job, tasks, again));
  auto is_wanted = [&](TaskIndex i) { return SortedContains(retried, i); };
  if (retried.empty()) {
    bool chosen = !words.empty() && words.front().find('.') != std::string::npos;
    fmt::print(stderr, "spate: nothing to retry: no {}task of job {} has {}\n",
               chosen ? "chosen " : "", number, again ? "succeeded" : "failed");
    return cli::kExitSuccess;
  }
  auto change = TRY(cli::MakeNeedsChange(invocation.words));
  const Changes none;
  TRY(CheckAgain(Plan::For::kRetried, invocation, job, retried, OutputsOfNow(job, is_wanted, none),
                 typed.dry_run, ChangedRequests(job, change)));
  if (typed.dry_run) {
    int code = PrintCommands(job.StoredRows(), job.settings(), job.id(), is_wanted);
    TRY(job.rows_status());
    return code;
  }
  TellOldText(job, here, typed, retried);
  TRY(job.Resume(engine::ReopenTasks{job.id(), std::move(retried), std::move(change), again}));
  return RunToEnd(job, /*resumed=*/true);
}

Result<int> RunAny(const cli::Invocation& invocation) {
  auto here = TRY(Surroundings::Find());
  auto options = TRY(cli::ParseRun(invocation.preset, invocation.argv));
  if (!options.dry_run) TRY(client::CheckHome(options.state_dir, here));
  TRY(ReadSlotsFile(options, here.cwd, here.machine.facts().cores));
  TRY(UseGrantedGpus(here.machine.facts(), options.offers));
  if (options.resume) {
    std::string state_dir = client::StateDirOf(options.state_dir, here);
    auto earlier = TRY(FindEarlierRun(state_dir, here.cwd, options));
    TellPassedOver(options, earlier);
    if (earlier.job) return Resume(here, state_dir, invocation, options, earlier.job->number);
    if (options.sources.files.empty() && !options.sources.has_command) {
      return Fail(ErrorKind::kNotFound, "no unfinished run of this folder; name the list to run");
    }
    TRY(cli::CheckNoRows(cli::JoblogPath(here.cwd, options.show.joblog)));
  }
  return RunNew(invocation, here, options);
}

}  // namespace

int RunLocally(const cli::Invocation& invocation) {
  auto code = RunAny(invocation);
  return cli::Conclude(invocation, code);
}

int RetryLocally(const cli::Invocation& invocation) {
  auto here = Surroundings::Find();
  if (!here) return cli::Conclude(invocation, std::unexpected(here.error()));
  auto code = Retry(*here, invocation);
  return cli::Conclude(invocation, code);
}

}  // namespace spate::run
