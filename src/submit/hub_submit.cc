#include "submit/hub_submit.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/finish_output.h"
#include "cli/options/option_uses.h"
#include "cli/options/pool_options.h"
#include "cli/options/shared.h"
#include "cli/report.h"
#include "client/hub_call.h"
#include "core/engine/record.h"
#include "format/expand.h"
#include "format/selector/selector.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "plan/job_text.h"
#include "plan/plan.h"
#include "plan/task_list.h"
#include "present/advice.h"
#include "present/json/json_fields.h"
#include "present/text/pool_words.h"
#include "submit/hub_files.h"
#include "submit/hub_wait.h"
#include "submit/suggestion.h"

namespace spate::submit {
namespace {

using client::HubCall;

// ---- Submitting --------------------------------------------------------------------------------

constexpr std::string_view kNotSubmitted = "spate: interrupted; nothing was submitted\n";

// Name of the job of a run with a hub to itself: sent again, it is the same job.
constexpr const char* kOnlyJob = "run";

std::string NewSubmission(const client::Surroundings& here, Instant now) {
  return fmt::format("{}/{}-{}", here.machine.facts().host_name, os::OwnPid(), now.ns);
}

// Whatever was typed is obeyed on a hub, or refused before anything is sent. The words of a run
// with a pool of its own (`resume`) were checked before its hub was started.
Status CheckTyped(const cli::Invocation& invocation, const std::string& resume) {
  const cli::Command& command = *invocation.words.command;
  if (command.makes == cli::Makes::kAddition || !resume.empty()) return {};
  auto way = command.makes == cli::Makes::kRun ? cli::Way::kHub : cli::Way::kSubmit;
  auto typed = cli::ParseWords(command, invocation.argv);
  return typed ? cli::CheckUses(way, *typed) : std::unexpected(typed.error());
}

// Without a word, a node of an earlier release leaves these out.
bool NeedsTaskLimits(const JobSettings& settings) {
  const OnExcess cpu = settings.on_excess_cpu;
  return settings.max_processes > 0 || !settings.limits.empty() ||
         (cpu != OnExcess::kUsual && cpu != OnExcess::kWarn) ||
         ActionOf(settings, Resource::kMemory) != OnExcess::kKill;
}

Result<Submission> MakeSubmission(const cli::SubmitOptions& options,
                                  const client::HubSetting& setting,
                                  const std::vector<std::string>& argv, run::Plan plan) {
  auto pieces = TRY(ReadFiles(plan.tasks, plan.settings));
  const bool needs_bash = plan.settings.bash && plan.tasks.needs_shell;
  auto made = TRY(run::SubmissionOf(std::move(plan), argv));
  made.again = Submission::Again::kLost;
  made.pieces = std::move(pieces);
  wire::Submit& head = made.head;
  head.submission =
      setting.resume.empty() ? NewSubmission(setting.here, setting.loop->Now()) : kOnlyJob;
  if (!options.key.empty()) head.submission = options.key;
  std::erase(head.argv, "--hub");
  head.priority = options.priority;
  head.policy.max_running = options.max_running;
  head.policy.weight = options.weight;
  head.open = options.open;
  const GangPart::Meets meets = options.run.meets;
  for (const auto& [needed, feature] :
       {std::pair{made.forwards, "forwards"},
        {needs_bash, kBashFeature},
        {head.settings->shell.find_first_of(" \t") != std::string::npos, "shell-words"},
        {NeedsTaskLimits(*head.settings), "task-limits"},
        {options.run.sources.array.has_value(), "array-value"},
        {head.settings->append_output, "append"},
        {options.run.sources.resident, "resident"},
        {!options.run.gang.empty(), "gangs"},
        {meets == GangPart::Meets::kPmi, "pmi"},
        {meets == GangPart::Meets::kPmix, kPmixFeature}}) {
    if (needed) made.NeedFeature(feature);
  }
  return made;
}

Status FillAfter(const cli::SubmitOptions& options, HubCall& call, wire::Submit& head) {
  for (const cli::AfterJob& after : options.after) {
    uint32_t number = 0;
    if (after.job == "last") {
      auto watch = TRY(call.Begin(wire::Watch{JobId()}));
      auto news = call.NextNews(*watch);
      if (!news) return Fail(ErrorKind::kNotFound, "--after: you have no job yet");
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
  std::vector<PoolFacts> pools;
  auto asked = client::Query(call, wire::LookAtPools(),
                             [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  if (!asked) return asked;
  return present::CheckPoolOfSubmit(pools, name, reach);
}

// The job of --notify: one task of one command, when `job` has ended. It has the name of the first
// submission, so that it is one job however often it is sent.
Submission MakeNotify(const std::string& command, const wire::Submit& of, JobId job) {
  JobSettings settings;
  settings.cwd = of.settings->cwd;
  settings.umask = of.settings->umask;
  settings.soft_limits = of.settings->soft_limits;
  settings.environment = of.settings->environment;
  settings.environment.push_back(fmt::format("SPATE_NOTIFY_JOB={}", job.value));
  settings.row_kind = RowKind::kValues;
  settings.command = {command};
  settings.bash = true;
  settings.has_source = false;
  const bool needs_bash = format::MayNeedShell(settings);
  auto made = Submission::Of(std::move(settings),
                             {fmt::format("--after=any:{}", job.value), "--", command});
  made.again = Submission::Again::kLost;
  made.head.submission = of.submission + "+notify";
  made.head.name = fmt::format("notify of job {}", job.value);
  made.head.after.push_back({job, static_cast<uint32_t>(AfterKind::kAny)});
  made.SetTasks(1, [](size_t) { return Needs(); }, [](size_t) { return std::string(); });
  if (needs_bash) made.NeedFeature(kBashFeature);
  return made;
}

// ---- The commands ------------------------------------------------------------------------------

void TellSubmitted(cli::OutputForm form, JobId job, uint32_t tasks, bool known) {
  if (form == cli::OutputForm::kJson) {
    present::JsonLine line = present::TypedLine("submitted");
    present::AddFields(line, "job", job, "tasks", tasks);
    if (known) present::AddFields(line, "known", true);
    fmt::print("{}", line.Finish());
  } else {
    fmt::print("{}\n", job.value);
  }
  if (cli::FinishOutput() != cli::kExitSuccess) {
    fmt::print(stderr, "spate: job {} was submitted; do not submit it again\n", job.value);
  }
}

// The job itself is there already, and its number told.
Status Notify(HubCall& call, const cli::SubmitOptions& options, const Submission& notify,
              JobId job) {
  auto accepted = client::Submit(call, notify);
  if (!accepted) {
    const Advice again("submit", "--after", fmt::format("any:{}", job.value), "--", "COMMAND");
    return Within(
        fmt::format("job {} was submitted, but nothing runs at its end (to try again: {})",
                    job.value, present::TextOf(again)),
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
  auto job = TRY(format::ParseJobSelector(options.job));
  if (job.ranges.size() != 1) return Fail(ErrorKind::kInvalid, "name the job by its number");
  return JobId(job.ranges.front().first);
}

// The names of the tasks that a job has, by index.
Result<std::vector<std::string>> NamesIn(HubCall& call, JobId job) {
  wire::LookAtGraph question;
  question.jobs.ranges = {{job.value, job.value}};
  std::vector<std::string> names;
  TRY(client::Query(call, std::move(question), [&](GraphFacts some) {
    std::ranges::move(some.names, std::back_inserter(names));
  }));
  return names;
}

// All about a job but its tasks; nullopt: it is not for us to see.
Result<std::optional<JobFacts>> FactsOf(HubCall& call, JobId job) {
  wire::ListJobs question;
  question.jobs = JobSelector{.ranges = {{job.value, job.value}}};
  question.whole = true;
  std::optional<JobFacts> facts;
  TRY(client::Query(call, std::move(question), [&](wire::JobsListed some) {
    for (JobFacts& each : some.jobs) facts = std::move(each);
  }));
  return facts;
}

// --key: it was there already.
Status TellKnown(HubCall& call, const cli::SubmitOptions& options, const wire::Submit& head,
                 const wire::Accepted& accepted) {
  const JobId job = accepted.job;
  const bool human = options.run.show.form == cli::OutputForm::kHuman;
  if (!accepted.known || options.key.empty() || !human) return {};
  if (head.add_to != JobId()) {
    fmt::print(stderr, "spate: the tasks with this key are in job {} already; none were added\n",
               job.value);
    return {};
  }
  fmt::print(stderr, "spate: job {} has this key already; nothing was submitted\n", job.value);
  auto facts = TRY(FactsOf(call, job));
  std::vector<std::string> ours = head.argv;
  CutTexts(ours);
  if (!facts || !facts->argv || *facts->argv == ours) return {};
  Advice typed("submit");
  typed.args = *facts->argv;
  fmt::print(stderr, "spate: job {} was submitted by another command, and stays as it is: {}\n",
             job.value, EscapeForScreen(present::TextOf(typed)));
  return {};
}

// Tasks that are added to a job write to the files that its first submission named: what it typed
// says which. Tasks that the job has are not compared with.
Status CheckAdded(HubCall& call, JobId job, const Submission& added) {
  auto facts = TRY(FactsOf(call, job));
  if (!facts || !facts->argv || !facts->cwd) return {};  // the hub says why it is not for us
  auto words = cli::ParseWords(cli::kSubmitWords, *facts->argv);
  if (!words) return {};  // a program's, not a person's
  auto options = cli::MakeRunOptions(*words);
  if (!options) return {};
  JobSettings settings = *added.head.settings;
  settings.cwd = *facts->cwd;
  settings.stdin_pattern = options->settings.stdin_pattern;
  settings.stdout_pattern = options->settings.stdout_pattern;
  settings.stderr_pattern = options->settings.stderr_pattern;
  settings.append_output = options->settings.append_output;
  return run::CheckOutputs(*options, settings, added.rows);
}

// Asks for what only the hub knows: the jobs that the submission waits for, its pool, and the job
// that its tasks are added to.
Status AskFirst(HubCall& call, const cli::SubmitOptions& options, std::string_view reach,
                Submission& submission) {
  wire::Submit& head = submission.head;
  if (head.add_to != JobId()) {
    TRY(CheckAdded(call, head.add_to, submission));
  }
  TRY(FillAfter(options, call, head));
  return options.pool.empty() ? Status() : CheckPool(call, options.pool, reach);
}

// JobSettings::bash of the job that tasks are added to, or of a new one.
bool BashOf(HubCall& call, const std::optional<JobId>& job) {
  if (!job) return true;
  wire::LookAtJobs question;
  question.jobs.ranges = {{job->value, job->value}};
  question.shell = true;
  bool bash = false;
  (void)client::Query(call, std::move(question), [&](const wire::JobNow& now) { bash = now.bash; });
  return bash;
}

// Nodes that can start programs of Open MPI; an older hub names none.
Result<uint32_t> PmixNodes(HubCall& call) {
  uint32_t count = 0;
  TRY(client::Query(call, wire::ListNodes(), [&](const NodeFacts& node) {
    if (std::ranges::find(node.features, kPmixFeature) != node.features.end()) ++count;
  }));
  return count;
}

// Options of --like JOB come before what is typed, as options of a profile do.
Result<cli::SubmitOptions> TakeLike(HubCall& call, const cli::Invocation& invocation,
                                    std::string_view job) {
  auto suggestion = cli::Suggest(call, job);
  if (!suggestion) return Within("--like", std::move(suggestion.error()));
  std::vector<std::string> typed = suggestion->options;
  typed.insert(typed.end(), invocation.argv.begin(), invocation.argv.end());
  auto words = TRY(cli::ParseWords(*invocation.words.command, typed));
  auto options = cli::MakeSubmitOptions(words);
  if (options && options->run.show.form == cli::OutputForm::kHuman) {
    fmt::print(stderr, "spate: like job {}: {}\n", suggestion->use.job->value, suggestion->Text());
  }
  return options;
}

// Ctrl-C. Until the list is sent it ends this process: the list may come from a pipe that nobody
// closes. A run's own pool is withdrawn first.
void WatchInterrupts(client::HubSetting& setting, HubCall& call, bool reads) {
  if (reads && setting.resume.empty()) {
    return os::EndBySignal(os::kSignalInt, kNotSubmitted, cli::kExitInterrupted);
  }
  setting.loop->OnSignal(os::kSignalInt, [&call] { call.Interrupt(); });
}

// After the hub has accepted a job that is not followed: its number, and the wait for its end.
Result<int> Finish(HubCall& call, client::HubSetting& setting, const cli::SubmitOptions& options,
                   Submission& submission, const wire::Accepted& accepted) {
  submission.pieces = {};
  submission.rows = nullptr;
  submission.edges = {};
  TellSubmitted(options.run.show.form, accepted.job, submission.end.count, accepted.known);
  TRY(TellKnown(call, options, submission.head, accepted));
  run::TellOfArray(options.run);
  if (!options.notify.empty()) {
    Submission notify = MakeNotify(options.notify, submission.head, accepted.job);
    TRY(Notify(call, options, notify, accepted.job));
  }
  if (options.wait || options.progress) {
    WaitOptions how{options.progress, options.run.show.form == cli::OutputForm::kQuiet,
                    options.run.policy.halt, setting.reach,
                    submission.forwards || !submission.head.settings->get_patterns.empty()};
    auto code = Waiter(call, *setting.loop, setting.here, std::move(how)).Wait(accepted.job);
    return code ? BringHome(call, setting, submission, accepted.job, *code) : code;
  }
  if (options.run.show.form == cli::OutputForm::kHuman) {
    std::string why =
        WhyNot({accepted.job, {}, false, 0, accepted.nodes, accepted.why}, setting.reach);
    if (!why.empty()) cli::PrintMessage(why);
  }
  return cli::kExitSuccess;
}

// `one`: gets the job's number, of which nothing is printed then.
Result<int> SubmitBy(HubCall& call, client::HubSetting& setting, const cli::Invocation& invocation,
                     Result<cli::SubmitOptions> options, JobId* one = nullptr) {
  WatchInterrupts(setting, call, /*reads=*/true);
  if (options->run.show.form != cli::OutputForm::kQuiet) call.OnSlow(TellSlowHub);
  if (auto like = invocation.words.Last(cli::opt::kLike)) {
    options = TakeLike(call, invocation, *like);
    if (!options) return std::unexpected(options.error());
  }
  auto job = TRY(JobToAddTo(*options));
  run::Plan plan{.whom = job ? run::Plan::For::kAdded : run::Plan::For::kOnNodes,
                 .here = setting.here,
                 .words = invocation.words,
                 .argv = invocation.argv,
                 .options = options->run,
                 .dry_run = options->run.dry_run,
                 .environment = options->environment,
                 .waits = !options->after.empty(),
                 .bash = BashOf(call, job),
                 .pmix_nodes = [&] { return PmixNodes(call); }};
  if (job) plan.known_names = [&] { return NamesIn(call, *job); };
  TRY(run::MakePlan(plan));
  auto submission = MakeSubmission(*options, setting, invocation.argv, std::move(plan));
  if (!submission) return std::unexpected(submission.error());
  submission->head.add_to = job.value_or(JobId());
  if (options->run.dry_run) {
    return run::PrintCommands(submission->rows, *submission->head.settings, JobId(1),
                              [](TaskIndex) { return true; });
  }
  if (submission->end.count == 0 && !options->open) {
    return Fail(ErrorKind::kInvalid, "0 tasks: there is nothing to submit");
  }
  if (submission->end.requests.empty()) submission->end.requests = {cli::ClassOf(options->run)};
  TRY(AskFirst(call, *options, setting.reach, *submission));
  WatchInterrupts(setting, call, /*reads=*/false);
  auto sent = client::Submit(call, *submission);
  if (!sent && call.interrupted() && sent.error().kind != ErrorKind::kUnknown) {
    fmt::print(stderr, "{}", kNotSubmitted);
    return cli::kExitInterrupted;
  }
  const wire::Accepted accepted = TRY(std::move(sent));
  if (invocation.words.command->makes == cli::Makes::kRun) {
    TRY(TellKnown(call, *options, submission->head, accepted));
    auto code = FollowJob(call, setting, *options, *submission, accepted.job);
    return code ? BringHome(call, setting, *submission, accepted.job, *code) : code;
  }
  if (one != nullptr) {
    *one = accepted.job;
    return cli::kExitSuccess;
  }
  return Finish(call, setting, *options, *submission, accepted);
}

// `hung`: the hub is there, and does not answer.
Result<int> Submit(const cli::Invocation& invocation, bool& hung, const std::string& resume = "") {
  TRY(CheckTyped(invocation, resume));
  auto options = cli::MakeSubmitOptions(invocation.words);
  if (!options) return std::unexpected(options.error());
  auto setting = TRY(FindSetting(invocation.words));
  setting.resume = resume;
  HubCall call(*setting.loop, setting.target);
  auto code = SubmitBy(call, setting, invocation, std::move(options));
  hung = call.hung();
  return code;
}

Result<int> Wait(const cli::Invocation& invocation, bool bar, bool& hung) {
  auto setting = FindSetting(invocation.words);
  if (!setting) return std::unexpected(WithLocalHint(setting.error(), invocation.words));
  HubCall call(*setting->loop, setting->target);
  auto pick = [](const JobSelector& selector) -> Result<std::vector<uint32_t>> {
    if (selector.all) return Fail(ErrorKind::kInvalid, "name the jobs to wait for by number");
    std::vector<uint32_t> jobs;
    if (selector.last) jobs.push_back(0);
    for (const NumberRange& range : selector.ranges) {
      for (uint64_t n = range.first; n <= range.last; n += range.step) {
        jobs.push_back(static_cast<uint32_t>(n));
      }
    }
    return jobs;
  };
  auto wait = [&](uint32_t job) -> Result<int> {
    Waiter waiter(call, *setting->loop, setting->here, {bar, false, {}, setting->reach});
    auto waited = waiter.Wait(JobId(job));
    hung = call.hung();
    if (waited) return waited;
    return std::unexpected(WithLocalHint(waited.error(), invocation.words));
  };
  return WaitForEach(invocation.words, *setting->loop,
                     {.pick = pick,
                      .wait = wait,
                      .interrupt = [&] { call.Interrupt(); },
                      .interrupted = [&] { return call.interrupted(); }});
}

}  // namespace

void TellSlowHub() {
  fmt::print(stderr,
             "spate: the hub has not answered for {:g} s: its disk may be slow, or its database "
             "locked (see: {}); waiting\n",
             client::kSlowAnswer.seconds(), present::TextOf(Advice("hub status")));
}

Error WithLocalHint(Error error, const cli::Words& words) {
  if (error.kind == ErrorKind::kUnavailable && cli::Takes(*words.command, cli::opt::kLocal)) {
    error.remedy.text += "\nThe runs of this machine are meant with --local";
  }
  return error;
}

Result<client::HubSetting> FindSetting(const cli::Words& words) {
  auto here = TRY(client::Surroundings::Find());
  if (auto at = words.Last(cli::opt::kAt)) {
    return client::OpenHubSettingAt(std::move(here), std::string(*at));
  }
  std::string access(words.Last(cli::opt::kAccess).value_or(""));
  std::string state(words.Last(cli::opt::kState).value_or(""));
  std::string line = client::StartLineOf(client::HubDirOf(state, here));
  // A hub of pools has to be reached by their nodes.
  const bool adds_pools = cli::Takes(*words.command, cli::opt::kHosts);
  if (adds_pools && words.words.front() != "local" && !line.contains(" --listen")) {
    line += " --listen '*'";
  }
  if (!state.empty()) line += " --state " + ShellQuote(state);
  auto setting = client::OpenHubSetting(std::move(here), access, state, {std::move(line)});
  if (!setting) return setting;
  // Without any of these the environment names the hub, as it will the next time.
  if (!access.empty()) {
    setting->reach = " --access " + ShellQuote(access);
  } else if (!state.empty()) {
    setting->reach = " --hub --state " + ShellQuote(state);
  }
  return setting;
}

Result<JobId> SubmitOne(const cli::Invocation& invocation, cli::SubmitOptions options) {
  auto setting = TRY(FindSetting(invocation.words));
  HubCall call(*setting.loop, setting.target);
  JobId job;
  const int code = TRY(SubmitBy(call, setting, invocation, std::move(options), &job));
  if (code == cli::kExitSuccess && job != JobId()) return job;
  return Fail(ErrorKind::kUnavailable, "nothing was submitted");
}

int SubmitToHub(const cli::Invocation& invocation) {
  bool hung = false;
  auto code = Submit(invocation, hung);
  return cli::Conclude(invocation, code, hung);
}
Result<int> RunOnOwnHub(const cli::Invocation& invocation, const std::string& resume) {
  bool hung = false;  // it is this process' own
  return Submit(invocation, hung, resume);
}
int WaitForJobs(const cli::Invocation& invocation, bool bar) {
  bool hung = false;
  auto code = Wait(invocation, bar, hung);
  return cli::Conclude(invocation, code, hung);
}

}  // namespace spate::submit
