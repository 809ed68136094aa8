#include "run/foreground.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/units.h"
#include "cli/exit_code.h"
#include "core/model/limits.h"
#include "os/signals.h"
#include "present/advice.h"
#include "present/table/time_text.h"
#include "present/text/end_text.h"
#include "present/why.h"
#include "view/summary.h"

namespace spate::run {
namespace {

// Changes of a hub that a run has not: it has one job, one node and one user.
bool IsOfHubAlone(const wire::Question& question) {
  return question.Is<wire::SetHub, wire::AddPool, wire::ChangePools, wire::TryPool,
                     wire::ChangeNodes, wire::SetUser, wire::AddAccess, wire::RevokeAccess>();
}

bool Names(const JobSelector& jobs, JobId job) { return jobs.Contains(job.value, job.value); }

}  // namespace

Foreground::Foreground(os::RealLoop& loop, Job job)
    : loop_(loop), job_(std::move(job)), deliverer_(loop, job_.forward) {}

Result<std::unique_ptr<Foreground>> Foreground::Read(os::RealLoop& loop, store::SqliteStore& store,
                                                     Job job) {
  std::unique_ptr<Foreground> run(new Foreground(loop, std::move(job)));
  const Job& of = run->job_;
  run->hub_ =
      TRY(RunHub::Read({loop, store, of.folder, of.state_dir, of.offer.node_name, of.user, *run,
                        [run = run.get()](const auto& query) { return run->Allow(query); }}));
  return run;
}

Status Foreground::Begin(const store::JobRow& row) {
  TRY(hub_->Begin());
  hub().SetSettings(job_.id, job_.settings);
  hub_->Announce(row);
  return {};
}

Status Foreground::Settle() {
  hub().WhenSettled([this] { loop_.Stop(); });
  loop_.Run();
  return failure_;
}

Status Foreground::OpenNode(const os::Machine& machine, node::ProcessExecutorOptions tasks) {
  node_ = TRY(
      LocalNode::Open({.loop = loop_,
                       .hub = hub_->service(),
                       .deliverer = deliverer_,
                       .machine = machine,
                       .offer = job_.offer,
                       .tasks = std::move(tasks),
                       .doubt = job_.doubt,
                       .left_running = [this](const AttemptRef& ref, const std::string& processes) {
                         OnLeftRunning(ref, processes);
                       }}));
  return {};
}

cli::RunEnd Foreground::Run(cli::RunView& view) {
  view_ = &view;
  node_->Join();
  WatchSignals();
  if (Status opened = hub_->OpenDoor(); !opened) {
    fmt::print(stderr, "spate: other terminals cannot speak to this run: {}\n",
               opened.error().message);
  }
  TellStopped();
  // Resuming may have been all that was left to do.
  if (!engine().Finished(job_.id)) loop_.Run();
  hub_->CloseDoor();
  for (int signal : {os::kSignalInt, os::kSignalTerm, os::kSignalHup, os::kSignalTerminalStop,
                     os::kSignalContinue})
    loop_.OnSignal(signal, nullptr);
  if (how_ == cli::RunEnd::kFinished && !engine().Finished(job_.id)) how_ = cli::RunEnd::kHalted;
  if (MissedDeadline() && !cancelled_job_) Remark("cancelled: the --deadline passed", true);
  if (exit_code_ == 0 && !Succeeded()) {
    const bool is_task = counts().total == 1 && counts().failed == 1 && task_code_ > 0;
    exit_code_ = is_task ? task_code_ : cli::kExitTasksFailed;
  }
  // Ends that come later, while the terminal is waited for, are nobody's.
  node_.reset();
  view_ = nullptr;
  return how_;
}

// An earlier run of the job was stopped, which lasts until somebody continues it.
void Foreground::TellStopped() {
  const auto stop = engine().StopOf(job_.id);
  uint64_t alone = 0;
  for (const TaskRange& range : engine().StoppedTasks(job_.id)) alone += range.count;
  if (!stop && alone == 0) return;
  const std::string what =
      stop ? fmt::format("job {}", job_.id.value)
           : fmt::format("{} of job {}", present::CountOf(alone, "task"), job_.id.value);
  const std::string by = stop && !stop->by.empty() ? " by " + EscapeForScreen(stop->by) : "";
  Remark(fmt::format("{} was stopped{}, and starts only when continued: {}", what, by,
                     present::TextOf(Advice("job cont", job_.id.value))),
         /*is_trouble=*/true);
}

bool Foreground::MissedDeadline() const {
  if (counts().cancelled == 0) return false;
  const Instant now = loop_.Wall();
  return std::ranges::any_of(engine().Requests(job_.id), [now](const TaskClass& each) {
    return each.deadline && now + each.needs.time > *each.deadline;
  });
}

bool Foreground::cancelled() const {
  return cancelled_job_ || (cancelled_from_ && counts().cancelled > *cancelled_from_) ||
         MissedDeadline();
}

bool Foreground::parked() const {
  return !stopping_ && engine().Held(job_.id) == engine::HoldReason::kUser;
}

bool Foreground::Succeeded() const {
  if (cancelled()) return false;
  return cli::DidAsAsked(job_.halt, engine().Held(job_.id), counts());
}

// ---- What the hub tells ------------------------------------------------------------------------

void Foreground::OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) {
  if (view_ == nullptr) return;  // leases of the last life
  view_->OnEnded({notice.end, notice.verdict, output, loop_.Now()});
  if (notice.verdict == engine::Verdict::kFailed) task_code_ = cli::ExitCodeOfTask(notice.end);
  StopWhenIdle();
}

void Foreground::OnHeld(const engine::NoticeHeld& notice) {
  if (view_ == nullptr) return;
  if (how_ != cli::RunEnd::kOutputClosed) {
    view_->OnNews(cli::HoldNews{notice.reason, running(), ending_, parked()}, loop_.Now());
  }
  StopWhenIdle();
}

void Foreground::OnFinished(const engine::NoticeFinished&) {
  // While Settle runs, Resume may finish what a longer list or a retry goes on with right after.
  if (view_ != nullptr && engine().Finished(job_.id)) loop_.Stop();
}

// A refusal despite the check before sending: the deadline has passed since.
void Foreground::OnHubNotice(const engine::Notice& notice) {
  const auto* refused = std::get_if<engine::NoticeRefused>(&notice);
  if (refused == nullptr || view_ == nullptr) return;
  view_->OnNews(cli::Remark{present::TextOf(refused->why), true}, loop_.Now());
  how_ = cli::RunEnd::kBroken;
  exit_code_ = cli::kExitUsage;
  loop_.Stop();
}

void Foreground::OnNews(const wire::ToHub& news) {
  if (view_ == nullptr) return;
  Instant now = loop_.Now();
  if (const auto* running = std::get_if<wire::Running>(&news)) {
    view_->OnNews(cli::TaskStarted{running->ref, running->slot}, now);
  } else if (const auto* live = std::get_if<wire::Live>(&news)) {
    view_->OnLive(live->ref, live->stream, live->bytes);
  } else if (const auto* slow = std::get_if<wire::Slow>(&news)) {
    view_->OnNews(cli::TaskSlow{slow->ref}, now);
  } else if (const auto* exceeded = std::get_if<wire::Exceeded>(&news)) {
    view_->OnNews(cli::TaskExceeded{exceeded->ref, exceeded->excess}, now);
  } else if (const auto* paused = std::get_if<wire::Paused>(&news)) {
    view_->OnNews(cli::StartsPaused{paused->reason}, now);
  }
}

// For the view alone: the attempt has not ended, as far as node and hub know.
void Foreground::OnLeftRunning(const AttemptRef& ref, const std::string& processes) {
  if (view_ != nullptr) view_->OnNews(cli::TaskLeftRunning{ref, processes}, loop_.Now());
}

void Foreground::OnStoreFailed(const Error& error) {
  failure_ = std::unexpected(error);
  if (view_ == nullptr) return;
  view_->OnNews(
      cli::Remark{fmt::format("cannot write the journal, so no more tasks start: {}\n"
                              "reported ends are safe; free some space and continue with {}",
                              error.message, present::TextOf(Advice("run", "--resume"))),
                  true},
      loop_.Now());
  how_ = cli::RunEnd::kBroken;
  exit_code_ = cli::kExitCouldNotRun;
  loop_.Stop();
}

// A job that is held ends its run when nothing runs any more.
void Foreground::StopWhenIdle() {
  if (engine().Held(job_.id) == engine::HoldReason::kNone) return;
  if (counts().leased > 0 || parked()) return;
  // After what is under way to the view in this turn of the loop.
  loop_.Post([this] {
    if (hub().Settled()) loop_.Stop();
  });
}

// ---- Signals -----------------------------------------------------------------------------------

void Foreground::WatchSignals() {
  os::IgnoreSignal(os::kSignalPipe);
  loop_.OnSignal(os::kSignalInt, [this] { OnInterrupt(); });
  loop_.OnSignal(os::kSignalTerm,
                 [this] { EndRunning(cli::RunEnd::kInterrupted, cli::kExitTerminated); });
  loop_.OnSignal(os::kSignalHup,
                 [this] { EndRunning(cli::RunEnd::kInterrupted, cli::kExitHangup); });
  loop_.OnSignal(os::kSignalTerminalStop, [this] { OnTerminalStop(); });
  loop_.OnSignal(os::kSignalContinue, [this] { node_->Pause(false); });
}

void Foreground::OnInterrupt() {
  if (interrupted_) return EndRunning(cli::RunEnd::kInterrupted, cli::kExitInterrupted);
  interrupted_ = true;
  StopStarting(cli::RunEnd::kInterrupted, cli::kExitInterrupted);
}

void Foreground::StopStarting(cli::RunEnd how, int exit_code) {
  stopping_ = true;
  how_ = how;
  exit_code_ = exit_code;
  hub().Post(engine::HoldJob{job_.id, false});
}

void Foreground::EndRunning(cli::RunEnd how, int exit_code) {
  if (ending_) return;
  ending_ = stopping_ = true;
  how_ = how;
  exit_code_ = exit_code;
  if (!node_) return;  // over; only the output was late
  if (exit_code != cli::kExitInterrupted) node_->CutOffHeld("the run was told to end");
  hub().Post(engine::HoldJob{job_.id, true});
}

// Tasks are in sessions of their own and do not get the terminal's signal. The order must reach
// the shepherds first; they carry it out while this process is stopped.
void Foreground::OnTerminalStop() {
  node_->Pause(true);
  loop_.At(loop_.Now() + Duration::Millis(20), [] { os::StopSelf(); });
}

// ---- Clients -----------------------------------------------------------------------------------

void Foreground::Remark(std::string text, bool is_trouble) {
  view_->OnNews(cli::Remark{std::move(text), is_trouble}, loop_.Now());
}

Status Foreground::Allow(const wire::Query& query) {
  const wire::Question& question = query.question;
  if (IsOfHubAlone(question)) {
    return Fail(ErrorKind::kInvalid, "only a hub has that; this is a run, of one job");
  }
  // Those of a job that come after its end, or from its own list.
  if (question.Is<wire::Forget, wire::Retry, wire::Withdraw>()) {
    return Fail(ErrorKind::kBusy, fmt::format("job {} is running; that can be done once its run "
                                              "has ended",
                                              job_.id.value));
  }
  if (question.Is<wire::StopHub>()) {
    return Fail(ErrorKind::kInvalid, "a run ends with its job; cancel that");
  }
  if (const auto change = question.As<wire::ChangeJobs>()) return AllowChange(*change);
  if (const auto cancel = question.As<wire::Cancel>()) return AllowCancel(*cancel);
  if (const auto steer = question.As<wire::Steer>()) return AllowSteer(*steer);
  return {};
}

Status Foreground::AllowChange(const wire::ChangeJobs& asked) {
  using Change = wire::ChangeJobs::Change;
  if (!Names(asked.jobs, job_.id) || engine().Finished(job_.id) || view_ == nullptr) return {};
  const bool held = engine().Held(job_.id) != engine::HoldReason::kNone;
  if (asked.change == Change::kClose) {
    return Fail(ErrorKind::kInvalid,
                "a run takes its tasks from its own list or input, whose end "
                "closes the job");
  }
  if (stopping_ || (held && !parked())) {
    return Fail(
        ErrorKind::kBusy,
        fmt::format("job {} starts no more tasks, and ends when its running tasks have ended",
                    job_.id.value));
  }
  if (asked.change == Change::kRelease && held) {
    view_->OnNews(cli::StartsPaused{}, loop_.Now());
    Remark(fmt::format("job {} continues", job_.id.value), false);
  }
  return {};
}

Status Foreground::AllowCancel(const wire::Cancel& asked) {
  if (engine().Finished(job_.id) || view_ == nullptr) return {};
  if (Names(asked.jobs, job_.id) && !std::exchange(cancelled_job_, true)) {
    Remark(fmt::format("job {} is cancelled from another terminal", job_.id.value), true);
  }
  const bool of_tasks = std::ranges::any_of(asked.tasks, [this](const TasksOfJob& tasks) {
    return tasks.job.value_or(job_.id.value) == job_.id.value;
  });
  if (of_tasks && !cancelled_from_) {
    cancelled_from_ = counts().cancelled;
    Remark(fmt::format("tasks of job {} are cancelled from another terminal", job_.id.value), true);
  }
  return {};
}

Status Foreground::AllowSteer(const wire::Steer& asked) {
  if (asked.what == Steering::kKill) return AllowCancel({.jobs = asked.jobs, .tasks = asked.tasks});
  const bool shown = view_ != nullptr && asked.what != Steering::kSignal;
  if (engine().Finished(job_.id) || !shown) return {};
  const bool is_stop = asked.what == Steering::kStop;
  const bool whole = Names(asked.jobs, job_.id);
  if (whole && engine().StopOf(job_.id).has_value() == is_stop) return {};
  Remark(
      fmt::format(
          "{} {} {} from another terminal", whole ? "job" : "tasks of job", job_.id.value,
          whole ? (is_stop ? "is stopped" : "continues") : (is_stop ? "are stopped" : "continue")),
      false);
  return {};
}

// ---- Time --------------------------------------------------------------------------------------

// Nothing runs before the next try of a task may start.
void Foreground::TellDelay(Instant now) {
  const bool idle = counts().queued > 0 && counts().leased == 0;
  const Why why = idle ? engine().WhyWaits(job_.id, now) : Why();
  const bool delayed = !why.empty() && why.front().kind == ReasonKind::kNextTry &&
                       (delayed_ || why.front().times.front() > Duration::Seconds(2));
  if (std::exchange(delayed_, delayed) == delayed) return;
  std::string until = delayed ? present::DateAndTime(loop_.Wall() + why.front().times.front()) : "";
  if (delayed) until = "the next try of a task waits for --retry-delay until " + until;
  view_->OnNews(cli::StartsPaused{std::move(until)}, now);
}

uint32_t Foreground::Tick(uint64_t backlog) {
  if (view_ == nullptr) return 0;
  const bool blocked = backlog > kLimits.output_backlog;
  if (std::exchange(output_blocked_, blocked) != blocked) node_->SetOutputBlocked(blocked);
  StopWhenIdle();  // tasks that were given back make no notice
  TellDelay(loop_.Now());
  return running();
}

}  // namespace spate::run
