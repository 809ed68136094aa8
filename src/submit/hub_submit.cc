#include "submit/hub_submit.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/finish_output.h"
#include "cli/history/select.h"
#include "cli/history/suggestion.h"
#include "cli/hub/hub_screen.h"
#include "cli/options/gang_options.h"
#include "cli/options/list_files.h"
#include "cli/options/option_uses.h"
#include "cli/options/submit_options.h"
#include "cli/pool/pool_verbs.h"
#include "cli/report.h"
#include "cli/run/start_order.h"
#include "cli/run/task_list.h"
#include "cli/table/text_width.h"
#include "cli/text/pool_words.h"
#include "cli/text/reach.h"
#include "cli/view/json_fields.h"
#include "client/hub_call.h"
#include "core/engine/record.h"
#include "daemon/hub_daemon.h"
#include "format/expand.h"
#include "format/selector/selector.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "run/earlier_runs.h"
#include "run/history.h"
#include "run/job_text.h"
#include "run/local_job.h"
#include "submit/hub_files.h"
#include "submit/hub_run.h"
#include "submit/hub_wait.h"
#include "wire/limits.h"
#include "wire/pieces.h"

namespace spate::submit {
namespace {

using client::HubCall;

constexpr Duration kFirstSubmitPause = Duration::Millis(200);
constexpr Duration kLongestSubmitPause = Duration::Seconds(5);
// So long a submit tries to reach its hub again.
constexpr Duration kSubmitPatience = Duration::Seconds(60);

// ---- Submitting --------------------------------------------------------------------------------

// Of a hub that one run has to itself: sent again, it is the same job.
constexpr const char* kOnlyJob = "run";

std::string NewSubmission(const client::Surroundings& here, Instant now) {
  return fmt::format("{}/{}-{}", here.machine.facts().host_name, os::OwnPid(), now.ns);
}

// The numbers of --array, as values of the command.
cli::TaskList ArrayTasks(const cli::SubmitOptions& options, JobSettings& settings) {
  const cli::ArrayRange& array = *options.array;
  settings.row_kind = options.run.sources.resident ? RowKind::kResident : RowKind::kValues;
  settings.command = options.run.sources.command;
  settings.has_source = true;
  settings.record_values = 1;
  cli::TaskList tasks;
  tasks.count = static_cast<uint32_t>(array.count());
  tasks.requests = {cli::ClassOf(options.run)};
  tasks.runs = {{0, tasks.count, 0}};
  tasks.places = {"--array"};
  tasks.rows = [array](const cli::RowVisitor& visit) {
    for (uint64_t number = array.first;; number += array.step) {
      visit(fmt::format("{}", number));
      if (array.last - number < array.step) return;
    }
  };
  return tasks;
}

using KnownNames = std::function<Result<std::vector<std::string>>()>;

Result<cli::TaskList> LoadTasks(const cli::SubmitOptions& options, const client::Surroundings& here,
                                KnownNames known, JobSettings& settings) {
  cli::ShellCheck shell(settings, /*inherits=*/false);
  // The shell of the job that tasks are added to is not known here.
  if (!options.job.empty()) shell = cli::ShellCheck();
  if (options.array) {
    if (auto sound = shell.Check(options.run.sources.command); !sound) {
      return std::unexpected(sound.error());
    }
    cli::TaskList tasks = ArrayTasks(options, settings);
    auto compiled = format::CompileJob(settings, JobId(1));
    return compiled ? Result<cli::TaskList>(std::move(tasks)) : std::unexpected(compiled.error());
  }
  if (auto status = cli::CheckSources(options.run); !status) {
    return std::unexpected(status.error());
  }
  std::string path = here.environment.GetOr("PATH", "");
  if (auto status = cli::CheckListFiles(options.run.sources.files, path); !status) {
    return std::unexpected(status.error());
  }
  cli::LoadContext context = run::LoadContextOf(settings, 1, !options.run.dry_run);
  context.known_names = std::move(known);
  context.shell = std::move(shell);
  return cli::LoadTaskList(options.run, context, settings);
}

Result<JobSettings> SettingsOfSubmit(const cli::SubmitOptions& options,
                                     const client::Surroundings& here) {
  JobSettings settings = cli::SettingsOf(options.run, here.cwd, here.machine.facts().cores);
  auto environment = cli::CaptureEnvironment(options.environment, here.environment.entries());
  if (!environment) return std::unexpected(environment.error());
  settings.environment = std::move(*environment);
  settings.umask = static_cast<int>(os::CurrentUmask());
  settings.live_output = false;
  return settings;
}

// A hub ends the connection of a client that sends more.
Status CheckRow(uint32_t task, std::string_view row) {
  constexpr uint64_t kMost = wire::kWireLimits.row_bytes;
  if (row.size() <= kMost) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("task {}: its line has {} bytes, and a hub takes {} at most: pass the data "
                  "in a file",
                  task, FormatCount(row.size()), FormatCount(kMost)));
}

Status SendAll(HubCall& call, const Submission& submission) {
  if (auto sent = call.Send(submission.head); !sent) return sent;
  for (const std::string& piece : submission.pieces) {
    if (auto sent = call.Send(wire::PutPieces{{piece}}); !sent) return sent;
  }
  wire::Rows rows;
  size_t bytes = 0;
  Status status;
  auto flush = [&] {
    status = call.Send(std::exchange(rows, {}));
    bytes = 0;
  };
  uint32_t task = submission.end.known_tasks;
  submission.tasks.rows([&](std::string_view row) {
    if (!status) return;
    status = CheckRow(++task, row);
    if (!status) return;
    bytes += row.size();
    rows.rows.emplace_back(row);
    if (rows.rows.size() == 16'384 || bytes > wire::kPieceBytes) flush();
  });
  if (status && !rows.rows.empty()) flush();
  if (!status) return status;
  constexpr size_t kEdgesAtOnce = 65'536;
  for (std::span<const Edge> left = submission.tasks.edges; !left.empty();) {
    auto some = left.first(std::min(kEdgesAtOnce, left.size()));
    if (auto sent = call.Send(wire::Edges{{some.begin(), some.end()}}); !sent) return sent;
    left = left.subspan(some.size());
  }
  return call.Send(submission.end);
}

// Until the hub has it: a connection that was lost is made again, when there was one (`reached`).
Result<wire::Accepted> Deliver(HubCall& call, os::RealLoop& loop, const Submission& submission,
                               bool reached = false) {
  Duration pause = kFirstSubmitPause;
  Instant last = loop.Now() + kSubmitPatience;
  for (;;) {
    Error error;
    if (auto connected = call.Connect(); !connected) {
      error = connected.error();
    } else {
      reached = true;
      // A refusal may come before all was sent. What no hub takes was not sent.
      auto sent = SendAll(call, submission);
      if (!sent && sent.error().kind == ErrorKind::kInvalid) {
        return std::unexpected(std::move(sent.error()));
      }
      auto reply = call.Next();
      if (reply) {
        if (auto* accepted = std::get_if<wire::Accepted>(&*reply)) return std::move(*accepted);
        if (auto* failed = std::get_if<wire::Failed>(&*reply)) {
          return Fail(failed->kind, failed->text);
        }
        return Fail(ErrorKind::kIo, "the hub answered something else than was asked");
      }
      error = reply.error();
    }
    bool again = error.kind == ErrorKind::kUnavailable && reached && loop.Now() < last;
    if (!again || call.interrupted()) return std::unexpected(error);
    call.Pause(pause);
    pause = std::min(pause + pause, kLongestSubmitPause);
  }
}

// Nodes that do not know it are passed over.
void NeedFeature(std::vector<TaskClass>& requests, std::string_view feature) {
  const std::string label = kFeatureMark + std::string(feature);
  for (TaskClass& request : requests) {
    std::vector<std::string>& labels = request.needs.labels;
    labels.insert(std::ranges::lower_bound(labels, label), label);
  }
}

// It goes to the hub in one message.
Result<std::vector<TaskIndex>> OrderOf(uint32_t tasks, Instant now) {
  constexpr uint32_t kMost = 3'000'000;
  if (tasks <= kMost) return cli::Shuffled(tasks, static_cast<uint64_t>(now.ns));
  return Fail(ErrorKind::kInvalid,
              fmt::format("--order shuffle: a hub takes at most {} tasks in another order than "
                          "that of their list; shuffle the list itself (shuf)",
                          FormatCount(kMost)));
}

// Whatever was typed is obeyed on a hub, or refused before anything is sent. The words of a run
// with a pool of its own (`resume`) were checked before its hub was started.
Status CheckTyped(const cli::Invocation& invocation, const std::string& resume) {
  cli::Command command = invocation.words.command;
  if (command == cli::Command::kJobAdd || !resume.empty()) return {};
  auto way = command == cli::Command::kRun ? cli::Way::kHub : cli::Way::kSubmit;
  auto typed = cli::ParseWords(command, invocation.argv);
  return typed ? cli::CheckUses(way, *typed) : std::unexpected(typed.error());
}

Result<Submission> MakeSubmission(const cli::SubmitOptions& options,
                                  const client::HubSetting& setting,
                                  const std::vector<std::string>& argv, KnownNames known) {
  auto settings = SettingsOfSubmit(options, setting.here);
  if (!settings) return std::unexpected(settings.error());
  Submission made;
  auto tasks = LoadTasks(options, setting.here, std::move(known), *settings);
  if (!tasks) return std::unexpected(tasks.error());
  made.tasks = std::move(*tasks);
  if (!options.notify.empty()) {
    JobSettings notify;  // its shell is /bin/sh
    notify.environment = settings->environment;
    cli::ShellCheck shell(notify, /*inherits=*/false, "write bash -c '...'");
    if (auto sound = shell.Check({&options.notify, 1}); !sound) {
      return Within("--notify", sound.error());
    }
  }
  auto pieces = ReadFiles(made.tasks, *settings);
  if (!pieces) return std::unexpected(pieces.error());
  made.pieces = std::move(*pieces);
  made.forwards = HasForwards(made.tasks, *settings);
  wire::Submit& head = made.head;
  head.submission =
      setting.resume.empty() ? NewSubmission(setting.here, setting.loop->Now()) : kOnlyJob;
  head.settings = std::make_shared<const JobSettings>(std::move(*settings));
  head.policy = options.run.policy;
  head.argv = argv;
  std::erase(head.argv, "--hub");
  for (const std::string& file : options.run.sources.files) {
    head.files.push_back(run::ListName(setting.here.cwd, file));
  }
  head.name = cli::NameOf(options.run);
  head.keep_output = options.run.keep_output;
  head.priority = options.priority;
  head.policy.max_running = options.max_running;
  head.policy.weight = options.weight;
  head.open = options.open;
  made.end.count = made.tasks.count;
  made.end.requests = made.tasks.requests;
  if (made.forwards) NeedFeature(made.end.requests, "forwards");
  if (head.settings->shell.find_first_of(" \t") != std::string::npos) {
    NeedFeature(made.end.requests, "shell-words");
  }
  if (options.run.sources.resident) NeedFeature(made.end.requests, "resident");
  if (!options.run.gang.empty()) NeedFeature(made.end.requests, "gangs");
  made.end.runs = made.tasks.runs;
  if (options.run.order == cli::TaskOrder::kShuffle) {
    auto order = OrderOf(made.end.count, setting.loop->Now());
    if (!order) return std::unexpected(order.error());
    made.end.order = std::move(*order);
  }
  made.end.known_tasks = made.tasks.known_tasks;
  return made;
}

Status FillAfter(const cli::SubmitOptions& options, HubCall& call, wire::Submit& head) {
  for (const cli::AfterJob& after : options.after) {
    uint32_t number = 0;
    if (after.job == "last") {
      if (auto sent = call.Send(wire::Watch{JobId()}); !sent) return sent;
      auto reply = call.Next();
      if (!reply) return std::unexpected(reply.error());
      const auto* news = std::get_if<wire::JobNews>(&*reply);
      if (news == nullptr) return Fail(ErrorKind::kNotFound, "--after: you have no job yet");
      number = news->job.value;
    } else {
      auto selected = format::ParseJobSelector(after.job);
      if (!selected) return Within("--after", selected.error());
      number = selected->ranges.front().first;
    }
    head.after.push_back({JobId(number), static_cast<uint32_t>(after.how)});
  }
  return {};
}

// The tasks of --pool NAME would wait for ever if there were no such pool.
Status CheckPool(HubCall& call, const std::string& name, std::string_view reach) {
  if (auto connected = call.Connect(); !connected) return connected;
  std::vector<PoolFacts> pools;
  auto asked = client::Ask(call, wire::LookAtPools(),
                           [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  if (!asked) return asked;
  return cli::CheckPoolOfSubmit(pools, name, reach);
}

// The job of --notify: one task of one command, when `job` has ended. It has the name of the first
// submission, so that it is one job however often it is sent.
Submission MakeNotify(const std::string& command, const wire::Submit& of, JobId job) {
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = of.settings->cwd;
  settings->umask = of.settings->umask;
  settings->environment = of.settings->environment;
  settings->environment.push_back(fmt::format("SPATE_NOTIFY_JOB={}", job.value));
  settings->row_kind = RowKind::kValues;
  settings->command = {command};
  settings->has_source = false;
  Submission made;
  wire::Submit& head = made.head;
  head.submission = of.submission + "+notify";
  head.settings = std::move(settings);
  head.argv = {fmt::format("--after=any:{}", job.value), "--", command};
  head.name = fmt::format("notify of job {}", job.value);
  head.keep_output = kKeepOutput;
  head.after.push_back({job, static_cast<uint32_t>(AfterKind::kAny)});
  made.tasks.count = 1;
  made.tasks.rows = [](const cli::RowVisitor& visit) { visit(""); };
  made.end = {1, {Needs()}, {{0, 1, 0}}, {}};
  return made;
}

int PrintCommands(const Submission& submission) {
  auto compiled = format::CompileJob(*submission.head.settings, JobId(1));
  if (!compiled) return cli::ReportError(compiled.error());
  TaskIndex index = 0;
  submission.tasks.rows([&](std::string_view row) {
    const std::string line = format::CommandText(*compiled, row, index++, 1) + "\n";
    if (std::ferror(stdout) == 0) std::fwrite(line.data(), 1, line.size(), stdout);
  });
  return cli::FinishOutput();
}

// ---- The commands ------------------------------------------------------------------------------

void TellSubmitted(cli::OutputForm form, JobId job, uint32_t tasks) {
  if (form == cli::OutputForm::kJson) {
    fmt::print("{{\"type\":\"submitted\",\"version\":1,\"job\":{},\"tasks\":{}}}\n", job.value,
               tasks);
  } else {
    fmt::print("{}\n", job.value);
  }
  if (cli::FinishOutput() != cli::kExitSuccess) {
    fmt::print(stderr, "spate: job {} was submitted; do not submit it again\n", job.value);
  }
}

// The job itself is there already, and its number told.
Status Notify(HubCall& call, os::RealLoop& loop, const cli::SubmitOptions& options,
              const Submission& notify, JobId job) {
  auto accepted = Deliver(call, loop, notify, /*reached=*/true);
  if (!accepted) {
    return Within(fmt::format("job {0} was submitted, but nothing runs at its end (to try again: "
                              "spate submit --after any:{0} -- COMMAND)",
                              job.value),
                  accepted.error());
  }
  if (options.run.show.form != cli::OutputForm::kQuiet) {
    fmt::print(stderr, "spate: job {} runs the command of --notify when job {} has ended\n",
               accepted->job.value, job.value);
  }
  return {};
}

// None: a new job is made.
Result<std::optional<JobId>> JobToAddTo(const cli::SubmitOptions& options) {
  if (options.job.empty()) return std::nullopt;
  auto job = format::ParseJobSelector(options.job);
  if (!job) return std::unexpected(job.error());
  if (job->ranges.size() != 1) return Fail(ErrorKind::kInvalid, "name the job by its number");
  return JobId(job->ranges.front().first);
}

// The names of the tasks that a job has, by index.
Result<std::vector<std::string>> NamesIn(HubCall& call, JobId job) {
  if (auto connected = call.Connect(); !connected) return std::unexpected(connected.error());
  wire::LookAtGraph question;
  question.jobs.ranges = {{job.value, job.value}};
  std::vector<std::string> names;
  auto asked = client::Ask(call, std::move(question), [&](GraphFacts some) {
    std::ranges::move(some.names, std::back_inserter(names));
  });
  if (!asked) return std::unexpected(asked.error());
  return names;
}

// What --like JOB stands for comes before what is typed, as options of a profile do.
Result<cli::SubmitOptions> TakeLike(HubCall& call, const cli::Invocation& invocation,
                                    std::string_view job) {
  if (auto connected = call.Connect(); !connected) return std::unexpected(connected.error());
  auto suggestion = cli::Suggest(call, job);
  if (!suggestion) return Within("--like", std::move(suggestion.error()));
  std::vector<std::string> typed = suggestion->options;
  typed.insert(typed.end(), invocation.argv.begin(), invocation.argv.end());
  auto words = cli::ParseWords(invocation.words.command, typed);
  if (!words) return std::unexpected(std::move(words.error()));
  auto options = cli::MakeSubmitOptions(*words);
  if (options && options->run.show.form == cli::OutputForm::kHuman) {
    fmt::print(stderr, "spate: like job {}: {}\n", suggestion->use.job->value, suggestion->Text());
  }
  return options;
}

Result<int> Submit(const cli::Invocation& invocation, const std::string& resume = "") {
  if (auto typed = CheckTyped(invocation, resume); !typed) return std::unexpected(typed.error());
  auto options = cli::MakeSubmitOptions(invocation.words);
  if (!options) return std::unexpected(options.error());
  auto setting = FindSetting(invocation.words);
  if (!setting) return std::unexpected(setting.error());
  setting->resume = resume;
  os::RealLoop& loop = *setting->loop;
  HubCall call(loop, setting->target);
  loop.OnSignal(os::kSignalInt, [&] { call.Interrupt(); });
  if (auto like = invocation.words.Last(cli::Opt::kLike)) {
    options = TakeLike(call, invocation, *like);
    if (!options) return std::unexpected(options.error());
  }
  if (auto in_time = cli::SetDeadline(options->run, loop.Now()); !in_time) {
    return std::unexpected(in_time.error());
  }
  auto job = JobToAddTo(*options);
  if (!job) return std::unexpected(job.error());
  KnownNames known;
  if (*job) known = [&] { return NamesIn(call, **job); };
  auto submission = MakeSubmission(*options, *setting, invocation.argv, std::move(known));
  if (!submission) return std::unexpected(submission.error());
  submission->head.add_to = job->value_or(JobId());
  if (options->run.dry_run) return PrintCommands(*submission);
  if (submission->end.count == 0 && !options->open) {
    return Fail(ErrorKind::kInvalid, "0 tasks: there is nothing to submit");
  }
  if (submission->end.requests.empty()) submission->end.requests = {cli::ClassOf(options->run)};
  if (!options->after.empty()) {
    if (auto connected = call.Connect(); !connected) return std::unexpected(connected.error());
    if (auto filled = FillAfter(*options, call, submission->head); !filled) {
      return std::unexpected(filled.error());
    }
  }
  if (!options->pool.empty()) {
    if (auto there = CheckPool(call, options->pool, setting->reach); !there) {
      return std::unexpected(there.error());
    }
  }
  auto accepted = Deliver(call, loop, *submission);
  if (!accepted) return std::unexpected(accepted.error());
  if (invocation.words.command == cli::Command::kRun) {
    auto code = FollowJob(call, *setting, *options, *submission, accepted->job);
    return code ? BringHome(call, *setting, *submission, accepted->job, *code) : code;
  }
  submission->pieces = {};
  submission->tasks = {};
  TellSubmitted(options->run.show.form, accepted->job, submission->end.count);
  if (!options->notify.empty()) {
    Submission notify = MakeNotify(options->notify, submission->head, accepted->job);
    if (auto told = Notify(call, loop, *options, notify, accepted->job); !told) {
      return std::unexpected(told.error());
    }
  }
  if (options->wait || options->progress) {
    WaitOptions how{options->progress, options->run.show.form == cli::OutputForm::kQuiet,
                    options->run.policy.halt, setting->reach};
    auto code = Waiter(call, loop, setting->here, std::move(how)).Wait(accepted->job, true);
    return code ? BringHome(call, *setting, *submission, accepted->job, *code) : code;
  }
  if (options->run.show.form == cli::OutputForm::kHuman) {
    std::string why =
        WhyNot({accepted->job, {}, false, 0, accepted->nodes, accepted->why}, setting->reach);
    if (!why.empty()) fmt::print(stderr, "spate: {}\n", why);
  }
  return cli::kExitSuccess;
}

// Numbers of a hub's jobs are not those of this machine's runs.
std::unexpected<Error> WithLocalHint(const auto& failed, const cli::Invocation& invocation) {
  Error error = failed.error();
  bool may = (cli::Definition(cli::Opt::kLocal).commands & cli::Bit(invocation.words.command)) != 0;
  if (error.kind == ErrorKind::kUnavailable && may) {
    error.message += "\nThe runs of this machine are meant with --local";
  }
  return std::unexpected(std::move(error));
}

Result<int> Wait(const cli::Invocation& invocation) {
  auto setting = FindSetting(invocation.words);
  if (!setting) return WithLocalHint(setting, invocation);
  std::vector<std::string> words = invocation.words.words;
  if (words.empty()) words.push_back("last");
  HubCall call(*setting->loop, setting->target);
  setting->loop->OnSignal(os::kSignalInt, [&] { call.Interrupt(); });
  bool bar = invocation.words.command == cli::Command::kJobProgress;
  int code = cli::kExitSuccess;
  for (const std::string& word : words) {
    auto selector = format::ParseJobSelector(word);
    if (!selector) return std::unexpected(selector.error());
    if (selector->all) return Fail(ErrorKind::kInvalid, "name the jobs to wait for by number");
    std::vector<JobId> jobs;
    if (selector->last) jobs.emplace_back();
    for (const NumberRange& range : selector->ranges) {
      for (uint64_t n = range.first; n <= range.last; n += range.step) {
        jobs.emplace_back(static_cast<uint32_t>(n));
      }
    }
    for (JobId job : jobs) {
      Waiter waiter(call, *setting->loop, setting->here, {bar, false, {}, setting->reach});
      auto waited = waiter.Wait(job, false);
      if (!waited) return WithLocalHint(waited, invocation);
      code = std::max(code, *waited);
      if (call.interrupted()) return code;
    }
  }
  return code;
}

// Facts about tasks that have not ended, which only the hub knows. kNotFound: ask the journal.
Result<int> Explain(const cli::HubScreen& screen) {
  wire::ExplainTasks question;
  for (const std::string& word : screen.words.words) {
    auto tasks = format::ParseTaskSelector(word);
    if (!tasks) return std::unexpected(tasks.error());
    question.tasks.insert(question.tasks.end(), tasks->begin(), tasks->end());
  }
  if (auto found = cli::LookUpNames(screen.hub, question.tasks); !found) {
    return std::unexpected(found.error());
  }
  std::string text;
  auto asked = client::Ask(screen.hub, std::move(question), [&](TaskWhy task) {
    task.why = cli::Reaching(std::move(task.why), screen.reach);
    text += screen.human() ? fmt::format("{}.{}: {}\n", task.job.value, task.task, task.why)
                           : cli::JsonOf("explanation", task);
  });
  if (asked) asked = screen.write_out(text);
  return asked ? Result<int>(cli::kExitSuccess) : std::unexpected(asked.error());
}

// What the hub answers by itself.
Result<int> AskTyped(HubCall& call, const client::HubSetting& setting, const cli::Words& words,
                     cli::HubVerb verb) {
  auto form = cli::OutputFormOf(words);
  if (!form) return std::unexpected(form.error());
  cli::HubScreen screen{call, words, *form};
  screen.width = os::PrintWidth(os::kStdout, setting.here.environment).value_or(cli::kWholeWidth);
  screen.colour = os::LookAtTerminal(os::kStdout, setting.here.environment).may_colour;
  screen.reach = setting.reach;
  screen.write_out = [](std::string_view text) {
    return os::WriteAll(os::kStdout, text, "standard output");
  };
  screen.write_err = [](std::string_view text) {
    (void)os::WriteAll(os::kStderr, text, "standard error");
  };
  screen.pause = [&call](Duration time) { call.Pause(time); };
  auto code = verb(screen);
  if (code) return code;
  return Fail(code.error().kind, cli::Reaching(code.error().message, setting.reach));
}

Result<int> Ask(const cli::Invocation& invocation) {
  auto setting = FindSetting(invocation.words);
  if (!setting) return WithLocalHint(setting, invocation);
  HubCall call(*setting->loop, setting->target);
  if (auto connected = call.Connect(); !connected) return WithLocalHint(connected, invocation);
  cli::Command asked = invocation.words.command;
  if (cli::HubVerb verb = cli::HubVerbOf(asked)) {
    return AskTyped(call, *setting, invocation.words, verb);
  }
  if (cli::HubVerb verb = cli::PoolVerbOf(asked)) {
    return AskTyped(call, *setting, invocation.words, verb);
  }
  if (asked == cli::Command::kTaskExplain) {
    auto told = AskTyped(call, *setting, invocation.words, Explain);
    if (told || told.error().kind != ErrorKind::kNotFound) return told;
  }
  if (run::IsOfHistory(asked)) return run::AskHistory(call, setting->reach, invocation);
  return Fail(ErrorKind::kInvalid,
              fmt::format("a hub does not answer 'spate {}'; type it where it is to run",
                          cli::Definition(asked).name));
}

int Reported(Result<int> code) { return code ? *code : cli::ReportError(code.error()); }

}  // namespace

Result<client::HubSetting> FindSetting(const cli::Words& words) {
  auto here = client::Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  std::string access(words.Last(cli::Opt::kAccess).value_or(""));
  std::string state(words.Last(cli::Opt::kState).value_or(""));
  std::string line = daemon::StartLineOf(client::HubDirOf(state, *here));
  if (!state.empty()) line += " --state " + ShellQuote(state);
  auto setting = client::OpenHubSetting(std::move(*here), access, state, {std::move(line)});
  if (!setting) return setting;
  // Without any of these the environment names the hub, as it will the next time.
  if (!access.empty()) {
    setting->reach = " --access " + ShellQuote(access);
  } else if (!state.empty()) {
    setting->reach = " --hub --state " + ShellQuote(state);
  }
  return setting;
}

int SubmitToHub(const cli::Invocation& invocation) { return Reported(Submit(invocation)); }
Result<int> RunOnOwnHub(const cli::Invocation& invocation, const std::string& resume) {
  return Submit(invocation, resume);
}
int WaitForJobs(const cli::Invocation& invocation) { return Reported(Wait(invocation)); }
int AskHub(const cli::Invocation& invocation) { return Reported(Ask(invocation)); }

}  // namespace spate::submit
