// Starts programs vfork-style (clone with CLONE_VM and CLONE_VFORK).
//
// The child runs BecomeProgram on a stack of its own while this process is suspended. Until exec
// it shares our memory, so the code there does system calls and nothing else: no allocation, no
// C library function that takes a lock or changes state. It tells of a failed exec by writing the
// errno into the memory that both share.
#include "shepherd/spawn.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/check.h"

namespace spate::shepherd {
namespace {

constexpr size_t kStackSize = 64 * 1024;
constexpr int kMaxScriptArguments = 1 << 20;

struct ChildContext {
  const Program* program;
  int exec_error;
  int nice_error;
};

// The kernel's mask is 64 bits; the C library's sigset_t is larger.
void ClearSignalMask() {
  uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
}

// Groups and effective user are so already. Not by the C library, which would tell other threads.
bool BecomeUser(const TaskUser& user) {
  return syscall(SYS_setresgid, user.group, user.group, user.group) == 0 &&
         syscall(SYS_setresuid, user.user, user.user, user.user) == 0;
}

// As execvp: a script without "#!" is run by the shell. The words are moved by one place in an
// array on the stack, as nothing may be allocated here.
void RunByShell(const Program& program) {
  int count = 0;
  while (program.argv[count] != nullptr && count < kMaxScriptArguments) ++count;
  constexpr int kFew = 1024;
  const char* words[kFew + 2];
  if (count > kFew) {
    errno = E2BIG;
    return;
  }
  words[0] = "sh";
  words[1] = program.path;
  for (int i = 1; i <= count; ++i) words[i + 1] = program.argv[i];
  execve("/bin/sh", const_cast<char* const*>(words), const_cast<char* const*>(program.envp));
}

__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) int BecomeProgram(
    void* argument) {
  auto* context = static_cast<ChildContext*>(argument);
  const Program& program = *context->program;
  setpgid(0, program.group);
  if (program.user != nullptr && !BecomeUser(*program.user)) {
    context->exec_error = errno;
    _exit(127);
  }
  // The tree dies with its shepherd even when nobody is left to end it. (A change of user forgets
  // this.)
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (program.cpus != nullptr) os::SetAllowedCpus(*program.cpus);
  if (program.in >= 0) dup2(program.in, STDIN_FILENO);
  if (program.out >= 0) dup2(program.out, STDOUT_FILENO);
  if (program.err >= 0) dup2(program.err, STDERR_FILENO);
  if (program.nice != 0) {
    errno = 0;
    int now = getpriority(PRIO_PROCESS, 0);
    if (setpriority(PRIO_PROCESS, 0, now + program.nice) != 0) context->nice_error = errno;
  }
  ClearSignalMask();
  execve(program.path, const_cast<char* const*>(program.argv),
         const_cast<char* const*>(program.envp));
  if (errno == ENOEXEC) RunByShell(program);
  context->exec_error = errno;
  _exit(127);
}

}  // namespace

Starter::Starter() {
  void* memory = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  CHECK(memory != MAP_FAILED);
  stack_ = static_cast<char*>(memory);
}

Starter::~Starter() { munmap(stack_, kStackSize); }

StartResult Starter::StartProgram(const Program& program) {
  ChildContext context{&program, 0, 0};
  pid_t pid = clone(BecomeProgram, stack_ + kStackSize, CLONE_VM | CLONE_VFORK | SIGCHLD, &context);
  StartResult result;
  if (pid < 0) {
    result.fork_error = errno;
    return result;
  }
  result.pid = pid;
  result.exec_error = context.exec_error;
  result.nice_error = context.nice_error;
  return result;
}

}  // namespace spate::shepherd
