#include "apps/run_session.h"

#include <fmt/format.h>

#include <algorithm>

#include <utility>

#include "cli/exit_code.h"
#include "core/model/limits.h"
#include "os/signals.h"

namespace spate::apps {
namespace {

constexpr NodeId kThisNode(1);
constexpr Duration kTickEvery = Duration::Millis(100);

}  // namespace

RunSession::RunSession(os::RealLoop& loop, store::Store& store, Job job)
    : loop_(loop),
      job_(std::move(job)),
      channels_(transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop)),
      hub_(loop, store, *this, job_.epoch) {
  hub_.SetSettings(job_.id, job_.settings);
  hub_.Connect(kThisNode, *channels_.first);
}

RunSession::~RunSession() { loop_.Cancel(tick_); }

Status RunSession::Settle() {
  hub_.WhenSettled([this] { loop_.Stop(); });
  loop_.Run();
  return failure_;
}

cli::RunEnd RunSession::Run(node::Executor& executor, Show show,
                            std::function<MachineLoad()> sample_load) {
  executor_ = &executor;
  show_.emplace(std::move(show));
  node_.emplace(kThisNode, job_.offer, node::Node::Parts{loop_, executor, std::move(sample_load)});
  node_->Connect(*channels_.second);
  WatchSignals();
  Tick();
  // Resuming may have been all that was left to do.
  if (!hub_.engine().Finished(job_.id)) loop_.Run();
  loop_.Cancel(tick_);
  for (int signal : {os::kSignalInt, os::kSignalTerm, os::kSignalHup, os::kSignalTerminalStop,
                     os::kSignalContinue})
    loop_.OnSignal(signal, nullptr);
  if (how_ == cli::RunEnd::kFinished && !hub_.engine().Finished(job_.id)) {
    how_ = cli::RunEnd::kHalted;
  }
  if (exit_code_ == 0 && !Succeeded()) exit_code_ = cli::kExitTasksFailed;
  // What comes later, while the terminal is waited for, is nobody's.
  node_.reset();
  show_.reset();
  return how_;
}

// A run that stopped because enough tasks have succeeded did what was asked, as in GNU parallel.
bool RunSession::Succeeded() const {
  JobCounts ended = counts();
  if (hub_.engine().Held(job_.id) == engine::HoldReason::kHaltRule) {
    if (job_.halt.what == HaltRule::What::kSuccess) return true;
    if (job_.halt.what == HaltRule::What::kDone) return ended.failed + ended.unknown == 0;
  }
  return ended.succeeded + ended.cancelled == ended.total;
}

// ---- What the hub tells ------------------------------------------------------------------------

void RunSession::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!show_) return;  // leases of the last life
  show_->view.OnEnded({notice.end, notice.verdict, output, loop_.Now()});
  StopWhenIdle();
}

void RunSession::OnHeld(const engine::NoticeHeld& notice) {
  if (!show_) return;
  if (how_ != cli::RunEnd::kOutputClosed) {
    show_->view.OnNews(cli::JobHeld{notice.reason, Running(), ending_}, loop_.Now());
  }
  StopWhenIdle();
}

void RunSession::OnFinished(const engine::NoticeFinished&) {
  // While Settle runs, Resume may finish what a longer list or a retry goes on with right after.
  if (show_ && hub_.engine().Finished(job_.id)) loop_.Stop();
}

void RunSession::OnNews(const wire::ToHub& news) {
  if (!show_) return;
  Instant now = loop_.Now();
  if (const auto* running = std::get_if<wire::Running>(&news)) {
    show_->view.OnRunning(running->ref, running->slot, now);
  } else if (const auto* live = std::get_if<wire::Live>(&news)) {
    show_->view.OnLive(live->ref, live->stream, live->bytes);
  } else if (const auto* slow = std::get_if<wire::Slow>(&news)) {
    show_->view.OnNews(cli::TaskSlow{slow->ref}, now);
  } else if (const auto* paused = std::get_if<wire::Paused>(&news)) {
    show_->view.OnNews(cli::StartsPaused{paused->reason}, now);
  }
}

void RunSession::OnStoreFailed(const Error& error) {
  failure_ = std::unexpected(error);
  if (!show_) return;
  show_->view.OnNews(
      cli::Remark{fmt::format("the journal cannot be written, so nothing more is started: {}\n"
                              "what was reported is safe; free some space and go on with "
                              "spate run --resume",
                              error.message),
                  true},
      loop_.Now());
  how_ = cli::RunEnd::kBroken;
  exit_code_ = cli::kExitCouldNotRun;
  loop_.Stop();
}

// A job that is held ends its run when nothing runs any more.
void RunSession::StopWhenIdle() {
  if (hub_.engine().Held(job_.id) == engine::HoldReason::kNone) return;
  if (counts().leased > 0) return;
  // After what is under way to the view in this turn of the loop.
  loop_.Post([this] {
    if (hub_.Settled()) loop_.Stop();
  });
}

// ---- Signals -----------------------------------------------------------------------------------

void RunSession::WatchSignals() {
  os::IgnoreSignal(os::kSignalPipe);
  loop_.OnSignal(os::kSignalInt, [this] { OnInterrupt(); });
  loop_.OnSignal(os::kSignalTerm,
                 [this] { EndRunning(cli::RunEnd::kInterrupted, cli::kExitTerminated); });
  loop_.OnSignal(os::kSignalHup,
                 [this] { EndRunning(cli::RunEnd::kInterrupted, cli::kExitHangup); });
  loop_.OnSignal(os::kSignalTerminalStop, [this] { OnTerminalStop(); });
  loop_.OnSignal(os::kSignalContinue, [this] { executor_->Pause(false); });
}

void RunSession::OnInterrupt() {
  if (interrupted_) return EndRunning(cli::RunEnd::kInterrupted, cli::kExitInterrupted);
  interrupted_ = true;
  StopStarting(cli::RunEnd::kInterrupted, cli::kExitInterrupted);
}

void RunSession::StopStarting(cli::RunEnd how, int exit_code) {
  how_ = how;
  exit_code_ = exit_code;
  hub_.Post(engine::HoldJob{job_.id, false});
}

void RunSession::EndRunning(cli::RunEnd how, int exit_code) {
  if (ending_) return;
  ending_ = true;
  how_ = how;
  exit_code_ = exit_code;
  if (!node_) return;  // over; only the output was late
  hub_.Post(engine::HoldJob{job_.id, true});
}

// Tasks are in sessions of their own and do not get the terminal's signal. The order must reach
// the shepherds first; they carry it out while this process is stopped.
void RunSession::OnTerminalStop() {
  executor_->Pause(true);
  loop_.At(loop_.Now() + Duration::Millis(20), [] { os::StopSelf(); });
}

// ---- Time --------------------------------------------------------------------------------------

uint32_t RunSession::Running() const {
  if (!node_) return 0;
  uint32_t busy = node_->agent().busy();
  return std::min(busy, job_.offer.slots);
}

void RunSession::Tick() {
  Instant now = loop_.Now();
  show_->view.Tick(now, Running());
  bool blocked = show_->backlog() > kLimits.output_backlog;
  if (blocked != output_blocked_) {
    output_blocked_ = blocked;
    node_->SetOutputBlocked(blocked);
  }
  StopWhenIdle();  // tasks that were given back make no notice
  tick_ = loop_.At(now + kTickEvery, [this] { Tick(); });
}

}  // namespace spate::apps
