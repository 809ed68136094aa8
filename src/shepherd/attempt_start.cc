// The first half of AttemptRunner: from an order to running processes.
//
// GoOnStarting is where it happens; it may be left and entered again when the system has no
// process or descriptor for us just now: that is never the task's failure. It is left as well while
// another process opens what may not answer (user_files.h). A program that cannot
// be executed is the task's failure, with the statuses that shells use: 127 not found, 126 found
// but not executable. Of one that is started aside (spawn.h) that is known when it has ended.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"
#include "shepherd/nanos.h"
#include "shepherd/note.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kLongestRetry = 1000 * kMilli;
constexpr int64_t kWorthTelling = 1000 * kMilli;  // that files do not open

}  // namespace

Result<std::unique_ptr<AttemptRunner>> AttemptRunner::Create(const Setup& setup, Outbox& outbox,
                                                             Pulse pulse) {
  auto streams = TRY(Streams::Create(setup.spool_folder, outbox, pulse));
  return std::unique_ptr<AttemptRunner>(
      new AttemptRunner(setup, std::move(streams), outbox, pulse));
}

AttemptRunner::AttemptRunner(const Setup& setup, Streams streams, Outbox& outbox, Pulse pulse)
    : setup_(setup),
      outbox_(outbox),
      pulse_(pulse),
      served_user_(geteuid()),
      jobs_(setup),
      tree_(getpid()),
      cgroup_(setup.cgroup),
      files_(setup.spool_folder),
      streams_(std::move(streams)) {
  cgroup_.Enter();
  if (setup.home_cpu >= 0) StayAt(setup.home_cpu);
}

// Tasks are given back what this process had. A system that may refuse that is left alone: better
// no home than a task on one processor.
void AttemptRunner::StayAt(int cpu) {
  os::CpuMask all = os::AllowedCpus();
  if (os::SetAllowedCpus(all) && os::SetAllowedCpus(os::CpuMask::Of({cpu}))) {
    task_cpus_ = std::move(all);
  }
}

void AttemptRunner::CloseJob(JobId id) {
  if (idle() && resident_.exists() && resident_.job() == id) Dismiss(os::MonotonicNanos());
  if (asked_.job != nullptr && asked_.job == jobs_.Find(id)) {
    if (!idle()) return;
    asked_.job = nullptr;
    asked_.environment = nullptr;
    asked_.search_path = "";
  }
  jobs_.Close(id);
}

Status AttemptRunner::Begin(std::string frame, int64_t now) {
  CHECK(idle());
  asked_.frame = std::move(frame);
  Status sound = DecodeStart(asked_.frame, asked_.view);
  if (!sound) return sound;
  asked_.job = jobs_.Find(asked_.view.start.ref.job);
  if (asked_.job == nullptr) {
    return Fail(ErrorKind::kInvalid, "a start before the job was opened");
  }
  Reset(now);
  ServeUser();
  if (is_resident()) SetDefaults();
  asked_.environment = asked_.job->environment.With(asked_.view.environment);
  const char* path = asked_.job->environment.path();
  asked_.search_path = path != nullptr ? path : kDefaultPath;
  if (resident_.exists() && !resident_.Fits(asked_.view)) Dismiss(now);
  if (resident_.is_leaving()) {
    phase_ = Phase::kWaitStart;  // until Dismissed
  } else {
    StartNextStep(now);
  }
  return {};
}

void AttemptRunner::Reset(int64_t now) {
  const StartView& view = asked_.view;
  end_ = AttemptEnd{};
  end_.ref = view.start.ref;
  end_.slot = view.start.slot;
  end_.start = {now};
  ordered_cause_.reset();
  start_failed_ = start_told_ = false;
  commands_ended_at_ = now;
  tells_opening_ = false;
  phase_until_ = kNever;
  kill_ranks_at_ = kNever;
  const JobSettings& limits = asked_.job->opening.settings;
  SetWarning(view.start.time_limit.value_or(limits.time_limit));
  // Not at once: a program that has just begun does not catch it yet, and would end of it.
  const int64_t before_node =
      static_cast<int64_t>(asked_.job->opening.node_ends) - limits.warn_before.ns;
  warn_for_node_at_ = limits.warn_signal != 0 && before_node > now ? before_node : kNever;
  retry_ = {};
  asked_.cpus.reset();
  if (!view.around.cpus.empty()) {
    asked_.cpus =
        os::CpuMask::Of(std::vector<int>(view.around.cpus.begin(), view.around.cpus.end()));
  }
  space_ = os::SpaceOf(setup_.spool_folder).value_or(os::Space());
  files_.Begin();
  starter_.Forget();
  folder_.Begin(asked_.job->opening.task_folders, end_.ref);
  links_.Begin(view.around.links, folder_.is_wanted(), files_);
  forwards_.Begin(view.around.forwards, setup_.spool_folder);
  pack_.Begin(setup_.spool_folder, end_.ref);
  streams_.Begin(view, asked_.job->opening, files_, end_, now);
  commands_.Begin(view.commands, view.around.first_rank);
  halt_.Begin();
  look_frozen_at_ = kNever;
  killer_.Begin();
  leftovers_.Begin(is_resident() ? spate::Leftovers::kEnd : asked_.job->opening.settings.leftovers,
                   asked_.job->opening.settings.leftovers_wait);
  cgroup_.Begin(CgroupLimitsOf(view.start, limits));
  memory_.Begin(view.start, now);
  watch_.Begin(view.start, limits, now);
  told_excess_ = {};
  stopped_by_.reset();
  resident_.Forget();
}

// A signal comes so long before the limit of time; 0: there is no limit.
void AttemptRunner::SetWarning(Duration limit) {
  const JobSettings& settings = asked_.job->opening.settings;
  const int64_t after = std::max<int64_t>(limit.ns - settings.warn_before.ns, 0);
  const bool warns = settings.warn_signal != 0 && limit.ns > 0;
  warn_at_ = warns ? end_.start.ns + after : kNever;
}

void AttemptRunner::StartNextStep(int64_t now) {
  commands_.EnterNextStep();
  phase_ = Phase::kWaitStart;
  phase_until_ = kNever;
  GoOnStarting(now);
}

void AttemptRunner::GoOnStarting(int64_t now) {
  retry_.at = kNever;
  if (halt_.is_on()) {
    retry_.at = now + 100 * kMilli;
    return;
  }
  bool is_there = resident_.is_there();
  auto failure = is_there ? std::nullopt : StartAsUser();
  if (failure && failure->shortage != 0 && files_.needs_opener()) return OpenInOpener(now);
  files_.Forget();
  if (failure && failure->shortage != 0) return WaitToStart(failure->shortage, now);
  if (failure) CannotStart(126, failure->why);
  if (is_there) TakeOver();
  links_.StepStarted();
  phase_ = Phase::kRunning;
  if (commands_.started() > 0) TellStart();
  if (commands_.RankHasFailed()) EndOtherRanks(now);
  if (commands_.alive() == 0) return StepEnded(Reap(now), now);
  if (is_resident()) GiveTask();
}

void AttemptRunner::TellStart() {
  if (!asked_.view.start.tell_start || !commands_.IsFirstStep()) return;
  if (!std::exchange(start_told_, true)) Append(outbox_.Add(), Started{end_.ref, end_.start.ns});
}

// Another process opens what this one may not wait for: all that the step names. The attempt has
// begun with that, for its time limit.
void AttemptRunner::OpenInOpener(int64_t now) {
  phase_ = Phase::kWaitStart;
  int error = files_.Start([this] {
    AsUser user(asked_.job->opening);
    if (user.status()) (void)OpenStep();
  });
  if (error != 0) return WaitToStart(error, now);
  TellStart();
  phase_until_ = now + kWorthTelling;
}

// Empty: its files are open now.
void AttemptRunner::TellOpening(std::string waits_for) {
  phase_until_ = kNever;
  if (std::exchange(tells_opening_, !waits_for.empty()) == tells_opening_) return;
  Append(outbox_.Add(), LeftRunning{end_.ref, std::move(waits_for)});
}

void AttemptRunner::OnOpened(int64_t now) {
  if (!files_.Read()) return;
  if (phase_ == Phase::kWaitStart) {
    TellOpening("");
    return GoOnStarting(now);
  }
  if (phase_ == Phase::kFinishing) GoOnFinishing(now);
}

// The calls of StartAsUser on what the step names, in the same order.
std::optional<StartFailure> AttemptRunner::OpenStep() {
  bool first = commands_.started() == 0;
  std::optional<StartFailure> failure;
  if (first) failure = EnterFolder();
  if (first && !failure) failure = streams_.OpenFiles();
  if (commands_.StepIsFresh() && !failure) failure = links_.Open(commands_.step());
  for (; !failure && !commands_.StepStarted(); commands_.Skip()) {
    if (commands_.RankHasFailed()) continue;
    const char* name = asked_.view.words[asked_.view.commands[commands_.next()].first];
    const PathLookup::Found& found = lookup_.Find(name, asked_.search_path, &files_);
    if (found.error == 0) files_.TouchProgram(found.path);
  }
  return failure;
}

// Everything that the user names is touched here, and by Check.
std::optional<StartFailure> AttemptRunner::StartAsUser() {
  if (std::string why = files_.DrainTrouble(); !why.empty()) return StartFailure{0, why};
  bool first = commands_.started() == 0;
  if (first && folder_.is_wanted()) {
    std::string why = folder_.Make(asked_.job->opening.user, asked_.view.puts);
    if (!why.empty()) return StartFailure{0, why};
  }
  if (auto failure = first ? streams_.OpenRanks() : std::nullopt) return failure;
  AsUser user(asked_.job->opening);
  if (!user.status()) return StartFailure{0, user.status().error().message};
  std::optional<StartFailure> failure;
  if (first) failure = EnterFolder();
  if (first && !failure) failure = streams_.OpenFiles();
  if (first && !failure) failure = forwards_.Open();
  if (is_resident() && !failure) failure = resident_.Open();
  if (commands_.StepIsFresh() && !failure) failure = links_.Open(commands_.step());
  while (!failure && !commands_.StepStarted()) {
    if (commands_.RankHasFailed()) {
      commands_.Skip();
    } else if (int error = StartCommand(); error != 0) {
      failure = StartFailure{error, {}};
    }
  }
  return failure;
}

std::optional<StartFailure> AttemptRunner::EnterFolder() {
  if (folder_.is_wanted()) {
    std::string why = folder_.Enter(asked_.view.puts);
    files_.Entered(folder_.path());
    return why.empty() ? std::nullopt : std::optional(StartFailure{0, why});
  }
  const char* cwd =
      *asked_.view.cwd != '\0' ? asked_.view.cwd : asked_.job->opening.settings.cwd.c_str();
  int error = *cwd == '\0' ? 0 : files_.Enter(cwd);
  if (error == 0) return std::nullopt;
  if (IsShortage(error)) return StartFailure{error, {}};
  return StartFailure{0, WhyNotEntered(cwd, error)};
}

std::string AttemptRunner::WhyNotEntered(const char* folder, int error) {
  std::string why = fmt::format("cannot enter the job's folder '{}': {}", EscapeForScreen(folder),
                                os::TextOfErrno(error));
  streams_.AddLastWords(fmt::format("spate: {}\n", why));
  return why;
}

// All that is kept from attempt to attempt is of one user: where programs are, and whose the pipes
// are (a task may open /dev/stdout).
void AttemptRunner::ServeUser() {
  const std::optional<TaskUser>& user = asked_.job->opening.user;
  uint32_t number = user ? user->user : geteuid();
  if (number == served_user_) return;
  served_user_ = number;
  lookup_ = PathLookup();
  streams_.ServeUser(number);
}

// The next one. An errno when there is a shortage; then it is not started.
int AttemptRunner::StartCommand() {
  const char* name = asked_.view.words[asked_.view.commands[commands_.next()].first];
  for (int attempt = 0; attempt < 2; ++attempt) {
    const PathLookup::Found& found = lookup_.Find(name, asked_.search_path, &files_);
    if (IsShortage(found.error)) return found.error;
    if (found.error != 0) {
      StartResult none;
      none.exec_error = found.error;
      NotStarted(WhyNotStarted(commands_.next(), none));
      return 0;
    }
    if (int waits = files_.TouchProgram(found.path); waits != 0) return waits;
    StartResult result = TryStart(found);
    if (result.fork_error != 0) return result.fork_error;
    if (result.exec_error == 0) return 0;
    bool refused = result.refused_limit || result.refused_cpus;
    if (!refused && IsShortage(result.exec_error)) return result.exec_error;
    if (!refused && result.exec_error == ENOENT && found.remembered && attempt == 0) {
      lookup_.Forget(name);  // it has moved since
      continue;
    }
    NotStarted(WhyNotStarted(commands_.next(), result));
    return 0;
  }
  return 0;
}

Program AttemptRunner::ProgramOf(size_t index) {
  const StartView& view = asked_.view;
  const StartView::CommandView& command = view.commands[index];
  Program program;
  program.argv = &view.words[command.first];
  program.envp = EnvironmentOf(command);
  streams_.GiveTo(program, index);
  descriptors_ = links_.Of(command.step, command.command);
  forwards_.GiveTo(descriptors_);
  if (is_resident()) resident_.GiveTo(descriptors_);
  program.descriptors = descriptors_;
  const JobSettings& settings = asked_.job->opening.settings;
  program.soft_limits = settings.soft_limits;
  program.limits = view.around.limits;
  const auto files = streams_.files_of_ranks();
  if (files || !settings.limits.empty()) {
    // Those of the task itself are the last ones, and count.
    limits_.clear();
    if (files) limits_.push_back({LimitKind::kOpenFiles, *files});
    limits_.insert(limits_.end(), settings.limits.begin(), settings.limits.end());
    limits_.insert(limits_.end(), view.around.limits.begin(), view.around.limits.end());
    program.limits = limits_;
  }
  program.group = commands_.group();
  program.nice = settings.nice;
  program.must_have_cpus = asked_.cpus.has_value();
  if (asked_.cpus) {
    program.cpus = &*asked_.cpus;
  } else if (task_cpus_) {
    program.cpus = &*task_cpus_;
  }
  program.user = asked_.job->opening.user ? &*asked_.job->opening.user : nullptr;
  return program;
}

const char* const* AttemptRunner::EnvironmentOf(const StartView::CommandView& command) {
  const StartView& view = asked_.view;
  if (view.variables.empty()) return asked_.environment;
  variables_ = view.environment;
  auto first = view.variables.begin() + command.first_variable;
  variables_.insert(variables_.end(), first, first + command.variable_count);
  return asked_.job->environment.With(variables_);
}

// A failed exec leaves no process.
StartResult AttemptRunner::TryStart(const PathLookup::Found& found) {
  size_t index = commands_.next();
  Program program = ProgramOf(index);
  program.path = found.path.c_str();
  if (found.remembered) program.search = asked_.search_path;
  program.folder = files_.served_folder();
  program.aside = files_.IsServedProgram(found.path);
  StartResult result = starter_.StartProgram(program);
  if (result.fork_error != 0) return result;
  if (result.exec_error != 0) {
    waitpid(result.pid, nullptr, 0);
    return result;
  }
  NoteRefused(index, result);
  commands_.Started(result.pid);
  if (is_resident()) resident_.Started(result.pid, asked_.view);
  return result;
}

// Notes what the program runs without. Limits are the same for each task of the job, so they are
// noted once.
void AttemptRunner::NoteRefused(size_t command, const StartResult& result) {
  if (command != 0) return;
  if (result.nice_error != 0) {
    AddNote(end_, fmt::format("runs without the wanted nice value: {}",
                              os::TextOfErrno(result.nice_error)));
  }
  if (result.cut_limits == 0 || std::exchange(asked_.job->cuts_noted, true)) return;
  for (const ProcessLimit& limit : asked_.job->opening.settings.soft_limits) {
    if ((result.cut_limits & CutBit(limit.kind)) == 0) continue;
    const std::string wanted =
        limit.most == UINT64_MAX ? "unlimited" : fmt::format("{}", limit.most);
    AddNote(end_, fmt::format("has at most {} {} (this node's hard limit), not {} as the submitter",
                              HardLimitOf(limit.kind), WordOf(limit.kind), wanted));
  }
}

// The status with which a command counts as ended that was started aside: one that never became its
// program has failed to start.
int AttemptRunner::StatusOfAside(pid_t pid, int status) {
  auto result = starter_.Ended(pid);
  if (!result) return status;
  size_t command = commands_.NumberOf(pid);
  NoteRefused(command, *result);
  if (result->exec_error == 0) return status;
  Refusal refusal = WhyNotStarted(command, *result);
  commands_.NeverStarted();
  TellRefusal(refusal);
  return refusal.status << 8;
}

AttemptRunner::Refusal AttemptRunner::WhyNotStarted(size_t command, const StartResult& result) {
  auto error = os::TextOfErrno(result.exec_error);
  if (result.refused_limit) {
    return {126, fmt::format("cannot be bound to {} {}: {} (the hard limit here is {})",
                             result.refused_limit->most, WordOf(result.refused_limit->kind), error,
                             HardLimitOf(result.refused_limit->kind))};
  }
  if (result.refused_cpus) {
    return {126, fmt::format("cannot run on processors {}: {}",
                             fmt::join(asked_.view.around.cpus, ","), error)};
  }
  if (result.refused_folder) {
    return {126, WhyNotEntered(files_.served_folder(), result.exec_error)};
  }
  const char* name = asked_.view.words[asked_.view.commands[command].first];
  const bool has_path = std::strchr(name, '/') != nullptr;
  bool not_found = result.exec_error == ENOENT || result.exec_error == ENOTDIR;
  std::string shown = EscapeForScreen(name);
  if (result.lacks_interpreter) {
    not_found = false;
    shown += ": its interpreter does not exist";
  } else if (not_found && !has_path) {
    lookup_.Forget(name);
    shown += ": command not found";
  } else if (result.is_folder) {
    shown += ": is a folder, not a program";
  } else if (result.is_noexec) {
    shown += ": programs on its file system cannot run (it is mounted noexec); copy it elsewhere";
  } else if (result.exec_error == EACCES) {
    shown += ": permission denied (is it executable? chmod +x makes it so)";
  } else if (result.exec_error == E2BIG) {
    shown += ": its arguments and environment are longer than the system allows";
  } else {
    shown.append(": ").append(error);
  }
  return {not_found ? 127 : 126, std::move(shown)};
}

// A command that is not started any more.
void AttemptRunner::NotStarted(const Refusal& refusal) {
  commands_.NotStarted(refusal.status << 8);
  TellRefusal(refusal);
}

// People look into the file where the command would have complained, and find out there.
void AttemptRunner::TellRefusal(const Refusal& refusal) {
  streams_.Complain(refusal.why + '\n');
  CannotStart(refusal.status, refusal.why);
}

void AttemptRunner::CannotStart(int status, const std::string& why) {
  if (!start_failed_) end_.status = status;
  start_failed_ = true;
  AddNote(end_, why);
}

void AttemptRunner::WaitToStart(int error, int64_t now) {
  if (retry_.since == 0) {
    retry_.since = now;
    AddNote(end_, fmt::format("had to wait for the system: {}", os::TextOfErrno(error)));
  }
  retry_.delay = std::min(std::max(10 * kMilli, retry_.delay * 2), kLongestRetry);
  retry_.at = now + retry_.delay;
  phase_ = Phase::kWaitStart;
}

void AttemptRunner::Withdraw() {
  CHECK(waits_to_start());
  if (!files_.End(kLongestRetry)) worn_out_ = true;
  streams_.CloseFiles();
  links_.Clear();
  if (!files_.CloseAll(kLongestRetry)) worn_out_ = true;
  forwards_.Clear();
  folder_.Remove();
  if (!resident_.exists()) resident_.Clear();
  phase_ = Phase::kIdle;
}

}  // namespace spate::shepherd
