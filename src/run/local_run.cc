// What a run is: new, resumed, or a retry; see local_run.h.
#include "run/local_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/prng.h"
#include "base/units.h"
#include "cli/history/select.h"
#include "cli/options/gang_options.h"
#include "cli/options/list_files.h"
#include "cli/options/needs_change.h"
#include "cli/report.h"
#include "cli/run/shell_check.h"
#include "cli/run/value_list.h"
#include "cli/text/end_text.h"
#include "cli/view/summary.h"
#include "core/model/ranges.h"
#include "format/expand.h"
#include "format/selector/selector.h"
#include "format/template.h"
#include "history/journal_asker.h"
#include "os/file.h"
#include "os/terminal.h"
#include "run/earlier_runs.h"
#include "run/history.h"
#include "run/local_job.h"
#include "shepherd/path_lookup.h"

namespace spate::run {
namespace {

using cli::RunOptions;

// The order of starting; empty: as given.
std::vector<TaskIndex> OrderOf(const RunOptions& options, const Surroundings& here,
                               const cli::TaskList& tasks) {
  std::vector<TaskIndex> order;
  if (options.order == cli::TaskOrder::kLongest) {
    return LongestFirst(StateDirOf(options.state_dir, here), here.cwd, options, tasks.rows);
  }
  if (options.order != cli::TaskOrder::kShuffle) return order;
  order.resize(tasks.count);
  std::iota(order.begin(), order.end(), 0);
  Prng prng(static_cast<uint64_t>(os::Clock().Now().ns));
  for (uint32_t i = tasks.count; i > 1; --i) std::swap(order[i - 1], order[prng.Below(i)]);
  return order;
}

// Prints the commands of the rows whose index `wanted` takes.
int DryRun(const cli::RowSource& rows, const JobSettings& settings, JobId job,
           const std::function<bool(TaskIndex)>& wanted) {
  auto compiled = format::CompileJob(settings, job);
  if (!compiled) return cli::ReportError(compiled.error());
  TaskIndex next = 0;
  std::string text;
  Status status;
  rows([&](std::string_view row) {
    TaskIndex index = next++;
    if (!wanted(index)) return;
    text += format::CommandText(*compiled, row, index, 1) + '\n';
    if (text.size() < 65536 || !status) return;
    status = os::WriteAll(1, std::exchange(text, {}), "standard output");
  });
  if (status) status = os::WriteAll(1, text, "standard output");
  return status ? cli::kExitSuccess : cli::ReportError(status.error());
}

// With --resume people are told when everything begins anew.
void TellNew(const RunOptions& options, JobId job) {
  if (!options.resume || options.show.form == cli::OutputForm::kQuiet) return;
  fmt::print(stderr, "spate: no earlier run of this: starting job {}\n", job.value);
}

// What was never accepted is no run to go on with.
void TellPassedOver(const RunOptions& options, const EarlierRun& earlier) {
  if (!earlier.passed_over || options.show.form == cli::OutputForm::kQuiet) return;
  fmt::print(stderr,
             "spate: passing over job {}: it ended before its tasks were stored, so none of them "
             "ran\n",
             *earlier.passed_over);
}

// A list that is still being written: tasks are added while it runs.
Result<int> Follow(const Surroundings& here, const RunOptions& options, JobSettings settings,
                   const std::vector<std::string>& argv) {
  auto job = LocalJob::Create(here, StateDirOf(options.state_dir, here), options, argv);
  if (!job) return std::unexpected(job.error());
  TellNew(options, (*job)->id());
  settings.row_kind = RowKind::kListLine;
  cli::TaskList none;
  none.rows = [](const cli::RowVisitor&) {};
  none.requests = {cli::ClassOf(options)};
  (*job)->SetTasks(none, std::move(settings), {});
  return (*job)->Run(/*resumed=*/false);
}

// What no task could do without, checked once: the shell, and a file that all of them read.
Status CheckSurroundings(const Surroundings& here, const JobSettings& settings) {
  if (!settings.shell.empty()) {
    std::string program = settings.shell.substr(0, settings.shell.find_first_of(" \t"));
    std::string path = here.environment.GetOr("PATH", "");
    for (const std::string& variable : settings.environment) {
      if (variable.starts_with("PATH=")) path = variable.substr(5);
    }
    shepherd::PathLookup lookup;
    const auto& found = lookup.Find(program, path);
    std::string file = found.path.empty() ? "" : os::JoinPath(settings.cwd, found.path);
    if (file.empty() || !os::MayAccess(file, "x")) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--shell: '{}' is not a program that can be started: check the name, "
                              "and PATH\nnothing was started",
                              EscapeForScreen(program)));
    }
  }
  if (settings.row_kind == RowKind::kInput) return {};  // pieces, which are ours
  const std::string& input = settings.stdin_pattern;
  auto pattern = format::Template::Parse(
      input, {.names = settings.value_names, .job = true, .replace = settings.replace});
  if (input.empty() || pattern.has_placeholder()) return {};
  std::string file = os::JoinPath(settings.cwd, input);
  auto info = os::Stat(file);
  std::string why;
  if (!info) {
    why = info.error().message;
  } else if (info->kind == os::FileKind::kDir) {
    why = fmt::format("'{}' is a folder", EscapeForScreen(input));
  } else if (!os::MayAccess(file, "r")) {
    why = fmt::format("'{}' cannot be read: check its rights", EscapeForScreen(input));
  }
  if (why.empty()) return {};
  return Fail(ErrorKind::kInvalid, fmt::format("--stdin: {}\nnothing was started", why));
}

// Input that is cut up while it runs.
Result<int> RunPipe(const Surroundings& here, const RunOptions& options, JobSettings settings,
                    const std::vector<std::string>& argv) {
  if (!cli::StdinIsSource(os::kStdin)) {
    return Fail(ErrorKind::kInvalid,
                "--pipe: nothing comes on standard input; write ... | spate run --pipe -- COMMAND, "
                "or < FILE");
  }
  if (options.dry_run) {
    return Fail(ErrorKind::kInvalid,
                "--pipe --dry-run: how many tasks there are shows only when the input is read");
  }
  settings.row_kind = RowKind::kInput;
  settings.command = options.sources.command;
  cli::ShellCheck shell(settings, /*inherits=*/true);
  if (auto sound = shell.Check(settings.command); !sound) return std::unexpected(sound.error());
  if (auto sound = format::CompileJob(settings, JobId(1)); !sound) {
    return std::unexpected(sound.error());
  }
  auto job = LocalJob::Create(here, StateDirOf(options.state_dir, here), options, argv);
  if (!job) return std::unexpected(job.error());
  (*job)->SetPipe(std::move(settings));
  return (*job)->Run(/*resumed=*/false);
}

Result<int> RunNew(const Surroundings& here, const RunOptions& options,
                   const std::vector<std::string>& argv) {
  if (auto status = cli::CheckSources(options); !status) return std::unexpected(status.error());
  std::string path = here.environment.GetOr("PATH", "");
  if (auto status = cli::CheckListFiles(options.sources.files, path); !status) {
    return std::unexpected(status.error());
  }
  JobSettings settings = cli::SettingsOf(options, here.cwd, here.machine.facts().cores);
  auto info = os::Stat(settings.cwd);
  if (!info) return Fail(ErrorKind::kInvalid, "--cwd: " + info.error().message);
  if (info->kind != os::FileKind::kDir) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--cwd: '{}' is not a folder", EscapeForScreen(settings.cwd)));
  }
  bool comes_later =
      options.sources.follow || options.sources.input.from == cli::InputOptions::From::kPipe;
  if (comes_later && !options.dry_run) {
    if (auto sound = CheckSurroundings(here, settings); !sound) {
      return std::unexpected(sound.error());
    }
  }
  if (options.sources.follow) return Follow(here, options, std::move(settings), argv);
  if (options.sources.input.from == cli::InputOptions::From::kPipe) {
    return RunPipe(here, options, std::move(settings), argv);
  }
  Offer offer = OfferOf(options, here);
  auto tasks =
      cli::LoadTaskList(options, LoadContextOf(settings, offer.slots, !options.dry_run), settings);
  if (!tasks) return std::unexpected(tasks.error());
  if (options.dry_run) {
    return DryRun(tasks->rows, settings, JobId(1), [](TaskIndex) { return true; });
  }
  if (auto status = CheckNeeds(*tasks, offer); !status) return std::unexpected(status.error());
  if (auto sound = CheckSurroundings(here, settings); !sound) {
    return std::unexpected(sound.error());
  }
  if (tasks->count == 0) {
    fmt::print(stderr, "spate: 0 tasks: nothing to do\n");
    return cli::kExitSuccess;
  }
  auto job = LocalJob::Create(here, StateDirOf(options.state_dir, here), options, argv);
  if (!job) return std::unexpected(job.error());
  TellNew(options, (*job)->id());
  (*job)->SetTasks(*tasks, std::move(settings), OrderOf(options, here, *tasks));
  *tasks = {};  // the text is in the store now
  auto code = (*job)->Run(/*resumed=*/false);
  if (!code) (*job)->Discard();  // nothing was started
  return code;
}

// What a changed list means for a job that is taken up again.
struct Changes {
  cli::TaskList tasks;
  cli::ListChange list;
  std::vector<TaskRange> reopened;  // withdrawn before, and back in the list
};

// Whether there is anything to read again: files always, a pipe or values when they are given now.
bool HasListOfNow(const RunOptions& options, const RunOptions& typed) {
  const auto& files = options.sources.files;
  bool from_pipe = std::find(files.begin(), files.end(), "-") != files.end();
  if (!from_pipe && !options.sources.has_command) return true;
  bool given = !typed.sources.files.empty() || typed.sources.has_command;
  return given && (!from_pipe || cli::StdinIsSource(os::kStdin));
}

// Those that were cancelled, but not for the sake of a task that failed: that is for a retry.
std::vector<TaskRange> Withdrawn(const LocalJob& job, const std::vector<TaskRange>& kept,
                                 const std::vector<Edge>& edges) {
  const uint32_t total = job.counts().total;
  std::vector<bool> hopeless(total);
  VisitInOrder(edges.empty() ? 0 : total, edges, [&](TaskIndex i, auto children) {
    auto state = job.engine().StateOf(job.id(), i);
    bool lost = state == TaskState::kFailed || state == TaskState::kUnknown;
    if (!lost && !(hopeless[i] && state == TaskState::kCancelled)) return;
    for (TaskIndex child : children) hopeless[child] = true;
  });
  std::vector<TaskRange> withdrawn;
  for (TaskRange range : kept) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      bool cancelled = job.engine().StateOf(job.id(), i) == TaskState::kCancelled;
      if (cancelled && !hopeless[i]) AppendIndex(withdrawn, i);
    }
  }
  return withdrawn;
}

// Reads the lists again and compares.
Result<Changes> ReadChanges(LocalJob& job, const Surroundings& here, const RunOptions& typed) {
  Changes changes;
  const RunOptions& options = job.options();
  if (!HasListOfNow(options, typed)) return changes;
  std::string path = here.environment.GetOr("PATH", "");
  if (auto status = cli::CheckListFiles(options.sources.files, path); !status) {
    return std::unexpected(status.error());
  }
  Offer offer = OfferOf(options, here);
  JobSettings settings = job.settings();
  auto context = LoadContextOf(settings, offer.slots, /*run_checks=*/false);
  auto tasks = cli::LoadTaskList(options, context, settings);
  if (!tasks) return std::unexpected(tasks.error());
  if (settings.has_source != job.settings().has_source) return changes;  // no values came this time
  if (auto status = CheckNeeds(*tasks, offer); !status) return std::unexpected(status.error());
  changes.tasks = std::move(*tasks);
  const std::vector<Edge> edges = job.engine().Edges(job.id());
  const cli::RowSource stored = job.StoredRows();
  changes.list = cli::CompareGraphs({stored, edges}, {changes.tasks.rows, changes.tasks.edges});
  if (auto read = job.rows_status(); !read) return std::unexpected(read.error());
  changes.reopened = Withdrawn(job, changes.list.kept, edges);
  // Tasks that have not run yet need their inputs now.
  auto waits = [&](uint32_t index) {
    auto state = job.engine().StateOf(job.id(), index);
    return state == TaskState::kQueued || state == TaskState::kLeased;
  };
  if (auto ok = cli::CheckInputs(job.StoredRows(), waits, context); !ok) {
    return std::unexpected(ok.error());
  }
  auto is_new = [&](uint32_t position) {
    return std::binary_search(changes.list.added.begin(), changes.list.added.end(), position);
  };
  if (auto ok = cli::CheckInputs(changes.tasks.rows, is_new, context); !ok) {
    return std::unexpected(ok.error());
  }
  return changes;
}

int NothingLeft(const LocalJob& job) {
  JobCounts counts = job.counts();
  uint32_t failed = counts.failed + counts.unknown;
  int code = failed > 0 || job.cancelled() ? cli::kExitTasksFailed : cli::kExitSuccess;
  if (job.options().show.form == cli::OutputForm::kQuiet) return code;
  fmt::print(stderr, "spate: nothing left to do: job {} is complete ({} of {} succeeded)\n",
             job.id().value, FormatCount(counts.succeeded), cli::CountOf(counts.total, "task"));
  if (failed > 0) {
    fmt::print(stderr, "spate: to run again what failed: {}\n", cli::RetryCommand(job.hints()));
  }
  return code;
}

void TellChange(size_t added, size_t missing) {
  std::string text = cli::CountOf(added, "new task");
  if (missing > 0) {
    text += fmt::format(", {} {} no longer in it and {} not run", FormatCount(missing),
                        missing == 1 ? "is" : "are", missing == 1 ? "does" : "do");
  }
  fmt::print(stderr, "spate: the list has changed: {}\n", text);
}

// Another input than the one that was taken whole must not be passed over in silence.
Status CheckWholeInput(const LocalJob& job) {
  auto same = CheckSameInput(os::kStdin, job.InputFolder());
  if (same) return {};
  JobCounts counts = job.counts();
  std::string rest =
      counts.finished() == counts.total
          ? fmt::format("job {} is complete", job.id().value)
          : fmt::format("to go on with job {}: the same with < /dev/null", job.id().value);
  return Fail(same.error().kind,
              fmt::format("{}\n{}; to run the command on this input: the same without --resume",
                          same.error().message, rest));
}

// Goes on with what was taken of the input, and with the rest when it is given again.
Result<int> ResumePipe(LocalJob& job, const RunOptions& typed) {
  bool whole = job.InputIsWhole();
  bool given = typed.sources.has_command && cli::StdinIsSource(os::kStdin);
  if (whole && given) {
    if (auto same = CheckWholeInput(job); !same) return std::unexpected(same.error());
  }
  JobCounts counts = job.counts();
  if (whole && counts.finished() == counts.total) return NothingLeft(job);
  if (!whole && !given && counts.finished() == counts.total) {
    job.TellRestOfInput();
    return cli::kExitTasksFailed;
  }
  job.Resume();
  if (!whole && given) {
    if (auto read = job.ReadOn(); !read) return std::unexpected(read.error());
  } else if (whole) {
    job.Post(engine::SealJob{job.id()});
  }
  return job.Run(/*resumed=*/true);
}

Result<int> Resume(const Surroundings& here, const std::string& state_dir,
                   const cli::Invocation& invocation, const RunOptions& typed, uint32_t number) {
  auto opened = LocalJob::Open(here, state_dir, number, [&](const auto& stored) {
    return cli::ParseRun(stored, invocation.argv);
  });
  if (!opened) return std::unexpected(opened.error());
  LocalJob& job = **opened;
  if (job.options().sources.input.from == cli::InputOptions::From::kPipe) {
    return ResumePipe(job, typed);
  }
  auto changes = ReadChanges(job, here, typed);
  if (!changes) return std::unexpected(changes.error());
  const cli::ListChange& list = changes->list;
  bool changed = !list.added.empty() || !changes->reopened.empty();
  if (job.engine().Finished(job.id()) && !changed) return NothingLeft(job);
  if (auto sound = CheckSurroundings(here, job.settings()); !sound) {
    return std::unexpected(sound.error());
  }
  if (!list.same() && job.options().show.form != cli::OutputForm::kQuiet) {
    size_t missing = 0;
    for (TaskRange range : list.missing) missing += range.count;
    TellChange(list.added.size(), missing);
  }
  job.Resume();
  if (!list.missing.empty()) job.Post(engine::WithdrawTasks{job.id(), list.missing});
  if (!changes->reopened.empty()) job.Post(engine::ReopenTasks{job.id(), changes->reopened});
  job.AddTasks(changes->tasks, list.added,
               cli::EdgesOfAdded(changes->tasks.edges, list, job.counts().total));
  job.Post(engine::SealJob{job.id()});
  *changes = {};
  return job.Run(/*resumed=*/true);
}

// Whether this machine can ever run tasks of the job with other needs.
Status CheckChange(const LocalJob& job, const NeedsChange& change, const Offer& offer) {
  if (change.empty()) return {};
  cli::TaskList tasks;
  for (const TaskClass& each : job.engine().Requests(job.id())) {
    tasks.requests.push_back(each);
    tasks.requests.back().needs = Changed(each.needs, change);
    tasks.places.push_back(fmt::format("job {}", job.id().value));
  }
  return CheckNeeds(tasks, offer);
}

Result<int> Retry(const Surroundings& here, const cli::Invocation& invocation) {
  const auto& words = invocation.words.words;
  auto selected = format::ParseTaskSelector(words.empty() ? "last" : words.front());
  if (!selected) return std::unexpected(selected.error());
  if (selected->size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in: spate job retry 12, or 12.3-9");
  }
  auto typed = cli::ParseRun({}, invocation.argv, cli::Command::kJobRetry);
  if (!typed) return std::unexpected(typed.error());
  std::string state_dir = StateDirOf(typed->state_dir, here);
  history::JournalAsker runs(RunsIn(state_dir, here.machine.facts().cores));
  if (auto found = cli::LookUpNames(runs, *selected); !found) {
    return std::unexpected(found.error());
  }
  const TasksOfJob& tasks = selected->front();
  uint32_t number = tasks.job.value_or(0);
  if (!tasks.job) {
    auto numbers = store::RunNumbers(state_dir);
    if (!numbers) return std::unexpected(numbers.error());
    auto last = store::NewestAccepted(state_dir, *numbers);
    if (!last) return std::unexpected(last.error());
    if (!*last) return Fail(ErrorKind::kNotFound, "there is no job yet in " + state_dir);
    number = **last;
  }
  auto opened = LocalJob::Open(here, state_dir, number, [&](const auto& stored) {
    return cli::ParseRun(stored, invocation.argv, cli::Command::kJobRetry);
  });
  if (!opened) return std::unexpected(opened.error());
  LocalJob& job = **opened;
  auto is_wanted = [&](TaskIndex i) {
    auto state = job.engine().StateOf(job.id(), i);
    bool bad = state == TaskState::kFailed || state == TaskState::kUnknown;
    return bad && tasks.Contains(i + 1);
  };
  std::vector<TaskRange> failed;
  for (TaskIndex i = 0; i < job.counts().total; ++i) {
    if (is_wanted(i)) AppendIndex(failed, i);
  }
  if (failed.empty()) {
    bool chosen = !words.empty() && words.front().find('.') != std::string::npos;
    fmt::print(stderr, "spate: nothing to retry: no {}task of job {} has failed\n",
               chosen ? "chosen " : "", number);
    return cli::kExitSuccess;
  }
  if (typed->dry_run) {
    int code = DryRun(job.StoredRows(), job.settings(), job.id(), is_wanted);
    if (auto read = job.rows_status(); !read) return std::unexpected(read.error());
    return code;
  }
  auto change = cli::MakeNeedsChange(invocation.words);
  if (!change) return std::unexpected(change.error());
  if (auto fits = CheckChange(job, *change, OfferOf(job.options(), here)); !fits) {
    return std::unexpected(fits.error());
  }
  if (auto sound = CheckSurroundings(here, job.settings()); !sound) {
    return std::unexpected(sound.error());
  }
  job.Resume();
  job.Post(engine::ReopenTasks{job.id(), std::move(failed), std::move(*change)});
  return job.Run(/*resumed=*/true);
}

Result<int> RunAny(const cli::Invocation& invocation) {
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  if (invocation.words.command == cli::Command::kJobRetry) return Retry(*here, invocation);
  auto options = cli::ParseRun(invocation.preset, invocation.argv);
  if (!options) return std::unexpected(options.error());
  auto slots = ReadSlotsFile(*options, here->cwd, here->machine.facts().cores);
  if (!slots) return std::unexpected(slots.error());
  if (options->resume) {
    std::string state_dir = StateDirOf(options->state_dir, *here);
    auto earlier = FindEarlierRun(state_dir, here->cwd, *options);
    if (!earlier) return std::unexpected(earlier.error());
    TellPassedOver(*options, *earlier);
    if (earlier->job) return Resume(*here, state_dir, invocation, *options, earlier->job->number);
    if (options->sources.files.empty() && !options->sources.has_command) {
      return Fail(ErrorKind::kNotFound,
                  "there is no unfinished run of this folder; name the list to run");
    }
  }
  if (auto in_time = cli::SetDeadline(*options, os::Clock().Now()); !in_time) {
    return std::unexpected(in_time.error());
  }
  std::vector<std::string> argv = invocation.preset;
  argv.insert(argv.end(), invocation.argv.begin(), invocation.argv.end());
  return RunNew(*here, *options, argv);
}

}  // namespace

int RunLocally(const cli::Invocation& invocation) {
  auto code = RunAny(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::run
