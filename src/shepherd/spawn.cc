// Starts programs vfork-style (clone with CLONE_VM and CLONE_VFORK).
//
// The child runs BecomeProgram on a stack of its own while this process is suspended. Until exec
// it shares our memory, so the code there does system calls and nothing else: no allocation, no
// C library function that takes a lock or changes state. It tells of a failed exec by writing the
// errno into the memory that both share.
#include "shepherd/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <type_traits>

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
  int report = -1;  // where the result goes, of a child that does not share our memory
};

// By LimitKind. Not a switch: a child that borrows our memory had better have no jump tables.
constexpr int kResources[] = {RLIMIT_CPU,   RLIMIT_FSIZE,   RLIMIT_AS,
                              RLIMIT_STACK, RLIMIT_CORE,    RLIMIT_NOFILE,
                              RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_DATA};
static_assert(std::size(kResources) == kCountOf<LimitKind>);
static_assert(RLIM_INFINITY == UINT64_MAX);
static_assert(std::is_trivially_copyable_v<StartResult>);  // through a pipe, in one piece

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

// execvp's rule: the shell runs a script without "#!". The words are moved by one place in an array
// on the stack, because nothing may be allocated here.
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

// Arranges the descriptors of the process before it becomes the program. False: see errno.
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

void TakeSoftLimits(const Program& program, StartResult& result) {
  for (const ProcessLimit& limit : program.soft_limits) {
    const auto resource = static_cast<__rlimit_resource>(kResources[static_cast<int>(limit.kind)]);
    rlimit both{};
    if (getrlimit(resource, &both) != 0) continue;
    if (limit.most > both.rlim_max) result.cut_limits |= CutBit(limit.kind);
    both.rlim_cur = limit.most > both.rlim_max ? both.rlim_max : limit.most;
    setrlimit(resource, &both);
  }
}

bool TakeLimits(const Program& program, StartResult& result) {
  for (const ProcessLimit& limit : program.limits) {
    rlimit both{limit.most, limit.most};
    if (setrlimit(static_cast<__rlimit_resource>(kResources[static_cast<int>(limit.kind)]),
                  &both) == 0) {
      continue;
    }
    result.refused_limit = limit;
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
  os::TakeUsualTurns();
  if (program.nice == 0) return true;
  errno = 0;
  int now = getpriority(PRIO_PROCESS, 0);
  if (setpriority(PRIO_PROCESS, 0, now + program.nice) != 0) result.nice_error = errno;
  return true;
}

// For a child with its own memory: the program has moved within PATH.
void RunAlongPath(const Program& program) {
  std::string_view search(program.search);
  while (true) {
    size_t colon = search.find(':');
    std::string path(search.substr(0, colon));
    path.append(path.empty() ? "./" : "/").append(program.argv[0]);
    execve(path.c_str(), const_cast<char* const*>(program.argv),
           const_cast<char* const*>(program.envp));
    if ((errno != ENOENT && errno != ENOTDIR && errno != EACCES) || colon == search.npos) return;
    search.remove_prefix(colon + 1);
  }
}

bool EnterFolder(const Program& program, StartResult& result) {
  result.refused_folder = program.folder != nullptr && chdir(program.folder) != 0;
  return !result.refused_folder;
}

// While a child waits for a server it must not keep open what tells others that we are gone.
void CloseAllBut(const ChildContext& context) {
  if (context.report < 0) return;
  std::vector<int> kept = {context.report};
  for (const Descriptor& one : context.passed_on) kept.push_back(one.to);
  for (const Descriptor& one : context.program->descriptors) kept.push_back(one.to);
  std::ranges::sort(kept);
  int first = 3;
  for (int fd : kept) {
    if (first < fd) syscall(SYS_close_range, first, fd - 1, 0);
    first = std::max(first, fd + 1);
  }
  syscall(SYS_close_range, first, ~0U, 0);
}

void TellResult(const ChildContext& context) {
  if (context.report < 0) return;
  (void)!write(context.report, &context.result, sizeof context.result);
}

// More of a failed exec than its errno says.
void LookWhy(const Program& program, StartResult& result) {
  struct stat info;
  result.lacks_interpreter = result.exec_error == ENOENT && access(program.path, F_OK) == 0;
  if (result.exec_error != EACCES) return;
  result.is_folder = stat(program.path, &info) == 0 && S_ISDIR(info.st_mode);
  struct statvfs system;
  result.is_noexec = statvfs(program.path, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
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
  if (is_user && TakeDescriptors(program, context->passed_on)) {
    CloseAllBut(*context);
    if (EnterFolder(program, result) && TakeCpus(program, result) && TakeNice(program, result) &&
        (TakeSoftLimits(program, result), TakeLimits(program, result))) {
      if (result.nice_error != 0 || result.cut_limits != 0) TellResult(*context);
      ClearSignalMask();
      execve(program.path, const_cast<char* const*>(program.argv),
             const_cast<char* const*>(program.envp));
      if (errno == ENOEXEC) RunByShell(program);
      if (errno == ENOENT && program.search != nullptr && context->report >= 0) {
        RunAlongPath(program);
      }
    }
  }
  result.exec_error = errno;
  LookWhy(program, result);
  TellResult(*context);
  _exit(127);
}

}  // namespace

bool IsShortage(int error) {
  return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

uint64_t HardLimitOf(LimitKind kind) {
  rlimit both{};
  getrlimit(static_cast<__rlimit_resource>(kResources[static_cast<int>(kind)]), &both);
  return both.rlim_max;
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
  if (program.aside || program.folder != nullptr) return StartAside(program, passed_on);
  ChildContext context{&program, passed_on, {}};
  pid_t pid =
      clone(BecomeProgram, stack_ + kSpawnStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &context);
  context.result.pid = pid;
  if (pid < 0) context.result.fork_error = errno;
  return context.result;
}

StartResult Starter::StartAside(const Program& program, std::span<const Descriptor> passed_on) {
  StartResult result;
  auto fail = [&](int error) {
    result.fork_error = error;
    return result;
  };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(errno);
  os::Fd read_end(ends[0]);
  os::Fd write_end(ends[1]);
  // Out of the way of what the program has.
  int highest = kMostDescriptor;
  for (const Descriptor& one : passed_on) highest = std::max(highest, one.to);
  os::Fd report(fcntl(write_end.get(), F_DUPFD_CLOEXEC, highest + 1));
  if (!report) return fail(EMFILE);
  pid_t pid = fork();
  if (pid < 0) return fail(errno);
  if (pid == 0) {
    ChildContext context{&program, passed_on, {}, report.get()};
    BecomeProgram(&context);
  }
  // The child does the same; whoever of us comes first.
  setpgid(pid, program.group == 0 ? pid : program.group);
  aside_.push_back({pid, program.path, std::move(read_end), {}});
  result.pid = pid;
  return result;
}

void Starter::Read(Aside& one) {
  StartResult result;
  ssize_t got = 0;
  do {
    got = read(one.report.get(), &result, sizeof result);
    if (got == sizeof result) one.result = result;
  } while (got > 0 || (got < 0 && errno == EINTR));
  if (got == 0) one.report.Reset();
}

const char* Starter::Waiting() {
  for (Aside& one : aside_) {
    if (one.report) Read(one);
    if (one.report) return one.path.c_str();
  }
  return nullptr;
}

std::optional<StartResult> Starter::Ended(pid_t pid) {
  auto one = std::ranges::find(aside_, pid, &Aside::pid);
  if (one == aside_.end()) return std::nullopt;
  if (one->report) Read(*one);
  StartResult result = one->result;
  result.pid = pid;
  aside_.erase(one);
  return result;
}

}  // namespace spate::shepherd
