// Leftovers are looked at by reading /proc, first when those that end at once are gone, then at
// growing distances: the system tells of the end of children alone, and a leftover may be the
// child of a daemon.
#include "shepherd/leftover_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "core/model/leftovers.h"
#include "os/signals.h"
#include "shepherd/nanos.h"
#include "shepherd/note.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kFirstLook = 50 * kMilli;  // after the commands
constexpr int64_t kLongestStep = 500 * kMilli;
constexpr int64_t kShortestStep = 20 * kMilli;
constexpr int64_t kWorthAWord = 1'000 * kMilli;
constexpr size_t kMostNamed = 5;
constexpr int kLooks = 3;

std::string NameOf(const os::ProcessInfo& info) {
  return fmt::format("{} (pid {})", EscapeForScreen(info.command), info.pid);
}

// A process that ends so was told to, mostly by the commands themselves (`server & client; kill
// $!`), or has lost its reader (`head -1 <(zcat FILE)`). Some programs catch the signal and exit
// with the status that a shell would report.
bool WasDismissed(int wait_status) {
  int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status) - 128;
  return number == SIGHUP || number == SIGINT || number == SIGPIPE || number == SIGTERM;
}

}  // namespace

std::string NamesOf(const std::vector<std::string>& names, size_t count) {
  size_t shown = std::min(names.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (count > shown) text += fmt::format(" and {} more", count - shown);
  return text;
}

void LeftoverWatch::Begin(spate::Leftovers rule, Duration patience) {
  rule_ = rule;
  left_ = rule == spate::Leftovers::kWait ? std::max<int64_t>(patience.ns, 0) : 0;
  on_ = news_told_ = given_up_ = false;
  next_look_ = INT64_MAX;
  leftovers_.clear();
  daemons_.clear();
  failed_.reset();
}

void LeftoverWatch::Ended(pid_t pid, int wait_status) {
  if (rule_ == spate::Leftovers::kEnd || wait_status == 0 || failed_ || WasDismissed(wait_status))
    return;
  auto info = os::InfoOf(pid);
  if (info && info->session == getsid(0)) failed_ = {NameOf(*info), wait_status};
}

bool LeftoverWatch::CommandsEnded(int64_t now) {
  if (rule_ == spate::Leftovers::kEnd) return false;
  on_ = true;
  since_ = looked_at_ = now;
  next_look_ = now + kFirstLook;
  return true;
}

void LeftoverWatch::Scan(int64_t now, bool halted) {
  if (!halted) left_ -= now - looked_at_;
  looked_at_ = now;
  // A process whose parent dies during a look may be missed, so none is believed only when seen
  // several times.
  for (int looks = 0; looks < kLooks; ++looks) {
    Find();
    if (!leftovers_.empty()) break;
  }
  int64_t step = std::clamp((now - since_) / 4, kShortestStep, kLongestStep);
  next_look_ = now + (halted ? step : std::clamp<int64_t>(left_, 1, step));
}

void LeftoverWatch::Find() {
  leftovers_.clear();
  daemons_.clear();
  pid_t session = getsid(0);
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || info->state == 'Z' || info->state == 'X') return;
    (info->session == session ? leftovers_ : daemons_).push_back(NameOf(*info));
  });
}

bool LeftoverWatch::IsOver() const { return leftovers_.empty() || left_ <= 0; }

int64_t LeftoverWatch::SoonestLook() const {
  return std::max(looked_at_ + kShortestStep, since_ + kFirstLook);
}

std::string LeftoverWatch::DrainNews(int64_t now) {
  if (news_told_ || now - since_ < kWorthAWord) return "";
  news_told_ = true;
  return NamesOf(leftovers_, leftovers_.size());
}

void LeftoverWatch::AddTo(AttemptEnd& end) const {
  if (given_up_) {
    end.cause = Cause::kCheck;
    AddNote(end, fmt::format("{}{}; end the command with `wait`, or use --leftovers",
                             kLeftRunningLine, NamesOf(leftovers_, leftovers_.size())));
  }
  if (!failed_) return;
  bool by_signal = WIFSIGNALED(failed_->wait_status);
  end.cause = by_signal ? Cause::kSignal : Cause::kExit;
  end.status = by_signal ? WTERMSIG(failed_->wait_status) : WEXITSTATUS(failed_->wait_status);
  AddNote(end, fmt::format("{}{} {}", kLeftoverFailedLine, failed_->name,
                           by_signal ? "was killed by " + os::SignalName(end.status)
                                     : fmt::format("exited with {}", end.status)));
}

}  // namespace spate::shepherd
