// Makes shepherds vfork-style, so that the size of this process does not matter, from a process
// that may have threads and signal handlers: all signals are blocked in the child until the new
// program has set up its own.
//
// clone3 can put the child into a cgroup in the same step (Linux 5.7), which saves the price of
// moving a process. It has no C library wrapper, and a wrapper could not help: with a stack of its
// own the child must not return. Hence the assembly.
#include "shepherd/launch.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/clock.h"
#include "os/error.h"
#include "shepherd/process_tree.h"
#include "shepherd/protocol.h"
#include "shepherd/shepherd_main.h"

namespace spate::shepherd {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kStackSize = 64 * 1024;
constexpr uint64_t kCloneIntoCgroup = 0x200000000ULL;

struct Child {
  int program;
  const char* path;
  char* const* argv;
  int socket;
  int progress;
  JobServer job_server;  // copies of its descriptors
  int error;
};

using ChildFunction = int (*)(void*);

#if defined(__x86_64__)
// clone3 with a separate stack: the child calls `fn(argument)` and never comes back.
long CloneThree(clone_args* arguments, ChildFunction fn, void* argument) {
  long result = SYS_clone3;
  register ChildFunction function asm("r12") = fn;
  register void* data asm("r13") = argument;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(arguments), "S"(sizeof *arguments), "r"(function), "r"(data)
      : "rcx", "r11", "memory", "cc");
  return result;
}

#else
long CloneThree(clone_args*, ChildFunction, void*) { return -ENOSYS; }
#endif

// The pid, or -errno.
long StartChild(ChildFunction fn, void* argument, char* stack, int cgroup) {
  clone_args arguments{};
  arguments.flags = CLONE_VM | CLONE_VFORK;
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<uint64_t>(stack);
  arguments.stack_size = kStackSize;
  if (cgroup >= 0) {
    arguments.flags |= kCloneIntoCgroup;
    arguments.cgroup = static_cast<uint64_t>(cgroup);
    if (long pid = CloneThree(&arguments, fn, argument); pid > 0) return pid;
    arguments.flags &= ~uint64_t{kCloneIntoCgroup};
    arguments.cgroup = 0;
  }
  // Not by the C library's clone where it can be helped: TSan takes that for a fork, and then no
  // longer sees what this process locks, since the child shares its memory.
  if (long pid = CloneThree(&arguments, fn, argument); pid > 0) return pid;
  pid_t pid = clone(fn, stack + kStackSize, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  return pid > 0 ? pid : -errno;
}

// Runs on our memory until exec: system calls only.
__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) int BecomeShepherd(
    void* argument) {
  auto* child = static_cast<Child*>(argument);
  // All are above the numbers that they get (see Launch).
  dup2(child->socket, kSocketFd);
  dup2(child->progress, kProgressFd);
  if (child->job_server.read >= 0) {
    dup2(child->job_server.read, kJobServerReadFd);
    dup2(child->job_server.write, kJobServerWriteFd);
  } else {
    close(kJobServerReadFd);
    close(kJobServerWriteFd);
  }
  if (child->program >= 0) {
    syscall(SYS_execveat, child->program, "", child->argv, environ, AT_EMPTY_PATH);
  }
  execve(child->path, child->argv, environ);
  child->error = errno;
  _exit(127);
}

// The descriptor again, with a number that is out of the way.
os::Fd CopyUp(int fd) { return os::Fd(fcntl(fd, F_DUPFD_CLOEXEC, kJobServerWriteFd + 1)); }
os::Fd MoveUp(os::Fd fd) { return CopyUp(fd.get()); }

void EndTree(pid_t pid) {
  ProcessTree(pid).SignalAll(SIGKILL);
  kill(pid, SIGKILL);
}

}  // namespace

ShepherdProcess::ShepherdProcess(ShepherdProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      page_(std::exchange(other.page_, nullptr)) {}

ShepherdProcess& ShepherdProcess::operator=(ShepherdProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(socket_, other.socket_);
  std::swap(page_, other.page_);
  return *this;
}

ShepherdProcess::~ShepherdProcess() {
  if (page_ != nullptr) munmap(page_, kPage);
}

uint64_t ShepherdProcess::started_sequence() const {
  return page_ == nullptr ? 0 : page_->started.load(std::memory_order_acquire);
}

uint64_t ShepherdProcess::beats() const {
  return page_ == nullptr ? 0 : page_->beats.load(std::memory_order_relaxed);
}

Result<size_t> ShepherdProcess::Send(std::string_view bytes) {
  while (true) {
    ssize_t put = send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put >= 0) return static_cast<size_t>(put);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return 0;
    return Fail(ErrorKind::kUnavailable, "the shepherd has ended");
  }
}

Result<size_t> ShepherdProcess::Receive(char* to, size_t size) {
  while (true) {
    ssize_t got = recv(socket_.get(), to, size, MSG_DONTWAIT);
    if (got > 0) return static_cast<size_t>(got);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN)) return 0;
    return Fail(ErrorKind::kUnavailable, "the shepherd has ended");
  }
}

void ShepherdProcess::EndOrders() { shutdown(socket_.get(), SHUT_WR); }

void ShepherdProcess::Kill() {
  if (pid_ > 0) kill(pid_, SIGKILL);
}

void ShepherdProcess::KillTree() {
  if (pid_ > 0) EndTree(pid_);
}

bool ShepherdProcess::made_room() const {
  return WIFEXITED(wait_status_) && WEXITSTATUS(wait_status_) == kMadeRoom;
}

bool ShepherdProcess::Reaped(int64_t patience) {
  int64_t until = os::MonotonicNanos() + patience;
  while (pid_ > 0) {
    pid_t got = waitpid(pid_, &wait_status_, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) {
      pid_ = -1;
      break;
    }
    int64_t left = until - os::MonotonicNanos();
    if (left <= 0) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

Result<Launcher> Launcher::Create() {
  Launcher launcher;
  launcher.program_ = MoveUp(os::Fd(open("/proc/self/exe", O_PATH | O_CLOEXEC)));
  launcher.job_server_ = InheritedJobServer();
  const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (name != nullptr) launcher.program_path_ = name;
  if (!launcher.program_ && access(launcher.program_path_.c_str(), X_OK) != 0) {
    return Fail(ErrorKind::kUnavailable,
                "cannot find this program's own file, which its shepherds need: mount /proc, or "
                "start it by its full path");
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  struct sigaction action{};
  sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler == SIG_IGN) {  // inherited: children would vanish without a status
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, nullptr);
  }
  return launcher;
}

Result<ShepherdProcess> Launcher::Launch(const std::string& cgroup) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os::FailErrno("make a socket for a shepherd");
  }
  ShepherdProcess shepherd;
  shepherd.socket_.Reset(ends[0]);
  os::Fd theirs = MoveUp(os::Fd(ends[1]));
  os::Fd memory(static_cast<int>(syscall(SYS_memfd_create, "spate-progress", MFD_CLOEXEC)));
  os::Fd progress = MoveUp(std::move(memory));
  if (!theirs || !progress || ftruncate(progress.get(), kPage) != 0) {
    return os::FailErrno("make a page of memory for a shepherd");
  }
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, progress.get(), 0);
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (page != MAP_FAILED) shepherd.page_ = static_cast<SharedPage*>(page);
  if (page == MAP_FAILED || stack == MAP_FAILED) {
    return os::FailErrno("get memory for a shepherd");
  }
  char name[] = "spate-shepherd";
  std::string argument = kShepherdArgument;
  char* argv[] = {name, argument.data(), nullptr};
  Child child{program_.get(), program_path_.c_str(), argv, theirs.get(), progress.get(), {}, 0};
  os::Fd job_read;
  os::Fd job_write;
  if (job_server_) {
    job_read = CopyUp(job_server_->read);
    job_write = CopyUp(job_server_->write);
    if (job_read && job_write) child.job_server = {job_read.get(), job_write.get()};
  }
  os::Fd folder;
  if (!cgroup.empty()) folder.Reset(open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long pid = StartChild(BecomeShepherd, &child, static_cast<char*>(stack), folder.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackSize);
  if (pid < 0) {
    errno = static_cast<int>(-pid);
    return os::FailErrno("start a shepherd");
  }
  if (child.error != 0) {
    waitpid(static_cast<pid_t>(pid), nullptr, 0);
    errno = child.error;
    return os::FailErrno("execute", program_path_);
  }
  shepherd.pid_ = static_cast<pid_t>(pid);
  return shepherd;
}

int EndOrphans(const std::vector<pid_t>& keep, const ForeignChildren& foreign) {
  // Orphans that die are replaced by their own children, also by such as came after they were
  // looked for: done is a pass that finds none.
  int found = 0;
  for (int pass = 0; pass < 8; ++pass) {
    found = 0;
    ProcessTree ours(getpid());
    for (pid_t child : ours.Children()) {
      if (std::find(keep.begin(), keep.end(), child) != keep.end()) continue;
      auto whose = foreign.OwnerOf(child);
      if (whose != ForeignChildren::Whose::kOurs) {
        waitpid(child, nullptr, WNOHANG);  // nobody else does
        found += whose == ForeignChildren::Whose::kUnclear ? 1 : 0;
        continue;
      }
      kill(child, SIGSTOP);
      EndTree(child);
      waitpid(child, nullptr, WNOHANG);
      ++found;
    }
    if (found == 0) break;
  }
  return found;
}

}  // namespace spate::shepherd
