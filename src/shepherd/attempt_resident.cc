// The third part of AttemptRunner: a process that outlives its attempt, and takes the next one.
//
// While it has a task it is the attempt's one command, and all that attempt_end.cc does with
// commands holds: its end is the attempt's, an order ends it with all that is below it. Its answer
// ends the attempt before (Answered): then it is *apart*, nobody's command, until the next attempt
// takes it over or it is dismissed. That happens when an attempt wants another process, when its
// job is closed, when it is out of step, and when it has ended by itself, for the sake of what it
// left. An attempt in hand waits in kWaitStart until it is gone.
//
// A process may end between two tasks; we may hear of it only when the next one was given to it.
// Nothing of that has been read then, which the pipe shows, so it is given to a fresh process.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "os/clock.h"
#include "shepherd/attempt_runner.h"
#include "shepherd/note.h"

namespace spate::shepherd {
namespace {

// So long it may take to end by itself when its input has ended.
constexpr int64_t kLeavePatience = 1'000'000'000;  // nanoseconds

// An interpreter that gathers its output writes it into a later task, or after the last one.
// Programs in C, Perl and Ruby do so too, but have no such variable.
constexpr const char* kDefaults[] = {"PYTHONUNBUFFERED=1"};

bool IsSameName(std::string_view one, std::string_view other) {
  return one.substr(0, one.find('=')) == other.substr(0, other.find('='));
}

}  // namespace

bool AttemptRunner::IsResidentApart() const {
  bool in_attempt =
      phase_ == Phase::kRunning || phase_ == Phase::kLeftovers || phase_ == Phase::kKilling;
  return resident_.exists() && !in_attempt;
}

// Variables that a resident process gets unless job, task or machine has them, even empty.
void AttemptRunner::SetDefaults() {
  std::vector<const char*>& variables = asked_.view.environment;
  for (const char* variable : kDefaults) {
    auto same = [variable](const char* other) { return IsSameName(variable, other); };
    if (asked_.job->environment.Has(variable) || std::ranges::any_of(variables, same)) continue;
    variables.push_back(variable);
  }
}

// The process that is there becomes the command of the attempt in hand.
void AttemptRunner::TakeOver() {
  commands_.Started(resident_.pid());
  uint64_t dropped = streams_.DropWaiting();
  if (dropped == 0) return;
  resident_.AddUnclaimed(dropped);
  AddNote(end_, fmt::format("before it had the task its process wrote {}, as output of no task",
                            FormatSize(dropped)));
}

void AttemptRunner::GiveTask() { resident_.Assign(end_.ref, asked_.view.around.input); }

void AttemptRunner::OnResident(int64_t now) {
  if (!has_task()) return;
  resident_.Write();
  resident_.Read(now, [this](std::string_view bytes) { streams_.AddResult(bytes); });
  ActOnAnswer(now);
}

void AttemptRunner::ActOnAnswer(int64_t now) {
  const AnswerReader& answer = resident_.answer();
  if (!answer.wrong().empty()) {
    End(true, Cause::kCheck, now, "the answer of its process is none: " + answer.wrong());
  } else if (answer.is_whole()) {
    Answered(now);
  }
}

// One that answers although it was told to end is ended all the same.
void AttemptRunner::Answered(int64_t now) {
  if (ordered_cause_) return BeginKilling(now);
  halt_.SetFrozen(false, now);
  commands_ended_at_ = now;
  end_.user.ns += resident_.CpuOfTask().ns;
  if (!cgroup_.has_memory()) memory_.Saw(resident_.Memory());
  streams_.DrainWaiting();
  commands_.LetGo();
  bool out_of_step = resident_.answer().has_more();
  Conclude(now);
  if (out_of_step) Dismiss(now);
}

// An answer that is whole counts, whatever becomes of the process.
void AttemptRunner::OutcomeOfResident() {
  const AnswerReader& answer = resident_.answer();
  if (answer.is_whole()) {
    end_.cause = answer.status() == 0 ? Cause::kSuccess : Cause::kExit;
    end_.status = answer.status();
    return;
  }
  if (ordered_cause_ || commands_.started() == 0) return;
  bool exited_well = end_.cause == Cause::kSuccess;
  if (exited_well) end_.cause = Cause::kCheck;
  if (!answer.wrong().empty()) {
    AddNote(end_, "the answer of its process is none: " + answer.wrong());
  } else if (exited_well || resident_.is_fresh()) {
    AddNote(end_, fmt::format("its process ended{} before it had answered its {}task",
                              exited_well ? " with exit code 0" : "",
                              resident_.is_fresh() ? "first " : ""));
  }
}

void AttemptRunner::StartAnew(bool children_left, int64_t now) {
  end_.user = end_.system = {};
  resident_.AddUnclaimed(streams_.DropAll());  // it has not read the task
  phase_ = Phase::kWaitStart;
  Dismiss(now);
  if (!children_left) Dismissed(now);
}

void AttemptRunner::Dismiss(int64_t now) {
  if (resident_.is_leaving()) return;
  resident_.Leave(resident_.is_there() ? now + kLeavePatience : now);
  killer_.Begin();
  killer_.Start(now);
}

void AttemptRunner::DismissRound(int64_t now) {
  int64_t next =
      killer_.Round(now, resident_.pid(), [this](int64_t when) { return ReapApart(when); });
  now = os::MonotonicNanos();
  if (next == 0) return Dismissed(now);
  resident_.LookAgain(next);
  worn_out_ = worn_out_ || killer_.IsHopeless(now);
}

void AttemptRunner::Dismissed(int64_t now) {
  resident_.AddUnclaimed(streams_.DropWaiting());
  TellUnclaimed();
  streams_.ResetFlags();
  resident_.Clear();
  killer_.Begin();
  if (phase_ != Phase::kWaitStart) return;
  commands_.Begin(asked_.view.commands, std::nullopt);
  StartNextStep(now);
}

// Takes the children that are dead; false: no other is left.
bool AttemptRunner::ReapApart(int64_t now) {
  while (true) {
    pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;
    if (pid == 0) return !visits_.any() || !tree_.Children().empty();
    if (visits_.Ended(pid)) continue;
    if (files_.Ended(pid) || pid != resident_.pid()) continue;
    resident_.Ended();
    Dismiss(now);
    resident_.LookAgain(now);  // nobody needs what it left
  }
}

void AttemptRunner::OnResidentTime(int64_t now) {
  if (IsResidentApart()) return DismissRound(now);
  resident_.LookAgain(kNever);
  if (phase_ != Phase::kRunning || ordered_cause_) return;
  End(true, Cause::kCheck, now, "its process has closed its end without an answer");
}

// At the end of the shepherd.
void AttemptRunner::AwaitLeaving() {
  int64_t now = os::MonotonicNanos();
  Dismiss(now);
  for (int64_t until = resident_.until(); resident_.is_there() && now < until;) {
    TreeKiller::AwaitChild(until - now);
    now = os::MonotonicNanos();
    ReapApart(now);
  }
  resident_.AddUnclaimed(streams_.DropWaiting());
  TellUnclaimed();
}

// Once for each process, at its end: a process that writes between all of its tasks is one trouble.
void AttemptRunner::TellUnclaimed() {
  uint64_t bytes = resident_.DrainUnclaimed();
  if (bytes > 0) Append(outbox_.Add(), UnclaimedOutput{resident_.job(), bytes});
}

}  // namespace spate::shepherd
