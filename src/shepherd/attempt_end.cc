// The second half of AttemptRunner: from the end of the commands to the report.
//
// An attempt has ended when no process below this one is left (wait says ECHILD): this process is
// a subreaper, so nothing that a task forks can be anywhere else. What outlives the commands has
// a moment to end by itself (the far end of `> >(gzip)` does), then it is killed in rounds until
// there is nothing left. Only then are the pipes emptied and the files checked.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"
#include "shepherd/output_check.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kMilli = 1'000'000;
// What outlives the commands may end by itself for so long.
constexpr int64_t kLeftoverPatience = 50 * kMilli;
// A round waits so long for those whom it killed.
constexpr int64_t kRound = 50 * kMilli;
// A process that does not die (its disk or server hangs) holds its slot no longer than this.
constexpr int64_t kGiveUpAfter = 20'000 * kMilli;
constexpr int64_t kSampleEvery = 200 * kMilli;
constexpr int64_t kSampleAtLeastEvery = 2'000 * kMilli;
constexpr int kMostNamed = 5;

int64_t Nanos(const timeval& t) { return t.tv_sec * 1'000'000'000 + t.tv_usec * 1000; }

// Lets time pass until a child has changed or `nanos` are over.
void AwaitChild(int64_t nanos) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
  sigtimedwait(&children, nullptr, &timeout);
}

int ExitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The value behind `name` in the text of /proc/PID/io.
int64_t IoValue(const char* text, const char* name) {
  const char* at = std::strstr(text, name);
  return at == nullptr ? 0 : std::strtoll(at + std::strlen(name), nullptr, 10);
}

}  // namespace

void AttemptRunner::OnChildren(int64_t now) {
  if (phase_ == Phase::kIdle || phase_ == Phase::kChecking) return;
  bool children_left = Reap(now);
  if (phase_ == Phase::kWaitStart) return;
  if (phase_ == Phase::kRunning) {
    if (alive_ == 0) StepEnded(children_left, now);
    return;
  }
  if (!children_left) TreeEnded(now);
}

bool AttemptRunner::Reap(int64_t now) {
  while (true) {
    pid_t next = -1;
    if (job_->opening.measure_io) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        next = info.si_pid;
        AddIo(next);
      }
    }
    int status = 0;
    rusage usage;
    pid_t pid = wait4(next, &status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return pid == 0;
    AddUsage(usage);
    bool ours = false;
    for (CommandState& command : commands_) {
      if (command.pid != pid) continue;
      command.pid = 0;
      command.ended = true;
      command.status = status;
      --alive_;
      commands_ended_at_ = now;
      ours = true;
    }
    if (!ours && counts_leftovers_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      ++end_.left_behind;
    }
  }
}

void AttemptRunner::AddUsage(const rusage& usage) {
  end_.user.ns += Nanos(usage.ru_utime);
  end_.system.ns += Nanos(usage.ru_stime);
  rusage_peak_ = std::max(rusage_peak_, static_cast<uint64_t>(usage.ru_maxrss) * 1024);
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

void AttemptRunner::StepEnded(bool children_left, int64_t now) {
  bool good = !start_failed_ && !ordered_cause_;
  for (size_t i = step_first_; i < step_last_; ++i) good = good && commands_[i].status == 0;
  if (good && step_last_ < view_.commands.size()) return StartStep(step_last_, now);
  if (started_ == 0) commands_ended_at_ = now;
  if (!children_left) return TreeEnded(now);
  phase_ = Phase::kLeftovers;
  phase_until_ = now + (ordered_cause_ ? 0 : kLeftoverPatience);
  counts_leftovers_ = !ordered_cause_;
}

void AttemptRunner::OnTime(int64_t now) {
  if (now >= sample_at_) Sample(now);
  if (now < phase_until_ && now < retry_at_) return;
  switch (phase_) {
    case Phase::kWaitStart:
      if (!paused_) return GoOnStarting(now);
      retry_at_ = now + 100 * kMilli;
      return;
    case Phase::kLeftovers:
      killing_since_ = now;
      if (counts_leftovers_) NameLeftovers();
      phase_ = Phase::kKilling;
      [[fallthrough]];
    case Phase::kKilling:
      return KillRound(now);
    case Phase::kChecking:
      return Check(now);
    case Phase::kIdle:
    case Phase::kRunning:
      return;
  }
}

void AttemptRunner::OnMemoryEvent(int64_t now) {
  if (!cgroup_.WasOutOfMemory() || phase_ != Phase::kRunning || ordered_cause_) return;
  NoteMemory(view_.start.needs.memory);
  End(true, Cause::kMemory, now);
}

int64_t AttemptRunner::Deadline(int64_t now) const {
  if (phase_ == Phase::kIdle) return kNever;
  int64_t deadline = std::min(sample_at_, retry_at_);
  if (phase_ != Phase::kRunning && phase_ != Phase::kWaitStart) {
    deadline = std::min(deadline, phase_until_);
  }
  if (phase_ != Phase::kChecking) {
    // PipeToPoll changes its mind at these times.
    if (poll_out_at_ > now) deadline = std::min(deadline, poll_out_at_);
    if (poll_err_at_ > now) deadline = std::min(deadline, poll_err_at_);
  }
  return deadline;
}

int AttemptRunner::PipeToPoll(int stream, int64_t now) const {
  if (phase_ == Phase::kIdle || phase_ == Phase::kChecking) return -1;
  if (stream == 1) return now >= poll_out_at_ ? out_.fd() : -1;
  return now >= poll_err_at_ ? err_.fd() : -1;
}

void AttemptRunner::NameLeftovers() {
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || info->state == 'Z') return;
    if (++named_ > kMostNamed) return;
    if (!leftovers_.empty()) leftovers_ += ", ";
    leftovers_ += fmt::format("{} (pid {})", EscapeForScreen(info->command), pid);
  });
}

// First whole groups: they die at once, however fast they fork. Then process by process, which
// gets those who left the group. From the second round on with what is left to us: the cgroup,
// precedence over those who fork as fast as we kill, and stopping them before they are killed.
void AttemptRunner::KillRound(int64_t now) {
  ++rounds_;
  if (rounds_ > 1) {
    cgroup_.KillAll();
    SetPrecedence(true);
  }
  KillGroups();
  if (rounds_ > 1) tree_.SignalAll(SIGSTOP);
  tree_.SignalAll(SIGKILL);
  int64_t until = now + (rounds_ == 1 ? kRound : 0);
  bool left = true;
  while ((left = Reap(now)) && (now = os::MonotonicNanos()) < until) {
    AwaitChild(std::min(until - now, 5 * kMilli));
  }
  if (!left) return TreeEnded(now);
  if (now - killing_since_ > kGiveUpAfter) return GiveUp(now);
  phase_until_ = now + (rounds_ < 100 ? 1 : 20) * kMilli;
}

// The groups of our children. A group's number cannot be anybody else's while one of its members
// is a child of ours that was not reaped. But a child may have joined a group of somebody else in
// our session: only groups that began as ours are killed.
void AttemptRunner::KillGroups() {
  if (group_ > 1 && alive_ > 0) kill(-group_, SIGKILL);
  pid_t session = getsid(0);
  for (pid_t pid : tree_.Children()) {
    auto info = os::InfoOf(pid);
    if (!info || info->group <= 1) continue;
    bool ours = info->group == pid || info->group == group_ || info->session != session;
    if (ours) kill(-info->group, SIGKILL);
  }
}

// Where we may: real-time scheduling, which nothing that we start inherits.
void AttemptRunner::SetPrecedence(bool on) {
  sched_param parameter{};
  if (on && !precedence_ && sched_getscheduler(0) == SCHED_OTHER) {
    parameter.sched_priority = 1;
    precedence_ = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0;
  } else if (!on && precedence_) {
    sched_setscheduler(0, SCHED_OTHER, &parameter);
    precedence_ = false;
  }
}

void AttemptRunner::GiveUp(int64_t now) {
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || info->state == 'Z') return;
    Note(fmt::format("could not be ended: {} (pid {}, state {})", EscapeForScreen(info->command),
                     pid, info->state));
  });
  for (CommandState& command : commands_) command.pid = 0;
  commands_ended_at_ = std::max(commands_ended_at_, killing_since_);
  worn_out_ = true;
  TreeEnded(now);
}

void AttemptRunner::TreeEnded(int64_t now) {
  in_file_.Reset();
  links_.clear();
  out_.Drain([this](std::string_view bytes) { PassOn(1, bytes); });
  err_.Drain([this](std::string_view bytes) { PassOn(2, bytes); });
  Outcome();
  SayLastWords();
  out_file_.Reset();
  err_file_.Reset();
  end_.wall = {std::max<int64_t>((started_ > 0 ? commands_ended_at_ : now) - end_.start.ns, 0)};
  if (end_.cause != Cause::kSuccess || view_.checks.empty()) return Finish(now);
  check_until_ = now + job_->opening.check_patience.ns;
  check_delay_ = 20 * kMilli;
  phase_ = Phase::kChecking;
  sample_at_ = kNever;
  Check(now);
}

// Whoever looks where the commands would have complained finds there what they could not say.
void AttemptRunner::SayLastWords() {
  if (end_.cause == Cause::kMemory) {
    FillMemory();
    if (!memory_noted_) NoteMemory(end_.peak_memory);
    last_words_ += fmt::format("spate: MemoryError: over the limit of {} of memory (peak {})\n",
                               FormatSize(view_.start.needs.memory), FormatSize(end_.peak_memory));
  }
  if (last_words_.empty()) return;
  if (view_.late_stderr) {
    KeepStderr(last_words_);
  } else if (err_file_) {
    (void)os::WriteAll(err_file_.get(), last_words_, "stderr");
  } else if (out_file_ && std::strcmp(view_.stdout_file, view_.stderr_file) == 0) {
    (void)os::WriteAll(out_file_.get(), last_words_, "stderr");
  } else {
    err_.Add(last_words_);
    PassOn(2, last_words_);
  }
}

// How the attempt ended, as far as the processes tell.
void AttemptRunner::Outcome() {
  end_.cause = Cause::kSuccess;
  for (size_t i = 0; i < commands_.size(); ++i) {
    const CommandState& command = commands_[i];
    if (!command.ended) continue;
    if (command.status == 0 || start_failed_) continue;
    end_.cause = WIFSIGNALED(command.status) ? Cause::kSignal : Cause::kExit;
    end_.status =
        WIFSIGNALED(command.status) ? WTERMSIG(command.status) : WEXITSTATUS(command.status);
  }
  if (commands_.size() > 1) {
    for (size_t i = 0; i < commands_.size(); ++i) {
      if (!commands_[i].ended) continue;
      end_.processes.push_back(
          {view_.commands[i].step, view_.commands[i].command, 0, ExitCode(commands_[i].status)});
    }
  }
  if (start_failed_) end_.cause = Cause::kStart;
  if (end_.cause != Cause::kSuccess && !ordered_cause_ && cgroup_.WasOutOfMemory()) {
    ordered_cause_ = Cause::kMemory;
    NoteMemory(view_.start.needs.memory);
  }
  if (ordered_cause_ && !start_failed_) {
    end_.cause = *ordered_cause_;
    end_.status = 0;
  }
}

// True when a file that fails may pass later.
bool AttemptRunner::FindFailures(int64_t now, std::string& failures) {
  AsUser user(job_->opening);
  if (!user.status()) {
    failures = user.status().error().message;
    return false;
  }
  bool late = false;
  for (const StartView::CheckView& check : view_.checks) {
    if (check_delay_ > 20 * kMilli) RefreshFolder(check.file);
    std::string why = WhyCheckFails(check.kind, check.file);
    if (why.empty()) continue;
    if (!failures.empty()) failures += "\n";
    failures += why;
    late = late || (now < check_until_ && MayAppearLate(check.file));
  }
  return late;
}

void AttemptRunner::Check(int64_t now) {
  std::string failures;
  if (FindFailures(now, failures)) {
    phase_until_ = std::min(now + check_delay_, check_until_);
    check_delay_ = std::min(check_delay_ * 2, 500 * kMilli);
    return;
  }
  if (!failures.empty()) {
    end_.cause = Cause::kCheck;
    Note(failures);
  }
  Finish(now);
}

// What --get names, and the end of the folder. A file that is missing matters to a task that has
// succeeded; of others there comes what is there.
void AttemptRunner::BringFiles() {
  if (!folder_.exists()) return;
  bool ran = started_ > 0 && end_.cause != Cause::kNode && end_.cause != Cause::kStopped;
  bool good = end_.cause == Cause::kSuccess;
  std::string missing;
  {
    AsUser user(job_->opening);
    if (ran && user.status()) missing = folder_.OpenGets(view_.gets);
  }
  if (good && !missing.empty()) {
    end_.cause = Cause::kCheck;
    Note(missing);
  }
  std::string lost = folder_.Pack(setup_.spool_folder);
  if (!lost.empty()) {
    if (good) end_.cause = Cause::kNode;
    Note(lost);
  }
  folder_.Remove();
}

void AttemptRunner::Finish(int64_t) {
  BringFiles();
  FillMemory();
  SetPrecedence(false);
  if (end_.left_behind > 0) {
    std::string text = "left behind: " + leftovers_;
    uint32_t named = static_cast<uint32_t>(std::min(named_, kMostNamed));
    if (leftovers_.empty()) {
      text += fmt::format("{} processes", end_.left_behind);
    } else if (end_.left_behind > named) {
      text += fmt::format(" and {} more", end_.left_behind - named);
    }
    Note(text + ", ended");
  }
  if (!out_.trouble().empty()) Note(out_.trouble());
  if (!err_.trouble().empty() && err_.trouble() != out_.trouble()) Note(err_.trouble());
  end_.stdout_total = out_.total();
  end_.stderr_total = err_.total();
  outbox_.AddEnd(end_, out_.view(), err_.view(), folder_.view());
  phase_ = Phase::kIdle;
  phase_until_ = kNever;
}

void AttemptRunner::FillMemory() {
  if (started_ == 0) return;
  end_.memory_source = MemorySource::kRusage;
  end_.peak_memory = rusage_peak_;
  if (sampled_peak_ > rusage_peak_) {
    end_.memory_source = MemorySource::kSampled;
    end_.peak_memory = sampled_peak_;
  }
  if (auto peak = cgroup_.Peak()) {
    end_.memory_source = MemorySource::kCgroup;
    end_.peak_memory = *peak;
  }
}

void AttemptRunner::Sample(int64_t now) {
  // Nobody waits for it: seldom is enough for a task that runs long.
  int64_t pause = view_.start.sample_memory || view_.start.needs.memory != 0
                      ? 0
                      : std::min((now - end_.start.ns) / 8, kSampleAtLeastEvery);
  sample_at_ = now + std::max(pause, kSampleEvery);
  if (phase_ != Phase::kRunning) return;
  uint64_t bytes = os::RssOfDescendants(getpid());
  sampled_peak_ = std::max(sampled_peak_, bytes);
  if (view_.start.sample_memory) AppendMemorySample(outbox_.Add(), {end_.ref, bytes});
  uint64_t limit = view_.start.needs.memory;
  if (limit != 0 && bytes > limit && !ordered_cause_) {
    NoteMemory(bytes);
    End(true, Cause::kMemory, now);
  }
}

void AttemptRunner::OnPipe(int stream, int64_t now) {
  OutputCollector& collector = stream == 1 ? out_ : err_;
  std::string_view fresh;
  OutputCollector::Taken taken = collector.Take(fresh);
  if (taken.bytes > 0) PassOn(stream, fresh);
  // Little came: let it gather for a moment instead of waking up for each line.
  if (!taken.full) (stream == 1 ? poll_out_at_ : poll_err_at_) = now + kPipeRest;
}

void AttemptRunner::NoteMemory(uint64_t used) {
  uint64_t limit = view_.start.needs.memory;
  memory_noted_ = true;
  Note(used > limit
           ? fmt::format("used {} of memory, {} were allowed", FormatSize(used), FormatSize(limit))
           : fmt::format("needed more memory than the {} that were allowed", FormatSize(limit)));
}

void AttemptRunner::PassOn(int stream, std::string_view bytes) {
  if (!job_->opening.live_output) return;
  AppendLiveOutput(outbox_.Add(), {end_.ref, static_cast<uint8_t>(stream), bytes});
}

void AttemptRunner::End(bool kill_all, Cause cause, int64_t now, std::string_view why) {
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kChecking:
      check_until_ = now;  // no more patience; its processes have ended by themselves
      return Check(now);
    case Phase::kLeftovers:
      phase_until_ = now;
      return;
    case Phase::kKilling:
      return;
    case Phase::kWaitStart:
    case Phase::kRunning:
      break;
  }
  if (!ordered_cause_) {
    ordered_cause_ = cause;
    if (!why.empty()) Note(why);
  }
  if (alive_ == 0 || kill_all) {
    retry_at_ = kNever;
    killing_since_ = now;
    phase_ = Phase::kKilling;
    return KillRound(now);
  }
  bool group_told = false;
  for (const CommandState& command : commands_) {
    if (command.pid == 0) continue;
    bool in_group = getpgid(command.pid) == group_;
    pid_t whom = in_group ? -group_ : command.pid;
    if (in_group && group_told) continue;
    group_told = group_told || in_group;
    kill(whom, SIGTERM);
    kill(whom, SIGCONT);  // a stopped process would not see it
  }
}

Adopted::Running AttemptRunner::InHand() const {
  return {end_.start.ns, view_.start, job_->opening.limits};
}

void AttemptRunner::SetPaused(bool paused) {
  paused_ = paused;
  if (phase_ != Phase::kRunning && phase_ != Phase::kWaitStart) return;
  if (tree_.SignalAll(paused ? SIGSTOP : SIGCONT) < 0 && group_ > 1 && alive_ > 0) {
    kill(-group_, paused ? SIGSTOP : SIGCONT);
  }
}

// A subreaper without children has nothing below it; then nothing is done at all, since to step
// aside in the cgroup may take 15 ms.
bool AttemptRunner::EndAll(int64_t patience) {
  int64_t until = os::MonotonicNanos() + patience;
  counts_leftovers_ = false;
  auto children_left = [] {
    pid_t pid = 0;
    while ((pid = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    return pid == 0;
  };
  bool first = true;
  while (children_left()) {
    if (!first && os::MonotonicNanos() >= until) return false;
    if (std::exchange(first, false)) SetPrecedence(true);
    cgroup_.KillAll();
    KillGroups();
    tree_.SignalAll(SIGSTOP);
    tree_.SignalAll(SIGKILL);
    AwaitChild(kMilli);
  }
  if (phase_ != Phase::kIdle) {
    out_.Discard();
    err_.Discard();
    folder_.Remove();
  }
  return true;
}

void AttemptRunner::Note(std::string_view text) {
  if (!end_.note.empty()) end_.note += "\n";
  end_.note += text;
}

Result<std::unique_ptr<AttemptRunner>> AttemptRunner::Create(const Setup& setup, Outbox& outbox) {
  auto out = OutputCollector::Create(STDOUT_FILENO, setup.spool_folder);
  if (!out) return std::unexpected(out.error());
  auto err = OutputCollector::Create(STDERR_FILENO, setup.spool_folder);
  if (!err) return std::unexpected(err.error());
  return std::unique_ptr<AttemptRunner>(
      new AttemptRunner(setup, std::move(*out), std::move(*err), outbox));
}

AttemptRunner::AttemptRunner(const Setup& setup, OutputCollector out, OutputCollector err,
                             Outbox& outbox)
    : setup_(setup),
      outbox_(outbox),
      served_user_(geteuid()),
      out_(std::move(out)),
      err_(std::move(err)),
      tree_(getpid()),
      cgroup_(setup.cgroup) {
  if (setup.home_cpu >= 0) StayAt(setup.home_cpu);
  if (!setup.job_folder.empty()) folder_variable_ = "SPATE_JOB_DIR=" + setup.job_folder;
  if (!setup.node_id.empty()) folder_variable_ = "SPATE_NODE_ID=" + setup.node_id;
}

}  // namespace spate::shepherd
