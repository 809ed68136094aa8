#include "shepherd/tree_killer.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/model/leftovers.h"
#include "os/clock.h"
#include "os/process.h"
#include "shepherd/leftover_watch.h"
#include "shepherd/nanos.h"
#include "shepherd/note.h"

namespace spate::shepherd {
namespace {

// A round waits so long for those whom it killed.
constexpr int64_t kRound = 50 * kMilli;
// A process that does not die (its disk or server hangs) holds its slot no longer than this.
constexpr int64_t kGiveUpAfter = 20'000 * kMilli;

}  // namespace

void TreeKiller::AwaitChild(int64_t nanos) {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
  sigtimedwait(&children, nullptr, &timeout);
}

void TreeKiller::Begin() {
  SetPrecedence(false);
  rounds_ = 0;
  counts_ = false;
  left_behind_ = 0;
  names_.clear();
  others_told_ = false;
}

void TreeKiller::NameLeftovers() {
  if (!counts_) return;
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || info->state == 'Z') return;
    names_.push_back(fmt::format("{} (pid {})", EscapeForScreen(info->command), pid));
  });
}

void TreeKiller::NameLeftovers(std::vector<std::string> names, bool others_told) {
  names_ = std::move(names);
  others_told_ = others_told;
}

void TreeKiller::Ended(int wait_status) {
  if (counts_ && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) ++left_behind_;
}

// First whole groups: they die at once, however fast they fork. Then process by process, which
// gets those who left the group. From the second round on with what is left to us: the cgroup,
// precedence over those who fork as fast as we kill, and stopping them before they are killed.
int64_t TreeKiller::Round(int64_t now, pid_t group, const std::function<bool(int64_t)>& reap) {
  ++rounds_;
  if (rounds_ > 1) {
    (void)cgroup_.KillAll({});
    SetPrecedence(true);
  }
  KillGroups(group);
  if (rounds_ > 1) tree_.SignalAll(SIGSTOP);
  tree_.SignalAll(SIGKILL);
  int64_t until = now + (rounds_ == 1 ? kRound : 0);
  bool left = true;
  while ((left = reap(now)) && (now = os::MonotonicNanos()) < until) {
    AwaitChild(std::min(until - now, 5 * kMilli));
  }
  return left ? now + (rounds_ < 100 ? 1 : 20) * kMilli : 0;
}

bool TreeKiller::IsHopeless(int64_t now) const { return now - since_ > kGiveUpAfter; }

// The groups of our children. A group's number cannot be anybody else's while one of its members
// is a child of ours that was not reaped. But a child may have joined a group of somebody else in
// our session: only groups that began as ours are killed.
void TreeKiller::KillGroups(pid_t group) {
  if (group > 1) kill(-group, SIGKILL);
  pid_t session = getsid(0);
  for (pid_t pid : tree_.Children()) {
    auto info = os::InfoOf(pid);
    if (!info || info->group <= 1) continue;
    bool ours = info->group == pid || info->group == group || info->session != session;
    if (ours) kill(-info->group, SIGKILL);
  }
}

// Sets real-time scheduling if we may; nothing that we start inherits it.
void TreeKiller::SetPrecedence(bool on) {
  sched_param parameter{};
  if (on && !precedence_ && sched_getscheduler(0) == SCHED_OTHER) {
    parameter.sched_priority = 1;
    precedence_ = sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0;
  } else if (!on && precedence_) {
    sched_setscheduler(0, SCHED_OTHER, &parameter);
    precedence_ = false;
  }
}

void TreeKiller::TellSurvivors(AttemptEnd& end) {
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || info->state == 'Z') return;
    AddNote(end, fmt::format("could not be ended: {} (pid {}, state {})",
                             EscapeForScreen(info->command), pid, info->state));
  });
}

void TreeKiller::AddTo(AttemptEnd& end) {
  SetPrecedence(false);
  end.left_behind = left_behind_;
  if (left_behind_ == 0 || (names_.empty() && others_told_)) return;
  size_t count = others_told_ ? names_.size() : std::max<size_t>(names_.size(), left_behind_);
  AddNote(end,
          fmt::format("{}{}{}", kLeftBehindLine,
                      names_.empty() ? fmt::format("{} processes", count) : NamesOf(names_, count),
                      kLeftBehindEnd));
}

// A subreaper without children has nothing below it; then nothing is done at all, since to step
// aside in the cgroup may take 15 ms.
bool TreeKiller::KillAll(int64_t patience, pid_t group) {
  int64_t until = os::MonotonicNanos() + patience;
  counts_ = false;
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
    (void)cgroup_.KillAll({});
    KillGroups(group);
    tree_.SignalAll(SIGSTOP);
    tree_.SignalAll(SIGKILL);
    AwaitChild(kMilli);
  }
  return true;
}

}  // namespace spate::shepherd
