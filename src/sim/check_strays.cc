// An attempt that was given up is ended soon after its node is heard again: nobody waits for it,
// and its task may run elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class StraysCheck final : public Checker {
 public:
  const char* name() const override { return "strays"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      Attempt& attempt = running_[{executed->order->ref, executed->node}];
      attempt.node = executed->node;
      if (executed->orphan) attempt.given_up = scene.now;
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended == nullptr) return;
      auto attempt = running_.find({ended->end.ref, ended->node});
      if (attempt != running_.end()) attempt->second.given_up = scene.now;
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      heard_since_[heard->node] = scene.now;
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      heard_since_.erase(unheard->node);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto attempt = running_.find({over->ref, over->node});
      if (attempt == running_.end()) return;
      Judge(scene, over->ref, attempt->second, findings);
      running_.erase(attempt);
    }
  }

 private:
  struct Attempt {
    NodeId node;
    std::optional<Instant> given_up;
  };

  void Judge(const Scene& scene, const AttemptRef& ref, const Attempt& attempt,
             Findings& findings) const {
    auto heard = heard_since_.find(attempt.node);
    // A hub that stands still ends nothing.
    if (!attempt.given_up || heard == heard_since_.end() || scene.hub->suspend) return;
    Duration ran = scene.now - std::max(*attempt.given_up, heard->second);
    // A hello, the commits that stand in line, and an order.
    Duration most = scene.slack + scene.hub->link_latency * 4 + scene.hub->commit_max * 10;
    if (ran <= most) return;
    findings.Add(name(), fmt::format("{} goes on for {} on n{}, though it was given up",
                                     NameOf(ref), FormatDuration(ran), attempt.node.value));
  }

  std::map<PartRef, Attempt> running_;
  std::map<NodeId, Instant> heard_since_;
};

}  // namespace

std::unique_ptr<Checker> MakeStraysCheck() { return std::make_unique<StraysCheck>(); }

}  // namespace spate::sim
