#include "view/why_not.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "present/advice.h"
#include "present/why.h"

namespace spate::cli {
namespace {

// The subject of a reason, without its times and counts.
std::string KeyOf(const Reason& reason) {
  std::string key = fmt::format("{};", static_cast<int>(reason.kind));
  switch (reason.kind) {
    case ReasonKind::kFairShare:
    case ReasonKind::kParents:
    case ReasonKind::kSuspectNode:
      break;
    case ReasonKind::kSlotsTaken:
    case ReasonKind::kSlotKept:
    case ReasonKind::kNodeLacks:
    case ReasonKind::kStartsPaused:  // the rest changes with the tasks there
      return reason.names.empty() ? key : key + reason.names.front();
    case ReasonKind::kPoolState:  // the other names are its state, which changes
      if (reason.names.size() > 4 && reason.names[3] + reason.names[4] != "") key += "!";
      return reason.names.empty() ? key : key + reason.names.front();
    default:
      key += fmt::format("{};", fmt::join(reason.numbers, " "));
  }
  return key + fmt::format("{};", fmt::join(reason.names, " "));
}

}  // namespace

const char* HeldWhy(HoldReason reason) {
  switch (reason) {
    case HoldReason::kHaltRule:
      return "--halt stopped it";
    case HoldReason::kMaxFailures:
      return "its failed tasks have reached --max-failures";
    case HoldReason::kAllFail:
      return "too many of its tasks failed in a row without a success";
    case HoldReason::kDamaged:
      return "part of it is damaged; the hub's log has the details";
    case HoldReason::kResults:
      return "its program has results to take first";
    default:
      return "a user held it";
  }
}

HintContext HintsOf(const wire::JobNow& now, std::string_view reach) {
  HintContext hints;
  hints.job = now.job;
  hints.on_hub = true;
  hints.reach = reach;
  hints.held = now.held;
  return hints;
}

std::string WhyNot(const wire::JobNow& now, std::string_view reach) {
  if (now.held == HoldReason::kResults) {
    return fmt::format("job {} starts no more tasks: {}; it continues by itself", now.job.value,
                       HeldWhy(now.held));
  }
  if (now.held != HoldReason::kNone) {
    return fmt::format("job {0} is held: {1}\nto continue: {2}; to cancel: spate job cancel{3} {0}",
                       now.job.value, HeldWhy(now.held), ReleaseCommand(HintsOf(now, reach)),
                       reach);
  }
  if (now.stuck.empty()) return "";
  const Reason& first = now.stuck.front();
  std::string text = present::TextOf(now.stuck, reach);
  // These name the job themselves, or are for all jobs.
  for (ReasonKind kind : {ReasonKind::kOpen, ReasonKind::kCancelled, ReasonKind::kNoNodeJoined}) {
    if (first.kind == kind) return text;
  }
  text = fmt::format("job {} waits: {}", now.job.value, text);
  const bool is_cancelled = first.kind == ReasonKind::kSilentNodes && first.numbers.size() > 2 &&
                            first.numbers[2] == static_cast<int64_t>(SilentFate::kCancelled);
  if (is_cancelled) return text;
  return fmt::format("{}\nto cancel: spate job cancel{} {}", text, reach, now.job.value);
}

std::string KeyOfWait(const wire::JobNow& now) {
  std::string key = fmt::format("{};", static_cast<int>(now.held));
  for (const Reason& reason : now.stuck) key += KeyOf(reason);
  return key;
}

}  // namespace spate::cli
