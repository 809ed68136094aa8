#include "cli/history/why_not.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/text/reach.h"

namespace spate::cli {

const char* HeldWhy(HoldReason reason) {
  switch (reason) {
    case HoldReason::kHaltRule:
      return "--halt says so";
    case HoldReason::kMaxFailures:
      return "as many of its tasks have failed as --max-failures allows";
    case HoldReason::kAllFail:
      return "its tasks fail one after the other, and none has succeeded";
    case HoldReason::kDamaged:
      return "some of it is damaged, as the hub's log tells";
    default:
      return "a person wished it";
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

bool IsForWantOfNodes(uint32_t nodes, std::string_view why) {
  return nodes == 0 && (why.empty() || why.starts_with("no node has joined"));
}

std::string WhyNot(const wire::JobNow& now, std::string_view reach) {
  if (now.held != HoldReason::kNone) {
    return fmt::format("job {0} is held: {1}\nto go on: {2}; to end it: spate job cancel{3} {0}",
                       now.job.value, HeldWhy(now.held), ReleaseCommand(HintsOf(now, reach)),
                       reach);
  }
  if (IsForWantOfNodes(now.nodes, now.stuck)) {
    return "no node is connected, so nothing runs yet; start one: spate node start --daemon";
  }
  if (now.stuck.empty()) return "";
  return fmt::format("job {0} waits: {1}\nto end it: spate job cancel{2} {0}", now.job.value,
                     EscapeForScreen(Reaching(now.stuck, reach)), reach);
}

}  // namespace spate::cli
