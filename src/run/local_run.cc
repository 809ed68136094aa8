// What a run is: new, resumed, or a retry; see local_run.h.
#include "run/local_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "base/units.h"
#include "cli/history/select.h"
#include "cli/options/gang_options.h"
#include "cli/options/list_files.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_uses.h"
#include "cli/report.h"
#include "cli/run/shell_check.h"
#include "cli/run/start_order.h"
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
  if (options.order == cli::TaskOrder::kLongest) {
    return LongestFirst(StateDirOf(options.state_dir, here), here.cwd, options, tasks.rows);
  }
  if (options.order != cli::TaskOrder::kShuffle) return {};
  return cli::Shuffled(tasks.count, static_cast<uint64_t>(os::Clock().Now().ns));
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

// Why no task can read `file`, which the user calls `name`; empty when one may. The look is taken
// by a thread that is left behind after two seconds: on a file server that does not answer it may
// take for ever, and the tasks' own limits hold there.
std::string WhyNoInput(const std::string& file, const std::string& name) {
  auto found = std::make_shared<std::promise<std::string>>();
  std::thread([found, file, name] {
    auto info = os::Stat(file);
    std::string why;
    if (!info) {
      why = info.error().message;
    } else if (info->kind == os::FileKind::kDir) {
      why = fmt::format("'{}' is a folder", EscapeForScreen(name));
    } else if (!os::MayAccess(file, "r")) {
      why = fmt::format("'{}' cannot be read: check its rights", EscapeForScreen(name));
    }
    found->set_value(std::move(why));
  }).detach();
  auto answer = found->get_future();
  bool told = answer.wait_for(std::chrono::seconds(2)) == std::future_status::ready;
  return told ? answer.get() : "";
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
  std::string why = WhyNoInput(os::JoinPath(settings.cwd, input), input);
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

// What a changed list means for a job that is resumed.
struct Changes {
  cli::TaskList tasks;
  bool read = false;  // `tasks` and `list` are those of now
  cli::ListChange list;
  std::vector<TaskRange> withdrawn;  // no longer in the list, however they ended
  std::vector<TaskRange> reopened;   // withdrawn before, and back in the list
};

// Whether there is anything to read again: files always, a pipe or values when they are given now.
bool HasListOfNow(const RunOptions& options, const RunOptions& typed) {
  const auto& files = options.sources.files;
  bool from_pipe = std::find(files.begin(), files.end(), "-") != files.end();
  if (!from_pipe && !options.sources.has_command) return true;
  bool given = !typed.sources.files.empty() || typed.sources.has_command;
  return given && (!from_pipe || cli::StdinIsSource(os::kStdin));
}

// Those that have just left the list.
std::vector<TaskRange> Leaving(const LocalJob& job, const std::vector<TaskRange>& missing) {
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
std::vector<TaskRange> ToReopen(const LocalJob& job, const std::vector<TaskRange>& kept,
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
  changes.read = true;
  const std::vector<Edge> edges = job.engine().Edges(job.id());
  const cli::RowSource stored = job.StoredRows();
  changes.list = cli::CompareGraphs({stored, edges}, {changes.tasks.rows, changes.tasks.edges});
  if (auto read = job.rows_status(); !read) return std::unexpected(read.error());
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

// What --memory, --cpus and their like say that were typed now, and not in the environment.
Result<NeedsChange> NeedsTyped(const std::vector<std::string>& argv) {
  auto words = cli::ParseWords(cli::Command::kRun, argv);
  if (!words) return std::unexpected(words.error());
  return cli::MakeNeedsChange(*words);
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

// What the queued tasks of a job ask for with the options of now: as their list says that was read
// again, or all alike. Nothing when no need was typed.
Result<engine::ChangeNeeds> OtherNeeds(const LocalJob& job, const Changes& changes,
                                       const NeedsChange& change, const Offer& offer) {
  engine::ChangeNeeds needs{job.id(), {}, {}};
  if (change.empty()) return needs;
  if (!changes.read) {
    needs.requests = job.engine().Requests(job.id());
    if (needs.requests.size() > 1) {
      return Fail(ErrorKind::kInvalid,
                  "the tasks have needs of their own, and their list is not read again; give it "
                  "once more, as in the first run, or leave out --memory, --cpus and their like");
    }
    if (auto fits = CheckChange(job, change, offer); !fits) return std::unexpected(fits.error());
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
  for (const auto& [index, request] : asked) {
    std::vector<RequestRun>& runs = needs.runs;
    bool joins = !runs.empty() && runs.back().first + runs.back().count == index &&
                 runs.back().request == request;
    if (joins) {
      ++runs.back().count;
    } else {
      runs.push_back({index, 1, request});
    }
  }
  return needs;
}

int NothingLeft(const LocalJob& job) {
  JobCounts counts = job.counts();
  uint32_t failed = counts.failed + counts.unknown;
  bool good = failed + counts.cancelled == 0 && !job.cancelled();
  int code = good ? cli::kExitSuccess : cli::kExitTasksFailed;
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
  if (missing > 0) text += fmt::format(", {} no longer in it", cli::CountOf(missing, "task"));
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
Result<int> ResumePipe(LocalJob& job, const RunOptions& typed, const Surroundings& here,
                       const NeedsChange& change) {
  auto needs = OtherNeeds(job, {}, change, OfferOf(job.options(), here));
  if (!needs) return std::unexpected(needs.error());
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
  if (!needs->runs.empty()) job.Post(std::move(*needs));
  if (!whole && given) {
    if (auto read = job.ReadOn(); !read) return std::unexpected(read.error());
  } else if (whole) {
    job.Post(engine::SealJob{job.id()});
  }
  return job.Run(/*resumed=*/true);
}

Result<int> Resume(const Surroundings& here, const std::string& state_dir,
                   const cli::Invocation& invocation, const RunOptions& typed, uint32_t number) {
  auto parse = [&](const std::vector<std::string>& stored) -> Result<RunOptions> {
    auto kept = cli::CheckKept(stored, invocation.argv);
    if (!kept) return std::unexpected(kept.error());
    return cli::ParseAgain(stored, invocation.preset, invocation.argv, cli::Command::kRun);
  };
  auto change = NeedsTyped(invocation.argv);
  if (!change) return std::unexpected(change.error());
  auto opened = LocalJob::Open(here, state_dir, number, parse);
  if (!opened) return std::unexpected(opened.error());
  LocalJob& job = **opened;
  if (job.options().sources.input.from == cli::InputOptions::From::kPipe) {
    return ResumePipe(job, typed, here, *change);
  }
  auto changes = ReadChanges(job, here, typed);
  if (!changes) return std::unexpected(changes.error());
  auto needs = OtherNeeds(job, *changes, *change, OfferOf(job.options(), here));
  if (!needs) return std::unexpected(needs.error());
  const cli::ListChange& list = changes->list;
  bool changed = !list.added.empty() || !changes->reopened.empty() || !changes->withdrawn.empty();
  if (job.engine().Finished(job.id()) && !changed) return NothingLeft(job);
  if (auto sound = CheckSurroundings(here, job.settings()); !sound) {
    return std::unexpected(sound.error());
  }
  size_t missing = 0;
  for (TaskRange range : changes->withdrawn) missing += range.count;
  bool told = missing > 0 || !list.added.empty();
  if (told && job.options().show.form != cli::OutputForm::kQuiet) {
    TellChange(list.added.size(), missing);
  }
  const uint32_t known = job.task_count();
  job.Resume();
  if (missing > 0) {
    job.Post(engine::WithdrawTasks{job.id(), changes->withdrawn, /*left_list=*/true});
  }
  if (!changes->reopened.empty()) job.Post(engine::ReopenTasks{job.id(), changes->reopened});
  job.AddTasks(changes->tasks, list.added, cli::EdgesOfAdded(changes->tasks.edges, list, known));
  if (!needs->runs.empty()) job.Post(std::move(*needs));
  job.Post(engine::SealJob{job.id()});
  *changes = {};
  return job.Run(/*resumed=*/true);
}

// A retry runs what the job has. Says so where its list has something else by now.
void TellOldText(LocalJob& job, const Surroundings& here, const RunOptions& typed,
                 const std::vector<TaskRange>& retried) {
  const RunOptions& options = job.options();
  if (options.show.form == cli::OutputForm::kQuiet || options.sources.files.empty()) return;
  auto changes = ReadChanges(job, here, typed);
  if (!changes || changes->withdrawn.empty()) return;  // a list that cannot be read is not needed
  size_t old = 0;
  for (TaskRange range : retried) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      auto names = [i](TaskRange other) {
        return i >= other.first && i - other.first < other.count;
      };
      old += std::ranges::any_of(changes->withdrawn, names) ? 1 : 0;
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

Result<int> Retry(const Surroundings& here, const cli::Invocation& invocation) {
  const auto& words = invocation.words.words;
  auto selected = format::ParseTaskSelector(words.empty() ? "last" : words.front());
  if (!selected) return std::unexpected(selected.error());
  if (selected->size() != 1) {
    return Fail(ErrorKind::kInvalid, "name one job, as in: spate job retry 12, or 12.3-9");
  }
  auto typed = cli::ParseRun({}, invocation.argv, cli::Command::kJobRetry);
  if (!typed) return std::unexpected(typed.error());
  if (auto used = cli::CheckUses(cli::Way::kRetry, invocation.words); !used) {
    return std::unexpected(used.error());
  }
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
    return cli::ParseAgain(stored, invocation.preset, invocation.argv, cli::Command::kJobRetry);
  });
  if (!opened) return std::unexpected(opened.error());
  LocalJob& job = **opened;
  auto is_wanted = [&](TaskIndex i) {
    auto state = job.engine().StateOf(job.id(), i);
    bool bad = state == TaskState::kFailed || state == TaskState::kUnknown;
    return bad && tasks.Contains(i + 1);
  };
  std::vector<TaskRange> failed;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
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
  TellOldText(job, here, *typed, failed);
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
