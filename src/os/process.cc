// Processes through /proc. ChildrenOf reads /proc/PID/task/*/children, which kernels have since
// 4.2 when they are built so; without it every stat file is looked at for its parent.
//
// EndAllChildren is exact because of two facts: an unreaped child's pid cannot be used again, and
// orphans of a subreaper's descendants become its children. So killing children only, over and
// over, takes any tree apart from its top; the end is waitpid saying ECHILD, never a list.
#include "os/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <unordered_map>

#include "base/number.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

// Reads a small file of /proc; false when it is not there. Cheaper than ReadFile.
bool ReadSmall(const char* path, char* buffer, size_t size, std::string_view* text) {
  Fd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  ssize_t n = read(fd.get(), buffer, size);
  if (n < 0) return false;
  *text = {buffer, static_cast<size_t>(n)};
  return true;
}

// Names of a folder of /proc that are numbers.
std::vector<Pid> Numbers(const std::string& path) {
  std::vector<Pid> numbers;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return numbers;
  while (dirent* entry = readdir(dir)) {
    std::string_view name = entry->d_name;
    if (auto number = ReadNumber<Pid>(name)) numbers.push_back(*number);
  }
  closedir(dir);
  return numbers;
}

void AppendPids(std::string_view text, std::vector<Pid>* pids) {
  while (!text.empty()) {
    Pid pid = 0;
    auto end = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (end.ec == std::errc()) pids->push_back(pid);
    size_t used = std::max<size_t>(1, static_cast<size_t>(end.ptr - text.data()));
    text.remove_prefix(std::min(used, text.size()));
  }
}

// False when this kernel has no such file.
bool ChildrenFromFiles(Pid pid, const std::string& proc, std::vector<Pid>* children) {
  std::string tasks = fmt::format("{}/{}/task", proc, pid);
  bool found = false;
  for (Pid task : Numbers(tasks)) {
    std::string path = fmt::format("{}/{}/children", tasks, task);
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) continue;
    found = true;
    auto text = ReadToEnd(fd.get(), 64 << 20, path);
    if (text) AppendPids(*text, children);
  }
  return found;
}

using Families = std::unordered_map<Pid, std::vector<Pid>>;

Families AllFamilies(const std::string& proc) {
  Families families;
  for (Pid pid : Numbers(proc)) {
    auto info = InfoOf(pid, proc);
    if (info) families[info->parent].push_back(pid);
  }
  return families;
}

uint64_t ResidentOf(Pid pid, const std::string& proc) {
  char path[128];
  char buffer[256];
  std::string_view text;
  *fmt::format_to_n(path, sizeof path - 1, "{}/{}/statm", proc, pid).out = '\0';
  if (!ReadSmall(path, buffer, sizeof buffer, &text)) return 0;
  size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return 0;
  uint64_t pages = 0;
  std::from_chars(text.data() + blank + 1, text.data() + text.size(), pages);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Waits until one of `children` ends, at most `ns`.
void WaitForAnEnd(const std::vector<Pid>& children, int64_t ns) {
  std::vector<Fd> fds;
  std::vector<pollfd> polls;
  for (Pid pid : children) {
    auto fd = PidfdOpen(pid);
    if (!fd) break;
    polls.push_back({.fd = fd->get(), .events = POLLIN, .revents = 0});
    fds.push_back(std::move(*fd));
    if (fds.size() == 16) break;
  }
  // Not all are watched, and new children may come: look again after a while anyway.
  ns = std::min<int64_t>(ns, polls.size() == children.size() ? 20'000'000 : 2'000'000);
  timespec time = {.tv_sec = 0, .tv_nsec = ns};
  ppoll(polls.data(), polls.size(), &time, nullptr);
}

}  // namespace

void FillStandardStreams() {
  int fd = -1;
  do {
    fd = open("/dev/null", O_RDWR);  // the lowest that is free
  } while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

Pid OwnPid() { return getpid(); }
Pid ParentPid() { return getppid(); }

int ExitStatusOf(int wait_status) {
  constexpr int kSignalled = 128;
  if (WIFSIGNALED(wait_status)) return kSignalled + WTERMSIG(wait_status);
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1;
}

Result<std::string> OwnProgram() {
  auto program = ReadLink("/proc/self/exe");
  if (!program) return program;
  // The kernel's way to say that the file is no more; another one may have its name now.
  constexpr std::string_view kGone = " (deleted)";
  if (!program->ends_with(kGone)) return program;
  std::string name = program->substr(0, program->size() - kGone.size());
  return Exists(name) ? std::move(name) : std::move(program);
}

OpenFileLimit GetOpenFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {limit.rlim_cur, limit.rlim_max};
}

Status SetOpenFileLimit(uint64_t now) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = now;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return FailErrno(fmt::format("set the limit of open files to {}", now));
  }
  return {};
}

OwnLimits GetOwnLimits() {
  static_assert(RLIM_INFINITY == UINT64_MAX);
  rlimit stack{}, core{}, files{};
  getrlimit(RLIMIT_STACK, &stack);
  getrlimit(RLIMIT_CORE, &core);
  getrlimit(RLIMIT_NOFILE, &files);
  return {stack.rlim_cur, core.rlim_cur, files.rlim_cur, getpriority(PRIO_PROCESS, 0)};
}

void KeepFreedMemory([[maybe_unused]] size_t bytes) {
#ifdef __GLIBC__
  constexpr size_t kBlockMost = 32u << 20;  // DEFAULT_MMAP_THRESHOLD_MAX
  for (const char* own : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(own) != nullptr) return;
  }
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(std::min(bytes / 2, kBlockMost)));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(bytes));
#endif
}

// Bits of a process's flags (PF_EXITING, PF_SIGNALED) and of its pending signals (SIGKILL).
constexpr int64_t kOnItsWayOut = 0x404, kKillPending = 0x100;

Result<ProcessInfo> ParseProcessStat(std::string_view line) {
  // "12 (a) b) S 1 ...": the name may hold anything, so its end is the last parenthesis.
  size_t open = line.find('(');
  size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return Fail(ErrorKind::kInvalid, "a process's stat line without a name");
  }
  ProcessInfo info;
  std::from_chars(line.data(), line.data() + open, info.pid);
  info.command = line.substr(open + 1, close - open - 1);
  std::string_view rest = line.substr(close + 1);
  int64_t fields[32] = {};
  int number = 3;  // as proc(5) counts
  while (!rest.empty() && number < 32) {
    if (rest.front() == ' ') {
      rest.remove_prefix(1);
      continue;
    }
    size_t end = std::min(rest.find(' '), rest.size());
    if (number == 3) info.state = rest.front();
    std::from_chars(rest.data(), rest.data() + end, fields[number]);
    rest.remove_prefix(end);
    ++number;
  }
  if (number < 25) return Fail(ErrorKind::kInvalid, "a process's stat line with too few fields");
  int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
  info.parent = static_cast<Pid>(fields[4]);
  info.group = static_cast<Pid>(fields[5]);
  info.session = static_cast<Pid>(fields[6]);
  info.user = Duration{(fields[14] + fields[16]) * tick_ns};
  info.system = Duration{(fields[15] + fields[17]) * tick_ns};
  info.own = Duration{(fields[14] + fields[15]) * tick_ns};
  info.threads = static_cast<uint32_t>(fields[20]);
  info.stack = static_cast<uint64_t>(fields[28]);
  info.start_time = static_cast<uint64_t>(fields[22]);
  info.ending = (fields[9] & kOnItsWayOut) != 0 || (fields[31] & kKillPending) != 0;
  info.resident = static_cast<uint64_t>(fields[24]) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return info;
}

Result<ProcessInfo> InfoOf(Pid pid, const std::string& proc) {
  char path[128];
  char buffer[1024];
  std::string_view text;
  *fmt::format_to_n(path, sizeof path - 1, "{}/{}/stat", proc, pid).out = '\0';
  if (!ReadSmall(path, buffer, sizeof buffer, &text)) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no process {}", pid));
  }
  return ParseProcessStat(text);
}

uint64_t StartTimeOf(Pid pid, const std::string& proc) {
  auto info = InfoOf(pid, proc);
  return info ? info->start_time : 0;
}

Duration AgeOf(uint64_t start_time) {
  const auto per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  const auto since = static_cast<int64_t>(start_time * (1'000'000'000 / per_second));
  return std::max(Duration{NanosSinceBoot() - since}, Duration());
}

std::string BootId(const std::string& proc) {
  auto text = ReadFile(proc + "/sys/kernel/random/boot_id", 256);
  if (!text) return "";
  return text->substr(0, text->find('\n'));
}

bool IsAlive(Pid pid, uint64_t start_time, const std::string& proc) {
  auto info = InfoOf(pid, proc);
  return info && info->start_time == start_time && info->state != 'Z' && info->state != 'X';
}

std::vector<Pid> ChildrenOf(Pid pid, const std::string& proc) {
  std::vector<Pid> children;
  if (ChildrenFromFiles(pid, proc, &children)) return children;
  Families families = AllFamilies(proc);
  return std::move(families[pid]);
}

std::vector<Pid> DescendantsOf(Pid pid, const std::string& proc) {
  std::vector<Pid> found;
  bool has_files = ChildrenFromFiles(pid, proc, &found);
  Families families;
  if (!has_files) {
    families = AllFamilies(proc);
    found = families[pid];
  }
  // A pid that is used again meanwhile could close a circle; none is visited twice.
  std::unordered_map<Pid, bool> seen = {{pid, true}};
  for (size_t i = 0; i < found.size(); ++i) {
    if (!seen.emplace(found[i], true).second) {
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(i--));
      continue;
    }
    if (has_files) {
      ChildrenFromFiles(found[i], proc, &found);
    } else {
      const std::vector<Pid>& more = families[found[i]];
      found.insert(found.end(), more.begin(), more.end());
    }
  }
  return found;
}

uint64_t RssOfDescendants(Pid pid, const std::string& proc) {
  uint64_t sum = 0;
  for (Pid child : DescendantsOf(pid, proc)) sum += ResidentOf(child, proc);
  return sum;
}

Status BecomeSubreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return FailErrno("become a subreaper");
  return {};
}

EndedChildren EndAllChildren(Duration patience,
                             const std::function<void(const ReapedChild&)>& on_reaped) {
  EndedChildren result;
  int64_t start = MonotonicNanos();
  for (;;) {
    // Reap what has ended; nobody else's pid can be behind ours before this.
    for (;;) {
      ReapedChild child;
      child.pid = waitpid(-1, &child.wait_status, WNOHANG | __WALL);
      if (child.pid < 0 && errno == EINTR) continue;
      if (child.pid < 0) return result;  // ECHILD: none is left
      if (child.pid == 0) break;
      child.was_running = result.rounds > 0 && WIFSIGNALED(child.wait_status) &&
                          WTERMSIG(child.wait_status) == SIGKILL;
      ++result.reaped;
      result.killed += child.was_running ? 1 : 0;
      if (on_reaped) on_reaped(child);
    }
    std::vector<Pid> children = ChildrenOf(getpid());
    for (Pid pid : children) kill(pid, SIGKILL);
    ++result.rounds;
    int64_t left = patience.ns - (MonotonicNanos() - start);
    if (left <= 0) {
      result.left = std::move(children);
      return result;
    }
    // The first rounds follow at once: most processes are gone when kill returns.
    if (result.rounds > 2 && !children.empty()) WaitForAnEnd(children, left);
  }
}

Result<Fd> PidfdOpen(Pid pid) {
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return FailErrno(fmt::format("watch process {}", pid));
  return Fd(fd);
}

Status PidfdSignal(int pidfd, int signo) {
  if (syscall(SYS_pidfd_send_signal, pidfd, signo, nullptr, 0) != 0) {
    return FailErrno("signal a process");
  }
  return {};
}

bool PidfdEnded(int pidfd) {
  pollfd p{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&p, 1, 0) == 1;
}

}  // namespace spate::os
