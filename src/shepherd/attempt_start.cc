// The first half of AttemptRunner: from an order to running processes.
//
// GoOnStarting is where it happens; it may be left and entered again when the system has no
// process or descriptor for us just now: that is never the task's failure. A program that cannot
// be executed is the task's failure, with the statuses that shells use: 127 not found, 126 found
// but not executable.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/file.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kLongestRetry = 1000 * kMilli;
constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

bool IsShortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

}  // namespace

// Tasks are given back what this process had. A system that may refuse that is left alone: better
// no home than a task on one processor.
void AttemptRunner::StayAt(int cpu) {
  os::CpuMask all = os::AllowedCpus();
  if (os::SetAllowedCpus(all) && os::SetAllowedCpus(os::CpuMask::Of(cpu))) {
    task_cpus_ = std::move(all);
  }
}

void AttemptRunner::OpenJob(JobOpening opening) {
  auto [place, fresh] = jobs_.try_emplace(opening.job.value);
  if (!fresh) return;
  Job& job = place->second;
  job.opening = std::move(opening);
  if (job.opening.user) {
    auto begin = job.opening.inherit ? InheritedEnvironment : LoginEnvironment;
    job.login = begin(*job.opening.user, kDefaultPath);
    for (const std::string& variable : job.login) job.environment.Set(variable.c_str());
  } else {
    job.environment.Assign(environ);
  }
  if (!folder_variable_.empty()) job.environment.Set(folder_variable_.c_str());
  for (const std::string& variable : job.opening.environment) {
    job.environment.Set(variable.c_str());
  }
}

void AttemptRunner::CloseJob(JobId id) {
  auto job = jobs_.find(id.value);
  if (job == jobs_.end()) return;
  if (job_ == &job->second) {
    if (!idle()) return;
    job_ = nullptr;
    environment_ = nullptr;
    search_path_ = "";
  }
  jobs_.erase(job);
}

Status AttemptRunner::Begin(std::string frame, int64_t now) {
  CHECK(idle());
  frame_ = std::move(frame);
  Status sound = DecodeStart(frame_, view_);
  if (!sound) return sound;
  auto job = jobs_.find(view_.start.ref.job.value);
  if (job == jobs_.end()) return Fail(ErrorKind::kInvalid, "a start before the job was opened");
  job_ = &job->second;
  Reset(now);
  ServeUser();
  environment_ = job_->environment.With(view_.environment);
  const char* path = job_->environment.path();
  search_path_ = path != nullptr ? path : kDefaultPath;
  StartStep(0, now);
  return {};
}

void AttemptRunner::Reset(int64_t now) {
  end_ = AttemptEnd{};
  end_.ref = view_.start.ref;
  end_.slot = view_.start.slot;
  end_.start = {now};
  ordered_cause_.reset();
  start_failed_ = false;
  commands_.assign(view_.commands.size(), CommandState{});
  started_ = 0;
  alive_ = 0;
  group_ = 0;
  commands_ended_at_ = now;
  phase_until_ = kNever;
  retry_at_ = kNever;
  sampled_peak_ = 0;
  rusage_peak_ = 0;
  retry_delay_ = 0;
  waited_since_ = 0;
  counts_leftovers_ = false;
  leftovers_.clear();
  named_ = 0;
  rounds_ = 0;
  poll_out_at_ = now + kPipeRest;
  poll_err_at_ = now + kPipeRest;
  bool soon = view_.start.sample_memory || view_.start.needs.memory != 0;
  sample_at_ = now + (soon ? 200 : 1000) * kMilli;
  out_.Begin(end_.ref);
  err_.Begin(end_.ref);
  late_stderr_failed_ = false;
  last_words_.clear();
  memory_noted_ = false;
  err_.SendTo(view_.late_stderr ? [this](std::string_view bytes) { KeepStderr(bytes); }
                                : OutputCollector::Sink());
  folder_.Begin(job_->opening.task_folders, end_.ref);
  cgroup_.Begin(view_.start.needs.memory);
}

void AttemptRunner::StartStep(size_t first, int64_t now) {
  step_first_ = first;
  step_last_ = first + 1;
  while (step_last_ < view_.commands.size() &&
         view_.commands[step_last_].step == view_.commands[first].step) {
    ++step_last_;
  }
  next_ = first;
  group_ = 0;
  phase_ = Phase::kWaitStart;
  GoOnStarting(now);
}

void AttemptRunner::GoOnStarting(int64_t now) {
  retry_at_ = kNever;
  switch (StartAsUser()) {
    case Started::kShort:
      return WaitToStart(errno, now);
    case Started::kFailed:
      return TreeEnded(now);
    case Started::kAll:
      links_.clear();
  }
  phase_ = Phase::kRunning;
  if (view_.start.tell_start && step_first_ == 0 && started_ > 0) {
    AppendStarted(outbox_.Add(), {end_.ref, end_.start.ns});
  }
  if (paused_) SetPaused(true);
  if (alive_ == 0) StepEnded(Reap(now), now);
}

// kShort: with errno. Everything that the user names is touched here, and by Check.
AttemptRunner::Started AttemptRunner::StartAsUser() {
  if (started_ == 0 && folder_.is_wanted()) {
    std::string why = folder_.Make(job_->opening.user, view_.puts);
    if (!why.empty()) {
      CannotStart(126, why);
      return Started::kFailed;
    }
  }
  AsUser user(job_->opening);
  if (!user.status()) {
    CannotStart(126, user.status().error().message);
    return Started::kFailed;
  }
  if (started_ == 0 && !EnterFolder()) return Started::kFailed;
  if (started_ == 0 && !OpenFiles()) return retry_at_ == 0 ? Started::kShort : Started::kFailed;
  if (step_last_ - step_first_ > 1 && links_.empty() && !MakeLinks()) return Started::kShort;
  for (; next_ < step_last_; ++next_) {
    if (!StartCommand(next_)) return Started::kShort;
  }
  return Started::kAll;
}

bool AttemptRunner::EnterFolder() {
  if (folder_.is_wanted()) {
    std::string why = folder_.Enter(view_.puts);
    if (!why.empty()) CannotStart(126, why);
    return why.empty();
  }
  const char* cwd = *view_.cwd != '\0' ? view_.cwd : job_->opening.cwd.c_str();
  if (*cwd == '\0' || chdir(cwd) == 0) return true;
  std::string why = fmt::format("cannot enter the job's folder '{}': {}", EscapeForScreen(cwd),
                                os::TextOfErrno(errno));
  last_words_ = fmt::format("spate: {}\n", why);
  CannotStart(126, std::move(why));
  return false;
}

// What is kept from attempt to attempt is of one user: where programs are, and whose the pipes are
// (a task may open /dev/stdout).
void AttemptRunner::ServeUser() {
  const std::optional<TaskUser>& user = job_->opening.user;
  uint32_t number = user ? user->user : geteuid();
  if (number == served_user_) return;
  served_user_ = number;
  lookup_ = PathLookup();
  out_.GiveTo(number);
  err_.GiveTo(number);
}

// False with retry_at_ == 0 and errno for a shortage; false otherwise when the attempt has failed.
bool AttemptRunner::OpenFiles() {
  const char* out = view_.stdout_file;
  const char* err = view_.stderr_file;
  if (*view_.stdin_file == '\0' && *out == '\0' && *err == '\0') return true;
  bool one = *out != '\0' && std::strcmp(out, err) == 0;
  int how = O_WRONLY | O_CREAT | O_TRUNC | (one ? O_APPEND : 0);
  if (!in_file_ && !OpenFile(view_.stdin_file, O_RDONLY, "stdin", in_file_)) return false;
  if (!out_file_ && !OpenFile(out, how, "stdout", out_file_)) return false;
  // What stands there is of another attempt.
  if (view_.late_stderr) {
    unlink(err);
    return true;
  }
  if (!one && !err_file_ && !OpenFile(err, how, "stderr", err_file_)) return false;
  return true;
}

bool AttemptRunner::OpenFile(const char* path, int flags, const char* what, os::Fd& fd) {
  if (*path == '\0') return true;
  fd.Reset(open(path, flags | O_CLOEXEC | O_NOCTTY, 0666));
  // What is made late is made in a folder that is there.
  if (!fd && errno == ENOENT && (flags & O_CREAT) != 0 && !view_.late_stderr &&
      os::MakeDirs(os::DirName(path)).has_value()) {
    fd.Reset(open(path, flags | O_CLOEXEC | O_NOCTTY, 0666));
  }
  if (fd) return true;
  int error = errno;
  if (IsShortage(error)) {
    retry_at_ = 0;
  } else {
    CannotStart(126, fmt::format("cannot open '{}' as {}: {}", EscapeForScreen(path), what,
                                 os::TextOfErrno(error)));
  }
  errno = error;
  return false;
}

bool AttemptRunner::MakeLinks() {
  for (size_t i = step_first_; i + 1 < step_last_; ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      int error = errno;
      links_.clear();
      errno = error;
      return false;
    }
    links_.emplace_back(ends[0]);
    links_.emplace_back(ends[1]);
  }
  return true;
}

// False with errno for a shortage.
bool AttemptRunner::StartCommand(size_t index) {
  const char* name = view_.words[view_.commands[index].first];
  for (int attempt = 0; attempt < 2; ++attempt) {
    const PathLookup::Found& found = lookup_.Find(name, search_path_);
    if (found.error != 0) {
      TellExecFailure(index, name, found.error);
      commands_[index].ended = true;
      return true;
    }
    int error = TryStart(index, found.path.c_str());
    if (error == 0) return true;
    if (IsShortage(error)) {
      errno = error;
      return false;
    }
    if (error == ENOENT && found.remembered && attempt == 0) {
      lookup_.Forget(name);  // it has moved since
      continue;
    }
    TellExecFailure(index, found.path.c_str(), error);
    commands_[index].ended = true;
    return true;
  }
  return true;
}

// 0 or the errno that was in the way; then no process is left of it.
int AttemptRunner::TryStart(size_t index, const char* path) {
  Program program;
  program.path = path;
  program.argv = &view_.words[view_.commands[index].first];
  program.envp = environment_;
  size_t place = index - step_first_;
  bool first = index == step_first_;
  bool last = index + 1 == step_last_;
  program.in = first ? (step_first_ == 0 ? in_file_.get() : -1) : links_[2 * place - 2].get();
  program.out = last ? out_file_.get() : links_[2 * place + 1].get();
  bool one = out_file_ && std::strcmp(view_.stdout_file, view_.stderr_file) == 0;
  int err = view_.late_stderr ? -1 : err_file_.get();
  program.err = one ? out_file_.get() : err;
  program.group = group_;
  program.nice = job_->opening.nice;
  program.cpus = task_cpus_ ? &*task_cpus_ : nullptr;
  program.user = job_->opening.user ? &*job_->opening.user : nullptr;
  StartResult result = starter_.StartProgram(program);
  if (result.fork_error != 0) return result.fork_error;
  if (result.exec_error != 0) {
    waitpid(result.pid, nullptr, 0);
    return result.exec_error;
  }
  if (result.nice_error != 0 && index == 0) {
    Note(fmt::format("runs without the wanted nice value: {}", os::TextOfErrno(result.nice_error)));
  }
  commands_[index].pid = result.pid;
  if (group_ == 0) group_ = result.pid;
  ++started_;
  ++alive_;
  return 0;
}

void AttemptRunner::TellExecFailure(size_t index, const char* path, int error) {
  const char* name = view_.words[view_.commands[index].first];
  bool not_found = error == ENOENT || error == ENOTDIR;
  std::string shown = EscapeForScreen(name);
  if (error == ENOENT && access(path, F_OK) == 0) {
    not_found = false;
    shown += ": its interpreter does not exist";
  } else if (not_found && std::strchr(name, '/') == nullptr) {
    shown += ": command not found";
  } else if (error == EACCES && std::strchr(path, '/') != nullptr) {
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    shown += folder ? ": is a folder, not a program"
                    : ": permission denied (is it executable? chmod +x makes it so)";
  } else if (error == E2BIG) {
    shown += ": its arguments and environment are longer than the system allows";
  } else {
    shown.append(": ").append(os::TextOfErrno(error));
  }
  commands_[index].status = (not_found ? 127 : 126) << 8;
  // Whoever looks into the file where the command would have complained finds out there.
  if (view_.late_stderr) {
    last_words_ = shown + '\n';  // not now: we are the user already
  } else if (err_file_) {
    (void)os::WriteAll(err_file_.get(), shown + '\n', "stderr");
  }
  CannotStart(not_found ? 127 : 126, std::move(shown));
}

void AttemptRunner::CannotStart(int status, std::string why) {
  if (!start_failed_) end_.status = status;
  start_failed_ = true;
  Note(why);
}

void AttemptRunner::WaitToStart(int error, int64_t now) {
  if (waited_since_ == 0) {
    waited_since_ = now;
    Note(fmt::format("had to wait for the system: {}", os::TextOfErrno(error)));
  }
  retry_delay_ = std::min(std::max(10 * kMilli, retry_delay_ * 2), kLongestRetry);
  retry_at_ = now + retry_delay_;
  phase_ = Phase::kWaitStart;
}

// Most attempts write nothing there, and a file for each of them would cost more than all else.
void AttemptRunner::KeepStderr(std::string_view bytes) {
  AsUser user(job_->opening);
  if (!late_stderr_failed_ && !err_file_ && user.status()) {
    err_file_.Reset(
        open(view_.stderr_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  }
  Status kept = user.status();
  if (kept && !err_file_) kept = Fail(ErrorKind::kIo, std::string(os::TextOfErrno(errno)));
  if (kept) kept = os::WriteAll(err_file_.get(), bytes, view_.stderr_file);
  if (kept || std::exchange(late_stderr_failed_, true)) return;
  Note(fmt::format("stderr is lost: cannot write '{}': {}", EscapeForScreen(view_.stderr_file),
                   kept.error().message));
}

void AttemptRunner::TakeBack() {
  CHECK(waits_to_start());
  in_file_.Reset();
  out_file_.Reset();
  err_file_.Reset();
  links_.clear();
  folder_.Remove();
  phase_ = Phase::kIdle;
}

}  // namespace spate::shepherd
