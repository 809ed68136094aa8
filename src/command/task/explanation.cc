#include "command/task/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "core/model/retry.h"
#include "present/text/end_text.h"
#include "present/why.h"

namespace spate::cli {
namespace {

struct Situation {
  const TaskDetails& details;
  const TaskFacts& task;
  const Why& waits;
  const Viewpoint& from;
  const RetryPolicy& retry() const { return details.retry; }
  JobStanding standing() const { return details.job.state; }
};

Explanation Succeeded(const Situation& s) {
  std::string text = "its only attempt succeeded";
  if (s.task.attempts > 1) {
    text = fmt::format("its attempt {} succeeded", s.task.last->end.ref.attempt.value);
  }
  return {"succeeded", text, std::nullopt, Remedy::kNone};
}

// The name that --retry-on has for a cause.
const char* RetryName(Cause cause) { return WordOf(cause == Cause::kStart ? Cause::kExit : cause); }

bool OfDeadline(const Situation& s, std::string_view said) {
  return s.details.asks && s.details.asks->deadline &&
         said.find(" deadline") != std::string_view::npos;
}

Explanation Failed(const Situation& s) {
  Explanation why{"tries-used", "", std::nullopt, Remedy::kRetry};
  const RetryPolicy& retry = s.retry();
  const AttemptFacts& last = *s.task.last;
  std::string how = present::VerdictText(last.end);
  bool wanted = IsRetried(retry, last.end.cause, last.end.status);
  if (OfDeadline(s, last.end.note)) {
    why.reason = "deadline";
    why.text = fmt::format("{}, and a retry could not end by its deadline", how);
  } else if (!last.counts && IsCutOff(last.end)) {
    why.reason = "cut-off";
    why.text = fmt::format("{}; to let pilots run longer: spate pool set POOL --time-limit", how);
  } else if (!wanted) {
    why.reason = "not-retried";
    std::string name = RetryName(last.end.cause);
    if (last.end.cause == Cause::kExit && !retry.exits.empty()) {
      name += fmt::format(":{}", last.end.status);
    }
    why.text = fmt::format("{}, and --retry-on does not name {}", how, name);
  } else if (!last.counts) {
    why.reason = "losses";
    why.text = fmt::format(
        "{}, and it was present at so many losses of nodes that it may be the cause", how);
  } else if (retry.retries == 0) {
    why.text = fmt::format("{}, and no retries were requested (--retries)", how);
  } else {
    why.text = fmt::format("{} at the last of {} (--retries {})", how,
                           s.task.tries == 1 ? "1 try" : fmt::format("{} tries", s.task.tries),
                           retry.retries);
  }
  return why;
}

std::string HeldText(HoldReason reason) {
  if (reason == HoldReason::kHaltRule) return "--halt";
  if (reason == HoldReason::kMaxFailures) return "--max-failures";
  if (reason == HoldReason::kAllFail) return "the rule that holds a job whose tasks all fail";
  return reason == HoldReason::kDamaged ? "damage of its journal" : "a signal (Ctrl-C)";
}

const char* WaitName(ReasonKind kind) {
  if (kind == ReasonKind::kGiven || kind >= ReasonKind::kSlotsTaken) return "given";
  switch (kind) {
    case ReasonKind::kHeld:
      return "held";
    case ReasonKind::kAfterJob:
    case ReasonKind::kAfterHeld:
      return "after-job";
    case ReasonKind::kParents:
      return "parents";
    case ReasonKind::kNextTry:
      return "retry-delay";
    case ReasonKind::kJobLimit:
    case ReasonKind::kUserLimit:
      return "limit";
    case ReasonKind::kPriority:
    case ReasonKind::kFairShare:
    case ReasonKind::kOthersAhead:
      return "slot";
    default:
      return "node";
  }
}

// In the words of the engine itself.
Explanation Told(const Situation& s) {
  const Reason& first = s.waits.front();
  Explanation why{WaitName(first.kind), present::TextOf(s.waits, s.from.reach), std::nullopt,
                  Remedy::kNone};
  if (first.kind == ReasonKind::kNextTry && !first.times.empty()) {
    why.retry_at = s.from.now + first.times.front();
  }
  return why;
}

bool WaitsForSlot(const Situation& s) {
  return s.waits.empty() || s.waits.front().kind == ReasonKind::kOthersAhead;
}

Explanation QueuedInRun(const Situation& s) {
  if (s.details.held == HoldReason::kUser) {
    return {
        "held",
        "its job is held from another terminal, or a signal (Ctrl-C) is ending the run: no more "
        "of its tasks start until it is released or resumed",
        std::nullopt, Remedy::kNone};
  }
  if (s.details.held != HoldReason::kNone) {
    return {"held",
            fmt::format("the run is ending: {} stopped it, so no more tasks of the job start",
                        HeldText(s.details.held)),
            std::nullopt, Remedy::kNone};
  }
  if (s.task.last && s.task.last->verdict == Verdict::kRetry) {
    Instant due = s.task.last->ended + s.retry().delay;
    if (s.task.last->counts && due > s.from.now) {
      return {"retry-delay",
              fmt::format("{}; its next try waits for --retry-delay until {}",
                          present::CauseText(s.task.last->end), s.from.time(due)),
              due, Remedy::kNone};
    }
  }
  if (!WaitsForSlot(s)) return Told(s);
  std::string text =
      fmt::format("it waits for a free slot: {} running or about to start, {} queued",
                  present::CountOf(s.details.job.counts.leased, "task"),
                  FormatCount(s.details.job.counts.queued));
  if (s.details.min_free_memory > 0) {
    text += fmt::format("; no tasks start while less than {} of memory is free",
                        FormatSize(s.details.min_free_memory));
  }
  if (s.details.max_load > 0) {
    text += fmt::format("; no tasks start while the load is above {:g}", s.details.max_load);
  }
  return {"slot", text, std::nullopt, Remedy::kNone};
}

Explanation QueuedOnHub(const Situation& s) {
  if (!s.waits.empty()) return Told(s);
  if (s.standing() == JobStanding::kHeld || s.details.held != HoldReason::kNone) {
    return {"held", "its job is held: no more of its tasks start until it is released",
            std::nullopt, Remedy::kNone};
  }
  return QueuedInRun(s);
}

Explanation Queued(const Situation& s) {
  if (s.from.on_hub) return QueuedOnHub(s);
  if (s.standing() == JobStanding::kRunning) return QueuedInRun(s);
  if (s.standing() == JobStanding::kInterrupted) {
    std::string text = fmt::format(
        "process {}, which ran the job, ended unexpectedly before the end of the task was stored; "
        "resuming the run starts it{}",
        s.details.job.pid.value_or(0),
        s.retry().once ? ", or reports it as unknown if it was running (--once)" : "");
    return {"interrupted", text, std::nullopt, Remedy::kResume};
  }
  std::string text = "the run was stopped";
  if (s.details.job.ended) text += " at " + s.from.time(*s.details.job.ended);
  if (s.details.held != HoldReason::kNone) text += " by " + HeldText(s.details.held);
  text += s.task.attempts > 0 ? ", before its next attempt" : ", before it was started";
  return {"stopped", text, std::nullopt, Remedy::kResume};
}

Explanation Withdrawn(const Situation& s) {
  std::string text = "it was no longer in the list when the job was resumed";
  if (s.task.state == TaskState::kSucceeded) text = "it succeeded, and " + text;
  return {"withdrawn", text, std::nullopt, Remedy::kNone};
}

Explanation Running(const Situation& s) {
  const ReasonKind why = s.waits.empty() ? ReasonKind::kUnknown : s.waits.front().kind;
  // A run on this machine knows more of what runs.
  const bool plain = why == ReasonKind::kRunning || why == ReasonKind::kGiven;
  if (!s.waits.empty() && (s.from.on_hub || !plain)) {
    const bool runs = why == ReasonKind::kRunning || why == ReasonKind::kCancelled;
    return {runs ? "running" : "given", present::TextOf(s.waits, s.from.reach), std::nullopt,
            Remedy::kNone};
  }
  if (!s.details.live) {
    return {"given", "it has a slot, and starts next or is just starting or ending", std::nullopt,
            Remedy::kNone};
  }
  std::string text =
      fmt::format("attempt {} has been running since {} ({}) in slot {} as process {}",
                  s.details.live->attempt, s.from.time(s.details.live->since),
                  present::BriefDuration(std::max(s.from.now - s.details.live->since, Duration())),
                  s.details.live->slot, s.details.live->pid);
  return {"running", text, std::nullopt, Remedy::kNone};
}

}  // namespace

Explanation Explain(const TaskDetails& task, const Why& waits, const Viewpoint& from) {
  Situation s{task, task.task, waits, from};
  if (task.task.withdrawn) return Withdrawn(s);
  switch (s.task.state) {
    case TaskState::kSucceeded:
      return Succeeded(s);
    case TaskState::kFailed:
      return Failed(s);
    case TaskState::kQueued:
      return Queued(s);
    case TaskState::kLeased:
      return Running(s);
    case TaskState::kCancelled:
      if (task.why_cancelled) {
        bool late = OfDeadline(s, *task.why_cancelled);
        return {late ? "deadline" : "cancelled", *task.why_cancelled, std::nullopt, Remedy::kNone};
      }
      return Withdrawn(s);
    case TaskState::kUnknown:
      break;
  }
  return {"once",
          "its outcome was lost, and --once does not allow repeating a task that may have done its "
          "work; check what it left, then decide",
          std::nullopt, Remedy::kRetry};
}

}  // namespace spate::cli
