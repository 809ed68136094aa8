// The times that a hub reports are right, even if its wall clock or a node's is wrong or is set: an
// attempt's start, by the hub's present wall clock, is the true one, and the attempt took no longer
// than the time since then. Around a suspend of the hub only the latter is judged (ClockBlind).
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "base/units.h"
#include "sim/check.h"
#include "sim/clock_blind.h"

namespace spate::sim {
namespace {

class ClockCheck final : public Checker {
 public:
  const char* name() const override { return "clock"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    blind_.See(scene, fact);
    if (const auto* began = std::get_if<LifeBegan>(&fact)) wall_ahead_ = began->clock_ahead;
    if (const auto* moved = std::get_if<ClockMoved>(&fact)) wall_ahead_ = moved->wall;
    const auto* executed = std::get_if<Executed>(&fact);
    if (executed != nullptr && executed->order->part == nullptr) {
      began_[{executed->order->ref, executed->node}] = scene.now;
    }
    const auto* decided = std::get_if<Decided>(&fact);
    if (decided == nullptr || scene.hub->liars) return;
    const auto* ended = std::get_if<engine::AttemptEnded>(decided->record);
    if (ended != nullptr) Check(scene, *ended, findings);
  }

 private:
  void Check(const Scene& scene, const engine::AttemptEnded& ended, Findings& findings) {
    const AttemptEnd& end = ended.end;
    auto began = began_.find({end.ref, ended.node});
    if (began == began_.end() || end.slot == 0) return;  // the hub says it, not the node
    // Clocks that differ by less than a second count as equal.
    const Duration most = Duration::Seconds(1) + scene.slack + scene.hub->link_latency * 4;
    const Duration off = end.start - (began->second + wall_ahead_);
    if (std::abs(off.ns) > most.ns && !blind_.Is(scene, began->second)) {
      findings.Add(name(), fmt::format("{} is told to have begun {} {} than it did",
                                       NameOf(end.ref), FormatDuration({std::abs(off.ns)}),
                                       off.ns > 0 ? "later" : "earlier"));
    }
    // A node that cuts an attempt off counts from its order to start it.
    if (end.wall.ns < 0 || end.wall > scene.now - began->second + scene.slack) {
      findings.Add(name(), NameOf(end.ref) + " is told to have taken longer than it existed");
    }
  }

  ClockBlind blind_;
  std::map<PartRef, Instant> began_;
  Duration wall_ahead_;
};

}  // namespace

std::unique_ptr<Checker> MakeClockCheck() { return std::make_unique<ClockCheck>(); }

}  // namespace spate::sim
