#include "run/run_session.h"

#include <fmt/format.h>

#include <algorithm>

#include <utility>

#include "cli/exit_code.h"
#include "cli/text/end_text.h"
#include "cli/view/summary.h"
#include "core/model/limits.h"
#include "core/model/ranges.h"
#include "format/selector/selector.h"
#include "os/signals.h"

namespace spate::run {
namespace {

constexpr NodeId kThisNode(1);
constexpr Duration kTickEvery = Duration::Millis(100);

}  // namespace

RunSession::RunSession(os::RealLoop& loop, store::Store& store, Job job)
    : loop_(loop),
      job_(std::move(job)),
      channels_(transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop)),
      deliverer_(loop, job_.forward),
      to_node_(deliverer_.Over(std::move(channels_.first))),
      hub_(loop, store, *this, job_.epoch) {
  hub_.SetSettings(job_.id, job_.settings);
  hub_.Connect(kThisNode, *to_node_);
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
  node::Node::Parts parts{loop_, executor, std::move(sample_load)};
  parts.doubt = job_.doubt;
  node_.emplace(kThisNode, job_.offer, std::move(parts));
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
  if (exit_code_ == 0 && !Succeeded()) {
    const bool is_task = counts().total == 1 && counts().failed == 1 && task_code_ > 0;
    exit_code_ = is_task ? task_code_ : cli::kExitTasksFailed;
  }
  // Ends that come later, while the terminal is waited for, are nobody's.
  node_.reset();
  show_.reset();
  return how_;
}

bool RunSession::MissedDeadline() const {
  if (counts().cancelled == 0) return false;
  const Instant now = loop_.Now();
  return std::ranges::any_of(hub_.engine().Requests(job_.id), [now](const TaskClass& each) {
    return each.deadline && now + each.needs.time > *each.deadline;
  });
}

bool RunSession::Succeeded() const {
  if (cancelled()) return false;
  return cli::DidAsAsked(job_.halt, hub_.engine().Held(job_.id), counts());
}

// ---- What the hub tells ------------------------------------------------------------------------

void RunSession::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (!show_) return;  // leases of the last life
  show_->view.OnEnded({notice.end, notice.verdict, output, loop_.Now()});
  if (notice.verdict == engine::Verdict::kFailed) task_code_ = cli::ExitCodeOfTask(notice.end);
  StopWhenIdle();
}

void RunSession::OnHeld(const engine::NoticeHeld& notice) {
  if (!show_) return;
  if (how_ != cli::RunEnd::kOutputClosed) {
    show_->view.OnNews(cli::JobHeld{notice.reason, Running(), ending_, parked_}, loop_.Now());
  }
  StopWhenIdle();
}

void RunSession::OnFinished(const engine::NoticeFinished&) {
  // While Settle runs, Resume may finish what a longer list or a retry goes on with right after.
  if (show_ && hub_.engine().Finished(job_.id)) loop_.Stop();
}

// What was checked before it was sent was true a moment ago: the deadline has passed since.
void RunSession::OnHubNotice(const engine::Notice& notice) {
  const auto* refused = std::get_if<engine::NoticeRefused>(&notice);
  if (refused == nullptr || !show_) return;
  show_->view.OnNews(cli::Remark{refused->text, true}, loop_.Now());
  how_ = cli::RunEnd::kBroken;
  exit_code_ = cli::kExitUsage;
  loop_.Stop();
}

void RunSession::OnNews(const wire::ToHub& news) {
  if (!show_) return;
  Instant now = loop_.Now();
  if (const auto* running = std::get_if<wire::Running>(&news)) {
    show_->view.OnNews(cli::TaskStarted{running->ref, running->slot}, now);
  } else if (const auto* live = std::get_if<wire::Live>(&news)) {
    show_->view.OnLive(live->ref, live->stream, live->bytes);
  } else if (const auto* slow = std::get_if<wire::Slow>(&news)) {
    show_->view.OnNews(cli::TaskSlow{slow->ref}, now);
  } else if (const auto* paused = std::get_if<wire::Paused>(&news)) {
    show_->view.OnNews(cli::StartsPaused{paused->reason}, now);
  }
}

// For the view alone: the attempt has not ended, as far as node and hub know.
void RunSession::OnLeftRunning(const AttemptRef& ref, const std::string& processes) {
  if (show_) show_->view.OnNews(cli::TaskLeftRunning{ref, processes}, loop_.Now());
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
  if (counts().leased > 0 || parked_) return;
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
  parked_ = false;
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
  parked_ = false;
  how_ = how;
  exit_code_ = exit_code;
  if (!node_) return;  // over; only the output was late
  if (exit_code != cli::kExitInterrupted) node_->CutOffHeld("the run was told to end");
  hub_.Post(engine::HoldJob{job_.id, true});
}

// Tasks are in sessions of their own and do not get the terminal's signal. The order must reach
// the shepherds first; they carry it out while this process is stopped.
void RunSession::OnTerminalStop() {
  executor_->Pause(true);
  loop_.At(loop_.Now() + Duration::Millis(20), [] { os::StopSelf(); });
}

// ---- Orders of other terminals
// -------------------------------------------------------------------

RunEntrance::Answer RunSession::Obey(std::string_view order) {
  if (!show_ || hub_.engine().Finished(job_.id)) {
    return {false, fmt::format("job {} has just ended", job_.id.value)};
  }
  if (order == "hold") return Park();
  if (order == "release") return Unpark();
  if (order == "cancel") return Cancel();
  if (order.starts_with("cancel ")) return CancelSome(order.substr(7));
  return {false, "a run of this version knows no such order"};
}

RunEntrance::Answer RunSession::Park() {
  if (parked_) return {true, fmt::format("job {} is held already", job_.id.value)};
  if (hub_.engine().Held(job_.id) != engine::HoldReason::kNone) {
    return {false, fmt::format("job {} starts nothing more, and ends when its tasks have ended",
                               job_.id.value)};
  }
  parked_ = true;
  hub_.Post(engine::HoldJob{job_.id, false});
  return {true, fmt::format("job {} is held", job_.id.value)};
}

RunEntrance::Answer RunSession::Unpark() {
  if (!parked_) return {false, fmt::format("job {} is not held", job_.id.value)};
  parked_ = false;
  hub_.Post(engine::ReleaseJob{job_.id});
  std::string text = fmt::format("job {} goes on", job_.id.value);
  show_->view.OnNews(cli::StartsPaused{}, loop_.Now());
  show_->view.OnNews(cli::Remark{text, false}, loop_.Now());
  return {true, text};
}

RunEntrance::Answer RunSession::Cancel() {
  std::string text = fmt::format("job {} is cancelled", job_.id.value);
  if (cancelled_job_) return {true, text};
  cancelled_ = cancelled_job_ = true;
  show_->view.OnNews(cli::Remark{text + " from another terminal", true}, loop_.Now());
  hub_.Post(engine::CancelJob{job_.id});
  return {true, text};
}

RunEntrance::Answer RunSession::CancelSome(std::string_view selector) {
  auto parts = format::ParseTaskSelector(selector);
  if (!parts) return {false, parts.error().message};
  std::vector<TaskRange> chosen;
  uint64_t count = 0;
  for (TaskIndex i = 0; i < hub_.engine().TaskCount(job_.id); ++i) {
    auto state = hub_.engine().StateOf(job_.id, i);
    if (state != TaskState::kQueued && state != TaskState::kLeased) continue;
    auto named = [i](const TasksOfJob& part) { return part.Contains(i + 1); };
    if (std::none_of(parts->begin(), parts->end(), named)) continue;
    AppendIndex(chosen, i);
    ++count;
  }
  if (count == 0) {
    return {false, fmt::format("no chosen task of job {} is queued or running", job_.id.value)};
  }
  cancelled_ = true;
  std::string text = fmt::format("{} of job {}", cli::CountOf(count, "task"), job_.id.value);
  show_->view.OnNews(cli::Remark{text + " cancelled from another terminal", true}, loop_.Now());
  hub_.Post(engine::CancelTasks{job_.id, std::move(chosen), "a person cancelled it"});
  return {true, text + " cancelled"};
}

RunNews RunSession::News() const {
  return {.counts = counts(), .running = Running(), .open = false, .held = parked_};
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

}  // namespace spate::run
