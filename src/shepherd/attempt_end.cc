// The second half of AttemptRunner: from the end of the commands to the report.
//
// An attempt has ended when no process below this one is left (wait says ECHILD): this process is
// a subreaper, so nothing that a task forks can be anywhere else. A process that outlives the
// commands has a moment to end by itself (the far end of `> >(gzip)` does), then it is killed in
// rounds until there is nothing left. Only then are the pipes emptied and the files checked.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"
#include "shepherd/nanos.h"
#include "shepherd/note.h"
#include "shepherd/output_check.h"

namespace spate::shepherd {
namespace {

// Processes that outlive the commands may end by themselves for so long.
constexpr int64_t kLeftoverPatience = 50 * kMilli;
// Between two looks whether all processes of a frozen attempt stand still.
constexpr int64_t kFreezeLook = 20 * kMilli;
// An opener that was killed is gone at once, unless its file server hangs.
constexpr int64_t kOpenerPatience = 1000 * kMilli;
constexpr int kMostLostOpeners = 3;
// So long an attempt whose end was ordered waits for its files to be closed and brought home.
constexpr int64_t kOrderedPatience = 2000 * kMilli;

int64_t Nanos(const timeval& t) { return t.tv_sec * 1'000'000'000 + t.tv_usec * 1000; }

// The value behind `name` in the text of /proc/PID/io.
int64_t IoValue(const char* text, const char* name) {
  const char* at = std::strstr(text, name);
  return at == nullptr ? 0 : std::strtoll(at + std::strlen(name), nullptr, 10);
}

void AddLine(std::string& text, const std::string& line) {
  if (!text.empty() && !line.empty()) text += '\n';
  text += line;
}

}  // namespace

void AttemptRunner::OnChildren(int64_t now) {
  visits_.Reap();
  if (IsResidentApart()) {
    if (!ReapApart(now)) Dismissed(now);
    return;
  }
  if (phase_ == Phase::kFinishing && files_.is_closing()) {
    if (files_.AwaitEnd(0)) GoOnFinishing(now);
    return;
  }
  if (phase_ == Phase::kIdle || phase_ == Phase::kFinishing) return;
  bool children_left = Reap(now);
  if (phase_ == Phase::kWaitStart) return;
  if (children_left && phase_ == Phase::kLeftovers && leftovers_.is_on()) {
    // One of them has ended, it may have been the last.
    phase_until_ = std::min(phase_until_, leftovers_.SoonestLook());
    return;
  }
  if (phase_ == Phase::kRunning) {
    if (commands_.RankHasFailed()) EndOtherRanks(now);
    if (commands_.alive() == 0) StepEnded(children_left, now);
    return;
  }
  if (!children_left) TreeEnded(now);
}

// Each is looked at before it is waited for: then /proc still has it.
bool AttemptRunner::Reap(int64_t now) {
  if (phase_ != Phase::kLeftovers) leftovers_.StartAnew();
  while (true) {
    siginfo_t next{};
    if (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    pid_t pid = next.si_pid;
    if (pid == 0) return !visits_.any() || !tree_.Children().empty();
    if (visits_.Ended(pid)) {
      waitpid(pid, nullptr, 0);
      continue;
    }
    if (pid == files_.pid()) {
      waitpid(pid, nullptr, 0);
      files_.Ended(pid);
      continue;
    }
    if (asked_.job->opening.settings.measure_io) AddIo(pid);
    if (next.si_status != 0 && !commands_.Has(pid)) NoteOrphan(pid, next);
    int status = 0;
    rusage usage;
    if (wait4(pid, &status, WNOHANG, &usage) != pid) continue;
    AddUsage(usage, pid);
    if (commands_.Has(pid)) status = StatusOfAside(pid, status);
    if (commands_.Ended(pid, status)) {
      commands_ended_at_ = now;
    } else {
      bool awaited = phase_ == Phase::kLeftovers && leftovers_.is_on();
      if (awaited) commands_ended_at_ = now;
      if (!awaited) killer_.Ended(status);
    }
  }
}

// A process that its parent did not wait for. It matters how it ended when that was of itself.
void AttemptRunner::NoteOrphan(pid_t pid, const siginfo_t& how) {
  if (phase_ == Phase::kKilling || ordered_cause_) return;
  leftovers_.Ended(
      pid, how.si_code == CLD_EXITED ? W_EXITCODE(how.si_status, 0) : W_EXITCODE(0, how.si_status));
}

void AttemptRunner::AddUsage(const rusage& usage, pid_t pid) {
  if (resident_.is_leaving()) return;  // it is of earlier attempts
  Duration user{Nanos(usage.ru_utime)};
  Duration system{Nanos(usage.ru_stime)};
  if (pid == resident_.pid()) {
    resident_.LessEarlier(user, system);
    resident_.Ended();
  }
  end_.user.ns += user.ns;
  end_.system.ns += system.ns;
  memory_.Add(usage);
}

// Bytes by read and write calls, of a process that is dead and not reaped, and of all that it
// waited for itself.
void AttemptRunner::AddIo(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/io", pid);
  os::Fd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[512];
  ssize_t got = fd ? read(fd.get(), text, sizeof text - 1) : -1;
  if (got <= 0) return;
  text[got] = '\0';
  end_.read_bytes = std::max<int64_t>(end_.read_bytes, 0) + IoValue(text, "rchar: ");
  end_.written_bytes = std::max<int64_t>(end_.written_bytes, 0) + IoValue(text, "wchar: ");
}

// Ranks of a gang are of no use to each other any more.
void AttemptRunner::EndOtherRanks(int64_t now) {
  if (ordered_cause_ || kill_ranks_at_ != kNever) return;
  kill_ranks_at_ = now + kill_grace().ns;
  if (!start_failed_) AddNote(end_, commands_.WhyRankFailed());
  halt_.SetFrozen(false, now);
  commands_.Terminate();
}

void AttemptRunner::StepEnded(bool children_left, int64_t now) {
  bool good = !start_failed_ && !ordered_cause_ && commands_.StepIsGood();
  if (good && commands_.HasNextStep()) return StartNextStep(now);
  if (is_resident() && !start_failed_ && !ordered_cause_ && resident_.HasNotRead()) {
    return StartAnew(children_left, now);
  }
  bool waits = good && leftovers_.CommandsEnded(now);
  if (!waits || !children_left) halt_.SetFrozen(false, now);
  if (commands_.started() == 0) commands_ended_at_ = now;
  if (!children_left) return TreeEnded(now);
  phase_ = Phase::kLeftovers;
  phase_until_ = waits ? leftovers_.next_look() : now + (ordered_cause_ ? 0 : kLeftoverPatience);
  killer_.CountLeftovers(!ordered_cause_);
}

void AttemptRunner::LookAtLeftovers(int64_t now) {
  if (!leftovers_.is_on()) {
    killer_.NameLeftovers();
    return BeginKilling(now);
  }
  leftovers_.Scan(now, halt_.is_on());
  if (!leftovers_.IsOver()) {
    phase_until_ = leftovers_.next_look();
    std::string news = leftovers_.DrainNews(now);
    if (!news.empty()) Append(outbox_.Add(), LeftRunning{end_.ref, std::move(news)});
    return;
  }
  if (leftovers_.has_leftovers()) {
    leftovers_.GiveUp();
    commands_ended_at_ = now;
  }
  halt_.SetFrozen(false, now);
  killer_.NameLeftovers(leftovers_.daemons(), leftovers_.has_leftovers());
  BeginKilling(now);
}

// Same signals as for commands, when the attempt is ended.
void AttemptRunner::TerminateLeftovers() {
  tree_.SignalAll(SIGTERM);
  tree_.SignalAll(SIGCONT);
}

// Time in which the attempt was frozen does not count for its time limit, but for the node's end.
int64_t AttemptRunner::WarnDue(int64_t now) const {
  const int64_t before_limit = warn_at_ == kNever ? kNever : warn_at_ + halt_.FrozenFor(now).ns;
  return std::min(before_limit, warn_for_node_at_);
}

// The signal that is to come before the time limit, or the node's end: once.
void AttemptRunner::Warn(int64_t now) {
  if (halt_.is_frozen() || now < WarnDue(now)) return;
  warn_at_ = warn_for_node_at_ = kNever;
  if (!ordered_cause_) commands_.Signal(static_cast<int>(asked_.job->opening.settings.warn_signal));
}

void AttemptRunner::OnTime(int64_t now) {
  if (now >= look_frozen_at_) TellFrozen(now);
  if (now >= memory_.next_sample()) Sample(now);
  if (watch_.processes_due(now)) CountProcesses(now);
  if (watch_.cpu_due(now)) LookAtCpus(now);
  if (now >= visits_.until()) visits_.KillLate();
  if (now >= resident_.until()) OnResidentTime(now);
  if (now >= kill_ranks_at_ && phase_ == Phase::kRunning) return BeginKilling(now);
  if (phase_ == Phase::kRunning) Warn(now);
  if (now < phase_until_ && now < retry_.at) return;
  switch (phase_) {
    case Phase::kWaitStart:
      return files_.is_busy() ? TellOpening(files_.waits_for()) : GoOnStarting(now);
    case Phase::kLeftovers:
      return LookAtLeftovers(now);
    case Phase::kKilling:
      return KillRound(now);
    case Phase::kFinishing:
      if (files_.is_busy() || files_.is_closing()) return StopFinishing(end_.cause);
      return GoOnFinishing(now);
    case Phase::kIdle:
    case Phase::kRunning:
      return;
  }
}

void AttemptRunner::OnMemoryEvent(int64_t now) {
  cgroup_.HearEvents();
  if (!is_working() || ordered_cause_) return;
  if (memory_.WasOut()) return End(true, Cause::kMemory, now);
  if (cgroup_.holds().memory_high) Sample(now);
}

void AttemptRunner::OnProcessEvent(int64_t now) {
  cgroup_.HearEvents();
  if (is_working()) CountProcesses(now);
}

int64_t AttemptRunner::Deadline(int64_t now) const {
  if (phase_ == Phase::kIdle) return std::min(resident_.until(), visits_.until());
  int64_t deadline = std::min({memory_.next_sample(), watch_.next(), retry_.at, resident_.until(),
                               visits_.until(), look_frozen_at_});
  if (phase_ == Phase::kRunning) {
    deadline = std::min(deadline, kill_ranks_at_);
    if (!halt_.is_frozen()) deadline = std::min(deadline, WarnDue(now));
  }
  if (phase_ != Phase::kRunning) deadline = std::min(deadline, phase_until_);
  if (phase_ != Phase::kFinishing) deadline = std::min(deadline, streams_.NextLook(now));
  return deadline;
}

int AttemptRunner::PipeToPoll(int stream, int64_t now) const {
  if (phase_ == Phase::kIdle || phase_ == Phase::kFinishing) return -1;
  return streams_.PipeToPoll(stream, now);
}

void AttemptRunner::BeginKilling(int64_t now) {
  retry_.at = kNever;
  visits_.End(now);
  killer_.Start(now);
  phase_ = Phase::kKilling;
  KillRound(now);
}

void AttemptRunner::KillRound(int64_t now) {
  auto reap = [this](int64_t when) { return Reap(when); };
  int64_t next = killer_.Round(now, LiveGroup(), reap);
  now = os::MonotonicNanos();
  if (next == 0) return TreeEnded(now);
  if (killer_.IsHopeless(now)) return GiveUp(now);
  phase_until_ = next;
}

void AttemptRunner::GiveUp(int64_t now) {
  killer_.TellSurvivors(end_);
  commands_.Lose();
  commands_ended_at_ = std::max(commands_ended_at_, killer_.since());
  worn_out_ = true;
  TreeEnded(now);
}

void AttemptRunner::TreeEnded(int64_t now) {
  if (is_resident()) resident_.Read(now, [this](auto bytes) { streams_.AddResult(bytes); });
  TellUnclaimed();
  resident_.Clear();
  streams_.CloseInput();
  links_.Clear();
  forwards_.Drain();
  streams_.Drain();
  Conclude(now);
}

// All that the attempt will do is done.
void AttemptRunner::Conclude(int64_t now) {
  visits_.End(now);
  Outcome();
  if (end_.cause == Cause::kMemory) {
    if (commands_.started() > 0) memory_.AddTo(end_);
    streams_.AddLastWords(memory_.LastWords(end_));
  }
  streams_.SayLastWords();
  streams_.CloseFiles();
  streams_.AddTo(end_);
  if (streams_.HasLostOutput()) Lose(streams_.MetFullDisk(), Cause::kCheck);
  int64_t ended_at = commands_.started() > 0 ? commands_ended_at_ : now;
  end_.wall = {std::max<int64_t>(ended_at - end_.start.ns, 0)};
  finishing_ = {now + asked_.job->opening.settings.check_patience.ns, 20 * kMilli};
  phase_ = Phase::kFinishing;
  GoOnFinishing(now);
}

void AttemptRunner::GoOnFinishing(int64_t now) {
  phase_until_ = kNever;
  if (!CloseFiles(now)) return;
  if (!finishing_.checked && !Check(now)) return;
  finishing_.checked = true;
  if (BringFiles(now)) Finish();
}

// The files do not answer, and nobody waits for that any more.
void AttemptRunner::StopFinishing(Cause cause) {
  if (cause != end_.cause) end_.status = 0;
  end_.cause = cause;
  if (!files_.waits_for().empty()) AddNote(end_, files_.waits_for());
  // A closer that is killed has left files open; they go with this process.
  worn_out_ = worn_out_ || files_.is_closing();
  if (!files_.End(kOpenerPatience) || !files_.CloseAll(kOpenerPatience)) worn_out_ = true;
  pack_.Drop();
  forwards_.Clear();
  folder_.Remove();
  Finish();
}

// False: a closer is at it.
bool AttemptRunner::CloseFiles(int64_t now) {
  if (!files_.HasToClose()) return true;
  int error = files_.StartClosing();
  if (error != 0) {
    phase_until_ = now + 100 * kMilli;
  } else if (ordered_cause_) {
    phase_until_ = now + kOrderedPatience;
  }
  return false;
}

// How the attempt ended, as far as the processes tell.
void AttemptRunner::Outcome() {
  end_.cause = Cause::kSuccess;
  commands_.AddTo(end_, start_failed_);
  streams_.TellRanks(end_);
  if (start_failed_) end_.cause = folder_.is_lost() ? Cause::kNode : Cause::kStart;
  if (folder_.is_lost()) end_.status = 0;
  if (is_resident() && !start_failed_) OutcomeOfResident();
  if (end_.cause == Cause::kSuccess && !ordered_cause_ && leftovers_.is_on()) {
    leftovers_.AddTo(end_);
  }
  if (end_.cause != Cause::kSuccess && !ordered_cause_ && memory_.WasOut()) {
    ordered_cause_ = Cause::kMemory;
  }
  if (end_.cause != Cause::kSuccess && !ordered_cause_ && cgroup_.WasOutOfProcesses()) {
    AddNote(end_, fmt::format("needed more processes than the {} that it asked for",
                              watch_.most_processes()));
    const OnExcess action = ActionOf(asked_.job->opening.settings, Resource::kProcesses);
    if (action == OnExcess::kKill) ordered_cause_ = Cause::kExcess;
  }
  if (ordered_cause_ && !start_failed_) {
    end_.cause = *ordered_cause_;
    end_.status = 0;
  }
}

// "late" when a file that fails may pass later, else "sure", and why files fail.
std::string AttemptRunner::FindFailures(int64_t now) {
  std::string failures;
  bool late = false;
  for (const StartView::CheckView& check : asked_.view.checks) {
    if (finishing_.delay > 20 * kMilli) RefreshFolder(check.file);
    std::string why = WhyCheckFails(check.kind, check.file);
    if (why.empty()) continue;
    if (!failures.empty()) failures += "\n";
    failures += why;
    late = late || (now < finishing_.until && MayAppearLate(check.file));
  }
  return (late ? "late" : "sure") + failures;
}

// Why openers cannot help, once too many of them were killed.
std::optional<std::string> AttemptRunner::LostOpeners() {
  std::string trouble = files_.DrainTrouble();
  if (trouble.empty() || ++finishing_.lost <= kMostLostOpeners) return std::nullopt;
  return trouble;
}

// Nullopt: it may not answer, so another process has to look.
std::optional<std::string> AttemptRunner::LookAtOutputs(int64_t now) {
  if (auto lost = LostOpeners()) return "sure" + *lost;
  AsUser user(asked_.job->opening);
  if (!user.status()) return "sure" + user.status().error().message;
  auto answers = [this](const auto& check) { return files_.Answers(check.file); };
  if (std::ranges::all_of(asked_.view.checks, answers)) return FindFailures(now);
  // In front, so that it is known where they lie.
  for (const StartView::CheckView& check : asked_.view.checks) {
    if (files_.TouchFolder(os::DirName(check.file)) != 0) return std::nullopt;
  }
  return files_.Evaluate("", "the task's output files, to check them",
                         [&](bool*) { return FindFailures(now); });
}

// Returns what `look` finds, or lets another process look because it may have to wait. Nullopt:
// that one is at it, or was killed and will be made anew.
std::optional<std::string> AttemptRunner::LookOrWait(int64_t now, const Look& look) {
  auto found = look();
  if (found) {
    files_.Forget();
    return found;
  }
  int error = files_.Start([&look] { (void)look(); });
  if (error != 0) {
    phase_until_ = now + 100 * kMilli;
  } else if (ordered_cause_) {
    phase_until_ = now + kOrderedPatience;
  }
  return std::nullopt;
}

// False: not yet.
bool AttemptRunner::Check(int64_t now) {
  if (end_.cause != Cause::kSuccess || asked_.view.checks.empty()) return true;
  memory_.Stop();
  auto found = LookOrWait(now, [this, now] { return LookAtOutputs(now); });
  if (!found) return false;
  std::string_view failures = std::string_view(*found).substr(4);
  if (found->starts_with("late")) {
    phase_until_ = std::min(now + finishing_.delay, finishing_.until);
    finishing_.delay = std::min(finishing_.delay * 2, 500 * kMilli);
    return false;
  }
  if (!failures.empty()) {
    end_.cause = Cause::kCheck;
    AddNote(end_, failures);
  }
  return true;
}

// Why something is missing, or an empty text. What it forwards comes of a success alone. A file of
// --get that is missing matters to a success; of others there comes what is there.
std::optional<std::string> AttemptRunner::OpenWhatGoesHome() {
  if (auto lost = LostOpeners()) return lost;
  bool ran = commands_.started() > 0 && end_.cause != Cause::kNode && end_.cause != Cause::kStopped;
  AsUser user(asked_.job->opening);
  if (!user.status()) return user.status().error().message;
  std::string missing;
  if (commands_.started() > 0) missing = forwards_.OpenFiles(files_);
  if (ran && folder_.exists()) {
    AddLine(missing, folder_.OpenGets(asked_.view.gets, files_));
  }
  if (!files_.needs_opener()) forwards_.RemoveFiles(files_);
  return files_.needs_opener() ? std::nullopt : std::optional(missing);
}

// Collects the files that go home with the attempt, and ends its folder. False: not yet.
bool AttemptRunner::BringFiles(int64_t now) {
  if (!folder_.exists() && forwards_.empty()) return true;
  auto missing = LookOrWait(now, [this] { return OpenWhatGoesHome(); });
  if (!missing) return false;
  if (end_.cause == Cause::kSuccess && !missing->empty()) {
    end_.cause = Cause::kCheck;
    AddNote(end_, *missing);
  }
  std::string lost = end_.cause == Cause::kSuccess ? forwards_.PutInto(pack_) : "";
  if (lost.empty()) lost = folder_.PutInto(pack_);
  if (!lost.empty()) {
    Lose(pack_.met_full_disk(), pack_.met_full_disk() ? Cause::kCheck : Cause::kNode);
    pack_.Drop();
    AddNote(end_, lost);
  }
  forwards_.Clear();
  folder_.Remove();
  return true;
}

// Its output could not be kept whole, so it is no success. That is no fault of its own where the
// disk was full before, or it wrote at most half of what was free.
void AttemptRunner::Lose(bool disk_full, Cause otherwise) {
  if (end_.cause != Cause::kSuccess) return;
  end_.cause = otherwise;
  if (!disk_full) return;
  const uint64_t bytes = streams_.total() + pack_.view().total;
  AddNote(end_, fmt::format("no room on the disk for the {} that it wrote", FormatSize(bytes)));
  if (space_.free >= os::LeastRoom(space_) && bytes > space_.free / 2) return;
  end_.cause = Cause::kNode;
  end_.status = kDiskFull;
}

void AttemptRunner::Finish() {
  // One that went over its limit has it since Conclude, so that its texts have the same peak.
  if (commands_.started() > 0 && end_.cause != Cause::kMemory) memory_.AddTo(end_);
  killer_.AddTo(end_);
  outbox_.AddEnd(end_, streams_.out(), streams_.err(), pack_.view());
  streams_.CloseSpools();
  pack_.Close();
  phase_ = Phase::kIdle;
  phase_until_ = kNever;
}

// Bytes; 0 where nothing runs.
uint64_t AttemptRunner::Sample(int64_t now) {
  if (!is_working()) {
    memory_.Skip(now);
    return 0;
  }
  uint64_t bytes = memory_.Sample(now, links_.BufferBytes());
  if (asked_.view.start.sample_memory) Append(outbox_.Add(), MemorySample{end_.ref, bytes});
  memory_.IsOver(bytes) ? Exceed(Resource::kMemory, bytes, memory_.limit(), now)
                        : NotOver(Resource::kMemory, bytes, memory_.limit());
  return bytes;
}

void AttemptRunner::CountProcesses(int64_t now) {
  if (!is_working() && phase_ != Phase::kWaitStart) return watch_.Stop();
  const uint64_t count = watch_.CountProcesses(now, !visits_.any() && files_.pid() <= 0);
  count > watch_.most_processes()
      ? Exceed(Resource::kProcesses, count, watch_.most_processes(), now)
      : NotOver(Resource::kProcesses, count, watch_.most_processes());
}

// Use by visits is not the attempt's.
void AttemptRunner::LookAtCpus(int64_t now) {
  if (!is_working() && phase_ != Phase::kWaitStart) return watch_.Stop();
  const uint64_t used = watch_.UseOfCpus(now, end_.user + end_.system, halt_.FrozenFor(now));
  const uint64_t most = uint64_t{watch_.milli_cpus()} * LimitWatch::kCpuMargin / 100;
  if (used > most && !visits_.any()) Exceed(Resource::kCpu, used, watch_.milli_cpus(), now);
}

// Does what the job wants done about it. A warning is told once; a stop again when it was far below
// the limit since, which nobody but whoever continues it can bring about.
void AttemptRunner::Exceed(Resource what, uint64_t used, uint64_t limit, int64_t now) {
  if (!is_working() || ordered_cause_) return;
  const Excess excess{what, ActionOf(asked_.job->opening.settings, what), used, limit};
  if (excess.done == OnExcess::kKill) {
    if (commands_.RankHasFailed()) return;
    const bool is_memory = what == Resource::kMemory;  // whose note has the peak (LastWords)
    return End(true, is_memory ? Cause::kMemory : Cause::kExcess, now,
               is_memory ? "" : TextOf(excess));
  }
  const bool stops = excess.done == OnExcess::kStop;
  if (stops && halt_.is_on()) return;
  if (std::exchange(told_excess_[static_cast<size_t>(what)], true)) return;
  AddNote(end_, TextOf(excess) + (stops ? " and was stopped" : ""));
  if (stops) {
    stopped_by_ = excess;
    halt_.SetFrozen(true, now);
  }
  Append(outbox_.Add(), Exceeded{end_.ref, excess});
}

// A task that is continued after a stop for its use may have what it uses.
void AttemptRunner::AcceptUse() {
  for (Resource what : {Resource::kMemory, Resource::kProcesses}) {
    if (told_excess_[static_cast<size_t>(what)]) cgroup_.LiftHigh(what == Resource::kMemory);
  }
}

// Clearly below: what hovers around its limit is not stopped again and again.
void AttemptRunner::NotOver(Resource what, uint64_t used, uint64_t limit) {
  if (asked_.job == nullptr || used > limit / 4 * 3) return;
  const bool stops = ActionOf(asked_.job->opening.settings, what) == OnExcess::kStop;
  if (stops && !halt_.is_on()) told_excess_[static_cast<size_t>(what)] = false;
}

void AttemptRunner::End(bool kill_all, Cause cause, int64_t now, std::string_view why) {
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kKilling:
      return;
    case Phase::kFinishing:
      finishing_.until = now;  // no more patience; its processes have ended by themselves
      if (!files_.is_busy() && !files_.is_closing()) return GoOnFinishing(now);
      return StopFinishing(ordered_cause_ ? end_.cause : cause);
    case Phase::kLeftovers:
      if (!leftovers_.is_on()) {
        phase_until_ = now;
        return;
      }
      killer_.CountLeftovers(false);
      break;
    case Phase::kWaitStart:
    case Phase::kRunning:
      break;
  }
  // The failure of a rank came first, but this may be its cause.
  if (!ordered_cause_ && (!commands_.RankHasFailed() || cause == Cause::kMemory)) {
    ordered_cause_ = cause;
    if (!why.empty()) AddNote(end_, why);
  }
  halt_.SetFrozen(false, now);
  resident_.CloseInput();
  if (const char* program = starter_.Waiting()) {
    AddNote(end_, fmt::format("still waiting for '{}' to start: its file server does not answer",
                              EscapeForScreen(program)));
  }
  if (phase_ == Phase::kLeftovers && !kill_all) return TerminateLeftovers();
  if (files_.is_busy()) {
    kill_all = true;
    (void)files_.Read();
    if (!files_.waits_for().empty()) AddNote(end_, files_.waits_for());
    files_.Drop();
  }
  if (commands_.alive() == 0 || kill_all) return BeginKilling(now);
  commands_.Terminate();
}

AdoptedTask AttemptRunner::InHand(int64_t now) const {
  return {end_.start.ns,        asked_.view.start, asked_.job->opening.settings,
          halt_.FrozenFor(now), halt_.is_frozen(), stopped_by_};
}

void AttemptRunner::SetFrozen(const Freeze& order, int64_t now) {
  if (!has_processes() || ordered_cause_) return;
  halt_.SetFrozen(order.frozen, now);
  stopped_by_.reset();
  if (!order.frozen) AcceptUse();
  // Frozen processes fork no more, so none of a visit is missed.
  if (cgroup_.is_frozen() && visits_.any()) cgroup_.MoveAside(visits_.Processes());
  stop_ = order.stop;
  look_frozen_at_ = kNever;
  if (order.frozen) return TellFrozen(now);
  Append(outbox_.Add(), Froze{end_.ref, false, stop_});
}

// A process may be where it cannot be stopped for a while, such as a wait for a disk.
void AttemptRunner::TellFrozen(int64_t now) {
  look_frozen_at_ = kNever;
  if (!halt_.is_frozen()) return;
  if (halt_.StandsStill()) {
    Append(outbox_.Add(), Froze{end_.ref, true, stop_});
  } else {
    look_frozen_at_ = now + kFreezeLook;
  }
}

bool AttemptRunner::EndAll(int64_t patience) {
  if (idle() && resident_.is_there()) AwaitLeaving();
  visits_.KillLate();
  bool ended = killer_.KillAll(patience, LiveGroup());
  cgroup_.Thaw();  // the next shepherd of this slot is born there
  if (!ended) return false;
  if (phase_ != Phase::kIdle) {
    streams_.Discard();
    forwards_.Clear();
    folder_.Remove();
  }
  return true;
}

}  // namespace spate::shepherd
