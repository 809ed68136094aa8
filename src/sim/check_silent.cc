// A node that is not heard any more, as its machine went, its link broke, or its connection stays
// and nothing comes of it, is given up after the hub's patience: no task stays leased to it.
#include <fmt/format.h>

#include <map>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class SilentCheck final : public Checker {
 public:
  const char* name() const override { return "silent"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (scene.hub->suspend || scene.hub->slow_disk()) return;
    if (std::holds_alternative<LifeBegan>(fact)) {
      hub_lives_ = true;
      for (auto& [node, since] : since_) since = scene.now;
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      hub_lives_ = false;
    } else if (const auto* heard = std::get_if<NodeHeard>(&fact)) {
      since_.erase(heard->node);
    } else if (const auto* unheard = std::get_if<NodeUnheard>(&fact)) {
      since_[unheard->node] = scene.now;
    }
    if (!hub_lives_ || scene.now < next_look_) return;
    next_look_ = scene.now + Duration::Seconds(1);
    for (auto& [node, since] : since_) {
      if (scene.now - since <= scene.hub->patience + scene.slack + kTurns) continue;
      Look(scene, node, scene.now - since, findings);
      since = scene.now;
    }
  }

 private:
  // Until the hub has given up the link, and looks.
  static constexpr Duration kTurns = Duration::Seconds(35);

  void Look(const Scene& scene, NodeId node, Duration silent, Findings& findings) const {
    for (const auto& [id, job] : scene.book.jobs()) {
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        const BookedTask& task = job.tasks[i];
        if (!task.gang.empty() || !task.IsLeased(task.attempt, node)) continue;
        findings.Add(name(), fmt::format("{}.{} is leased to n{}, which was not heard for {}",
                                         id.value, i + 1, node.value, FormatDuration(silent)));
        return;
      }
    }
  }

  std::map<NodeId, Instant>
      since_;  // of those that are not heard; the hub's life, if that is newer
  bool hub_lives_ = false;
  Instant next_look_;
};

}  // namespace

std::unique_ptr<Checker> MakeSilentCheck() { return std::make_unique<SilentCheck>(); }

}  // namespace spate::sim
