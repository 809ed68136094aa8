// The part of ProcessExecutor for looks at running attempts: each goes to the attempt's shepherd
// and comes back as an answer, in the order in which that reports what else happens.
//
// How many are under way is bounded, for each attempt and in all, as each answer takes memory. A
// shepherd that hangs answers none, so they count for a while only.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/process_executor.h"

namespace spate::node {
namespace {

constexpr size_t kMostOfOne = 4;
constexpr size_t kMostOfAll = 64;
constexpr Duration kCountsFor = Duration::Seconds(10);

RunLook Standing(RunLook::Standing standing) { return {.standing = standing}; }

}  // namespace

bool ProcessExecutor::MayLookAt(const AttemptRef& ref) {
  const Instant now = loop_.Now();
  std::erase_if(looks_, [&](const auto& each) { return now - each.second.since > kCountsFor; });
  auto of_it = [&](const auto& each) { return each.second.ref == ref; };
  return looks_.size() < kMostOfAll &&
         std::cmp_less(std::ranges::count_if(looks_, of_it), kMostOfOne);
}

void ProcessExecutor::LookAt(const AttemptRef& ref, const RunWish& wish,
                             std::function<void(RunLook)> told) {
  RunLook look;
  if (!MayLookAt(ref)) {
    look.why = "too many look at the task now; try again";
    return told(std::move(look));
  }
  const shepherd::Look order{.call = ++last_look_, .ref = ref, .wish = wish};
  // Before it is asked: the answer of one that has ended comes at once.
  looks_[order.call] = {ref, loop_.Now(), std::move(told)};
  auto answer = [&](RunLook now) { OnLooked({.call = order.call, .look = std::move(now)}); };
  using Asked = AdoptedShepherds::Asked;
  switch (adopted_ ? adopted_->LookAt(order) : Asked::kNotHere) {
    case Asked::kAsked:
      return;
    case Asked::kOlder:
      look.why = "the task was started by an older release of the node, which cannot show it";
      return answer(std::move(look));
    case Asked::kNotHere:
      break;
  }
  if (Slot* slot = SlotOf(ref)) {
    shepherd::Append(slot->out, order);
    return MarkDirty(*slot);
  }
  const bool waits = std::ranges::any_of(slots_, [&](const auto& slot) {
    return slot && std::ranges::any_of(slot->waiting,
                                       [&](const StartOrder& one) { return one.ref == ref; });
  });
  answer(Standing(waits ? RunLook::Standing::kNotStarted : RunLook::Standing::kEnded));
}

void ProcessExecutor::OnLooked(shepherd::Looked looked) {
  auto asked = looks_.extract(looked.call);
  if (!asked.empty()) asked.mapped().told(std::move(looked.look));
}

void ProcessExecutor::EndLooks(const AttemptRef& ref) {
  std::vector<uint64_t> calls;
  for (const auto& [call, asked] : looks_) {
    if (asked.ref == ref) calls.push_back(call);
  }
  for (uint64_t call : calls) OnLooked({call, Standing(RunLook::Standing::kEnded)});
}

}  // namespace spate::node
