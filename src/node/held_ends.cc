#include "node/held_ends.h"

#include <utility>

namespace spate::node {
namespace {

// Ends are believed in groups, so that a timer and a message serve many short tasks.
constexpr Duration kGroup = Duration::Millis(10);

Instant EndOfGroup(Instant at) { return Instant{(at.ns + kGroup.ns - 1) / kGroup.ns * kGroup.ns}; }

}  // namespace

AttemptEnd CutOffEnd(const AttemptRef& ref, uint16_t slot, Instant start, Duration wall,
                     const std::string& why) {
  return {.ref = ref,
          .cause = Cause::kStopped,
          .slot = slot,
          .status = kCutOff,
          .start = start,
          .wall = wall,
          .note = "its node ended: " + why};
}

Duration HeldEnds::DoubtOf(const AttemptEnd& end) const {
  constexpr int32_t kShellSignal = 128;
  switch (end.cause) {
    case Cause::kSignal:
    case Cause::kNode:  // its shepherd was killed
      return doubt_.killed;
    case Cause::kExit:
      return end.status > kShellSignal ? doubt_.killed : doubt_.other;
    case Cause::kSuccess:
    case Cause::kCheck:
      return doubt_.other;
    case Cause::kTimeLimit:
    case Cause::kMemory:
    case Cause::kExcess:
    case Cause::kStart:
    case Cause::kStopped:
      return {};
  }
  return {};
}

void HeldEnds::Hold(Instant now, AttemptEnd end, TaskOutputPtr output) {
  const Instant until = EndOfGroup(now + DoubtOf(end));
  ends_.emplace(until, Held{std::move(end), std::move(output)});
}

wire::Ends HeldEnds::DrainBelieved(Instant now) {
  wire::Ends ends;
  for (auto held = ends_.begin(); held != ends_.end() && held->first <= now;) {
    ends.ends.push_back(std::move(held->second.end));
    ends.outputs.push_back(std::move(held->second.output));
    held = ends_.erase(held);
  }
  return ends;
}

std::vector<AttemptEnd> HeldEnds::DrainCutOff(const std::string& why) {
  std::vector<AttemptEnd> cut_off;
  for (const auto& [until, held] : std::exchange(ends_, {})) {
    cut_off.push_back(CutOffEnd(held.end.ref, held.end.slot, held.end.start, held.end.wall, why));
  }
  return cut_off;
}

std::vector<const AttemptEnd*> HeldEnds::ends() const {
  std::vector<const AttemptEnd*> ends;
  ends.reserve(ends_.size());
  for (const auto& [until, held] : ends_) ends.push_back(&held.end);
  return ends;
}

}  // namespace spate::node
