#include "os/spawn_child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/error.h"

namespace spate::os {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void SetAttributes(posix_spawnattr_t& attributes, bool session) {
  sigset_t all, none;
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(session ? flags | POSIX_SPAWN_SETSID : flags));
}

}  // namespace

Result<Pid> SpawnChild(const Spawn& spawn) {
  const std::string& program = spawn.program.empty() ? spawn.argv.front() : spawn.program;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (auto [from, to] : {std::pair(spawn.in, 0), {spawn.out, 1}, {spawn.err, 2}}) {
    if (from >= 0) posix_spawn_file_actions_adddup2(&actions, from, to);
  }
  if (!spawn.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, spawn.folder.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetAttributes(attributes, spawn.session);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, program.c_str(), &actions, &attributes,
                           Pointers(spawn.argv).data(), Pointers(spawn.environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return std::unexpected(SystemError(error, "start", program));
  return pid;
}

bool HasExited(Pid pid, int* status) {
  pid_t reaped;
  do {
    reaped = waitpid(pid, status, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  return reaped != 0;
}

int SignalOf(int wait_status) { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }

// A killed process is gone soon, but for one that hangs in the kernel, which nobody should wait
// for.
void Reap(RealLoop& loop, Pid pid) {
  constexpr Duration kLookAgain = Duration::Millis(50);
  if (HasExited(pid, nullptr)) return;
  loop.At(loop.Now() + kLookAgain, [&loop, pid] { Reap(loop, pid); });
}

ChildInput::ChildInput(RealLoop& loop, Fd fd, std::string text)
    : loop_(loop), fd_(std::move(fd)), text_(std::move(text)) {
  if (text_.empty()) {
    Close();
  } else {
    loop_.WatchWrite(fd_.get(), [this] { OnWritable(); });
  }
}

void ChildInput::OnWritable() {
  ssize_t written = write(fd_.get(), text_.data() + sent_, text_.size() - sent_);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) sent_ += static_cast<size_t>(written);
  // A child that wants no more of its input is as good as one that has it all.
  if (written < 0 || sent_ == text_.size()) Close();
}

void ChildInput::Close() {
  if (!fd_) return;
  loop_.Unwatch(fd_.get());
  fd_.Reset();
}

}  // namespace spate::os
