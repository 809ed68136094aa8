// A stand-in is a fork without exec: a thousand of them share nearly all of their memory with this
// process. It blocks each signal that can be blocked and takes them one by one, with their senders;
// the C library would keep two of them back, so the system is called directly.
#include "os/stand_ins.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/number.h"
#include "os/error.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/spawn_child.h"

namespace spate::os {
namespace {

constexpr uint64_t kAllSignals = ~uint64_t{0};
// Our order to end, with the status as its value. From another sender it is a signal like others.
constexpr int kEndSignal = 34;
constexpr size_t kTitleMost = 512;

struct Report {
  Pid pid;
  int signo;
};

uint64_t SetSignalMask(uint64_t mask) {
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
  return before;
}

[[noreturn]] void EndWith(int wait_status) {
  SetSignalMask(0);
  if (WIFSIGNALED(wait_status)) DieOfSignal(WTERMSIG(wait_status));
  _exit(WEXITSTATUS(wait_status));
}

// The life of a stand-in, in the fork of a process that may have threads: system calls alone.
[[noreturn]] void StandIn(Pid parent, int reports) {
  const uid_t user = getuid();
  const Pid self = getpid();
  for (;;) {
    siginfo_t from{};
    const int signo = static_cast<int>(
        syscall(SYS_rt_sigtimedwait, &kAllSignals, &from, nullptr, sizeof kAllSignals));
    if (signo <= 0 || (from.si_code != SI_USER && from.si_code != SI_QUEUE)) continue;
    if (from.si_pid == parent) {
      if (signo == kEndSignal && from.si_code == SI_QUEUE) EndWith(from.si_value.sival_int);
      continue;
    }
    if (from.si_uid != user) continue;
    const Report report{self, signo};
    (void)!write(reports, &report, sizeof report);
  }
}

struct TitleRoom {
  char* at = nullptr;
  size_t bytes = 0;
};

// The words of this process and, right behind them, its environment. Nothing when the system does
// not tell where they are.
TitleRoom FindTitleRoom() {
  const std::string stat = ReadFile("/proc/self/stat", 4096).value_or("");
  std::vector<std::string_view> fields;
  std::string_view rest(stat);
  rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (end > 0) fields.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  // man 5 proc_pid_stat: arg_start is the 48th, and the 3rd is the first behind the name.
  constexpr size_t kArgStart = 48 - 3;
  if (fields.size() < kArgStart + 4) return {};
  uint64_t places[4];  // where the words begin and end, and the environment
  for (size_t i = 0; i < 4; ++i) {
    places[i] = ReadNumber<uint64_t>(fields[kArgStart + i]).value_or(0);
  }
  if (places[0] == 0 || places[1] < places[0]) return {};
  const bool joined = places[2] == places[1] && places[3] > places[2];
  return {reinterpret_cast<char*>(places[0]), (joined ? places[3] : places[1]) - places[0]};
}

// The name of the process, and its words. The kernel takes what was written over the environment
// for a part of them once the last byte of the words is not a NUL.
void SetTitle(char* at, size_t room, const char* title, size_t length) {
  prctl(PR_SET_NAME, title, 0, 0, 0);
  if (room == 0) return;
  memset(at, 0, room);
  memcpy(at, title, std::min(length, room - 1));
}

}  // namespace

Result<std::unique_ptr<StandIns>> StandIns::Create(RealLoop& loop, Events events) {
  auto pipe = TRY(MakePipe());
  TRY(SetNonBlocking(pipe.read.get(), true));
  return std::unique_ptr<StandIns>(new StandIns(loop, std::move(events), std::move(pipe)));
}

StandIns::StandIns(RealLoop& loop, Events events, Pipe pipe)
    : loop_(loop), events_(std::move(events)), pipe_(std::move(pipe)) {
  const TitleRoom room = FindTitleRoom();
  title_ = room.at;
  title_room_ = room.bytes;
  loop_.WatchRead(pipe_.read.get(), [this] { ReadReports(); });
  loop_.OnSignal(kSignalChild, [this] { ReapSome(); });
}

StandIns::~StandIns() {
  loop_.Unwatch(pipe_.read.get());
  loop_.OnSignal(kSignalChild, nullptr);
  for (const auto& [pid, child] : children_) kill(pid, SIGKILL);
  for (const auto& [pid, child] : children_) (void)WaitForExit(pid);
}

Result<Pid> StandIns::Start(std::string_view title) {
  char text[kTitleMost] = {};
  const size_t length = std::min(title.size(), sizeof text - 1);
  memcpy(text, title.data(), length);
  const Pid parent = getpid();
  const uint64_t before = SetSignalMask(kAllSignals);
  const Pid pid = fork();
  const int error = errno;
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) _exit(0);
    setpgid(0, 0);
    SetTitle(title_, title_room_, text, length);
    (void)!chdir("/");
    const int reports = pipe_.write.get();
    if (reports > 0) syscall(SYS_close_range, 0, reports - 1, 0);
    syscall(SYS_close_range, reports + 1, ~0U, 0);
    StandIn(parent, reports);
  }
  SetSignalMask(before);
  if (pid < 0) return std::unexpected(SystemError(error, "start", "a process"));
  setpgid(pid, pid);
  children_[pid] = {};
  return pid;
}

void StandIns::Stop(Pid pid) {
  auto child = children_.find(pid);
  if (child == children_.end() || child->second.stopped || child->second.ends) return;
  child->second.stops = true;
  kill(pid, SIGSTOP);
}

void StandIns::Continue(Pid pid) {
  auto child = children_.find(pid);
  if (child == children_.end()) return;
  child->second.stops = false;
  kill(pid, SIGCONT);
}

void StandIns::End(Pid pid, int wait_status) {
  auto child = children_.find(pid);
  if (child == children_.end() || child->second.ends) return;
  child->second.ends = true;
  if (sigqueue(pid, kEndSignal, {.sival_int = wait_status}) != 0) kill(pid, SIGKILL);
  kill(pid, SIGCONT);
}

void StandIns::ReadReports() {
  Report reports[64];
  auto got = ReadSome(pipe_.read.get(), reinterpret_cast<char*>(reports), sizeof reports,
                      "the reports of stand-ins");
  const size_t count = got ? *got / sizeof(Report) : 0;
  for (size_t i = 0; i < count; ++i) {
    if (children_.contains(reports[i].pid)) events_.signalled(reports[i].pid, reports[i].signo);
  }
}

void StandIns::ReapSome() {
  for (;;) {
    siginfo_t info{};
    constexpr int kWhat = WEXITED | WSTOPPED | WCONTINUED | WNOHANG;
    if (waitid(P_ALL, 0, &info, kWhat) != 0 || info.si_pid == 0) return;
    auto at = children_.find(info.si_pid);
    if (at == children_.end()) continue;
    Child& child = at->second;
    if (info.si_code == CLD_CONTINUED) {
      child.stopped = child.stops = false;
    } else if (info.si_code == CLD_STOPPED) {
      child.stopped = true;
      if (!std::exchange(child.stops, false) && !child.ends) events_.stopped(info.si_pid);
    } else if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
               info.si_code == CLD_DUMPED) {
      const bool ends = child.ends;
      children_.erase(at);
      if (!ends) events_.killed(info.si_pid);
    }
  }
}

}  // namespace spate::os
