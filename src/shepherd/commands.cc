#include "shepherd/commands.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "os/signals.h"

namespace spate::shepherd {
namespace {

int ExitCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

void Commands::Begin(const std::vector<StartView::CommandView>& commands,
                     std::optional<uint32_t> first_rank) {
  view_ = &commands;
  first_rank_ = first_rank;
  first_failed_.reset();
  all_.assign(commands.size(), One{});
  first_ = last_ = next_ = 0;
  started_ = alive_ = 0;
  group_ = 0;
}

void Commands::EnterNextStep() {
  first_ = next_ = last_;
  while (last_ < view_->size() && (*view_)[last_].step == (*view_)[first_].step) ++last_;
  group_ = 0;
}

void Commands::Started(pid_t pid) {
  all_[next_++].pid = pid;
  if (group_ == 0) group_ = pid;
  ++started_;
  ++alive_;
}

void Commands::NotStarted(int wait_status) {
  NoteFailure(next_, wait_status);
  all_[next_++] = {0, true, wait_status};
}

void Commands::NoteFailure(size_t index, int wait_status) {
  if (wait_status != 0 && !first_failed_) first_failed_ = index;
}

bool Commands::Ended(pid_t pid, int wait_status) {
  auto one = std::ranges::find(all_, pid, &One::pid);
  if (one == all_.end()) return false;
  NoteFailure(static_cast<size_t>(one - all_.begin()), wait_status);
  *one = {0, true, wait_status};
  --alive_;
  return true;
}

bool Commands::StepIsGood() const {
  return std::all_of(all_.begin() + static_cast<ptrdiff_t>(first_),
                     all_.begin() + static_cast<ptrdiff_t>(last_),
                     [](const One& one) { return one.status == 0; });
}

void Commands::Lose() {
  for (One& one : all_) one.pid = 0;
}

void Commands::LetGo() {
  Lose();
  alive_ = 0;
}

void Commands::Terminate() const {
  bool group_told = false;
  for (const One& one : all_) {
    if (one.pid == 0) continue;
    bool in_group = getpgid(one.pid) == group_;
    if (in_group && group_told) continue;
    group_told = group_told || in_group;
    pid_t whom = in_group ? -group_ : one.pid;
    kill(whom, SIGTERM);
    kill(whom, SIGCONT);
  }
}

int Commands::Signal(int number) const {
  return static_cast<int>(std::ranges::count_if(
      all_, [number](const One& one) { return one.pid != 0 && kill(one.pid, number) == 0; }));
}

std::string Commands::WhyRankFailed() const {
  uint32_t rank = *first_rank_ + static_cast<uint32_t>(*first_failed_);
  int status = all_[*first_failed_].status;
  return WIFSIGNALED(status)
             ? fmt::format("rank {} was killed by {}", rank, os::SignalName(WTERMSIG(status)))
             : fmt::format("rank {} exited with {}", rank, WEXITSTATUS(status));
}

void Commands::AddTo(AttemptEnd& end, bool start_failed) const {
  auto tell = [&](const One& one) {
    if (!one.ended || one.status == 0 || start_failed) return;
    bool by_signal = WIFSIGNALED(one.status);
    end.cause = by_signal ? Cause::kSignal : Cause::kExit;
    end.status = by_signal ? WTERMSIG(one.status) : WEXITSTATUS(one.status);
  };
  if (RankHasFailed()) {
    tell(all_[*first_failed_]);
  } else {
    for (const One& one : all_) tell(one);
  }
  if (all_.size() < 2 && !first_rank_) return;
  for (size_t i = 0; i < all_.size(); ++i) {
    const StartView::CommandView& which = (*view_)[i];
    if (!all_[i].ended) continue;
    uint32_t rank = first_rank_ ? *first_rank_ + static_cast<uint32_t>(i) : 0;
    end.processes.push_back({which.step, which.command, rank, ExitCode(all_[i].status)});
  }
}

}  // namespace spate::shepherd
