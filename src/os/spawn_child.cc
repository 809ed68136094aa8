#include "os/spawn_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/environment.h"
#include "os/error.h"
#include "os/find_program.h"

namespace spate::os {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void SetAttributes(posix_spawnattr_t& attributes, const Spawn& spawn) {
  int flags = 0;
  if (spawn.session) flags |= POSIX_SPAWN_SETSID;
  if (spawn.group) flags |= POSIX_SPAWN_SETPGROUP;
  if (!spawn.our_signals) {
    flags |= POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
  }
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
}

int Start(pid_t& pid, const Spawn& spawn, const char* program, const std::vector<char*>& argv) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A descriptor that becomes itself stays open.
  for (auto [from, to] :
       {std::pair(spawn.in, 0), {spawn.out, 1}, {spawn.err, 2}, {spawn.kept, spawn.kept}}) {
    if (from >= 0) posix_spawn_file_actions_adddup2(&actions, from, to);
  }
  if (!spawn.terminal.empty()) {
    // A leader without a terminal gets the first that it opens.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, spawn.terminal.c_str(), O_RDWR, 0);
    for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, fd);
    }
  }
  if (spawn.close_others) posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (!spawn.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, spawn.folder.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  SetAttributes(attributes, spawn);
  const std::vector<char*> environment = Pointers(spawn.environment);
  int error = posix_spawnp(&pid, program, &actions, &attributes, argv.data(),
                           spawn.environment.empty() ? environ : environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<Pid> SpawnChild(const Spawn& spawn) {
  const std::string& program = spawn.program.empty() ? spawn.argv.front() : spawn.program;
  pid_t pid = 0;
  int error = Start(pid, spawn, program.c_str(), Pointers(spawn.argv));
  if (error == ENOEXEC) {  // a script without "#!", which is the shell's, as for execvp(3)
    std::vector<std::string> words = spawn.argv;
    const bool is_path = program.find('/') != std::string::npos;
    words[0] = is_path ? program : FindProgram(program, Environment::OfProcess().GetOr("PATH", ""));
    words.insert(words.begin(), "/bin/sh");
    error = Start(pid, spawn, "/bin/sh", Pointers(words));
  }
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

int WaitForExit(Pid pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int SignalOf(int wait_status) { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }

// A killed process is gone soon, but for one that hangs in the kernel, which nobody should wait
// for.
void Reap(RealLoop& loop, Pid pid) {
  constexpr Duration kLookAgain = Duration::Millis(50);
  if (HasExited(pid, nullptr)) return;
  loop.At(loop.Now() + kLookAgain, [&loop, pid] { Reap(loop, pid); });
}

}  // namespace spate::os
