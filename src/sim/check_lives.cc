// A task is given to a node only where so much of the node's life is left as its user said that it
// takes.
#include <fmt/format.h>

#include <map>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class LivesCheck final : public Checker {
 public:
  const char* name() const override { return "lives"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (scene.hub->node_clocks) return;  // by the hub's clock a node may have more left
    if (const auto* up = std::get_if<NodeUp>(&fact)) ends_[up->node] = up->offer->end_of_life;
    const auto* decided = std::get_if<Decided>(&fact);
    if (decided == nullptr) return;
    if (const auto* leased = std::get_if<engine::Leased>(decided->record)) {
      for (TaskRange range : leased->tasks) {
        Look(scene, leased->job, range.first, leased->node, findings);
      }
    } else if (const auto* gang = std::get_if<engine::GangLeased>(decided->record)) {
      for (const auto& part : gang->parts) {
        Look(scene, gang->job, gang->index, part.node, findings);
      }
    }
  }

 private:
  void Look(const Scene& scene, JobId job, TaskIndex index, NodeId node, Findings& findings) const {
    const auto end = ends_.find(node);
    if (end == ends_.end() || end->second == Instant::Never()) return;
    const Duration takes = scene.workload.ClassOf(job, index).needs.time;
    if (takes.ns == 0 || scene.now + takes <= end->second) return;
    findings.Add(name(), fmt::format("{}.{} takes {}, and n{} has {} left", job.value, index + 1,
                                     FormatDuration(takes), node.value,
                                     FormatDuration(end->second - scene.now)));
  }

  std::map<NodeId, Instant> ends_;
};

}  // namespace

std::unique_ptr<Checker> MakeLivesCheck() { return std::make_unique<LivesCheck>(); }

}  // namespace spate::sim
