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
#include <iterator>

#include "base/check.h"
#include "os/error.h"

namespace spate::shepherd {
namespace {

constexpr size_t kSpawnStack = 64 * 1024;
constexpr int kMaxScriptArguments = 1 << 20;

struct ChildContext {
  const Program* program;
  std::span<const Descriptor> passed_on;
  StartResult result;
};

// By LimitKind. Not a switch: a child that borrows our memory had better have no jump tables.
constexpr int kResources[] = {RLIMIT_CPU,   RLIMIT_FSIZE,   RLIMIT_AS,
                              RLIMIT_STACK, RLIMIT_CORE,    RLIMIT_NOFILE,
                              RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_DATA};
static_assert(std::size(kResources) == static_cast<size_t>(LimitKind::kLast) + 1);
static_assert(RLIM_INFINITY == UINT64_MAX);

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

// What the process has in hand when it becomes the program. False: errno says why not.
bool TakeDescriptors(const Program& program, std::span<const Descriptor> passed_on) {
  for (const Descriptor& one : passed_on) dup2(one.from, one.to);
  const int standard[] = {program.in, program.out, program.err};
  for (int fd = 0; fd <= 2; ++fd) {
    if (standard[fd] >= 0) dup2(standard[fd], fd);
  }
  for (const Descriptor& one : program.descriptors) {
    if (dup2(one.from, one.to) < 0) return false;
  }
  return true;
}

bool TakeLimits(const Program& program, StartResult& result) {
  for (const ProcessLimit& limit : program.limits) {
    rlimit both{limit.most, limit.most};
    if (setrlimit(static_cast<__rlimit_resource>(kResources[static_cast<int>(limit.kind)]),
                  &both) == 0) {
      continue;
    }
    result.refused_limit = &limit;
    return false;
  }
  return true;
}

bool TakeCpus(const Program& program, StartResult& result) {
  if (program.cpus == nullptr || os::SetAllowedCpus(*program.cpus)) return true;
  result.refused_cpus = program.must_have_cpus;
  return !program.must_have_cpus;
}

// Without it the task runs all the same.
bool TakeNice(const Program& program, StartResult& result) {
  if (program.nice == 0) return true;
  errno = 0;
  int now = getpriority(PRIO_PROCESS, 0);
  if (setpriority(PRIO_PROCESS, 0, now + program.nice) != 0) result.nice_error = errno;
  return true;
}

__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) int BecomeProgram(
    void* argument) {
  auto* context = static_cast<ChildContext*>(argument);
  const Program& program = *context->program;
  StartResult& result = context->result;
  setpgid(0, program.group);
  bool is_user = program.user == nullptr || BecomeUser(*program.user);
  // The tree dies with its shepherd even when nobody is left to end it. (A change of user forgets
  // this.)
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (is_user && TakeCpus(program, result) && TakeDescriptors(program, context->passed_on) &&
      TakeNice(program, result) && TakeLimits(program, result)) {
    ClearSignalMask();
    execve(program.path, const_cast<char* const*>(program.argv),
           const_cast<char* const*>(program.envp));
    if (errno == ENOEXEC) RunByShell(program);
  }
  result.exec_error = errno;
  _exit(127);
}

}  // namespace

bool IsShortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

StartFailure StartFailure::Of(int error, const std::string& what) {
  if (IsShortage(error)) return {error, {}};
  return {0, what + ": " + std::string(os::TextOfErrno(error))};
}

Starter::Starter() {
  void* memory = mmap(nullptr, kSpawnStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  CHECK(memory != MAP_FAILED);
  stack_ = static_cast<char*>(memory);
}

Starter::~Starter() { munmap(stack_, kSpawnStack); }

StartResult Starter::StartProgram(const Program& program) {
  std::span<const Descriptor> passed_on;
  if (program.user == nullptr) passed_on = passed_on_;
  ChildContext context{&program, passed_on, {}};
  pid_t pid =
      clone(BecomeProgram, stack_ + kSpawnStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &context);
  context.result.pid = pid;
  if (pid < 0) context.result.fork_error = errno;
  return context.result;
}

}  // namespace spate::shepherd
