// Tasks wait for their parents: no attempt is given out, or starts, before the ends of all parents
// are durable; and a task is cancelled for its parents' sake only when one of them did not succeed.
// The dependencies are those that the person wrote, wherever one got lost on the way.
#include <fmt/format.h>

#include <algorithm>

#include "core/model/ranges.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class GraphCheck final : public Checker {
 public:
  const char* name() const override { return "graph"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      Begins(scene, executed->order->ref, "starts", findings);
    }
    const auto* committed = std::get_if<Committed>(&fact);
    if (committed == nullptr) return;
    if (const auto* leased = std::get_if<engine::Leased>(committed->record)) {
      ForEach(leased->tasks, [&](TaskIndex i) {
        Begins(scene, {leased->job, i, leased->attempt}, "is given out", findings);
      });
    } else if (const auto* gang = std::get_if<engine::GangLeased>(committed->record)) {
      Begins(scene, {gang->job, gang->index, gang->attempt}, "is given out", findings);
    } else if (const auto* gone = std::get_if<engine::TasksWithdrawn>(committed->record)) {
      if (gone->parent) CheckWithdrawn(scene, *gone, findings);
    }
  }

 private:
  static void ForEach(const std::vector<TaskRange>& tasks, const auto& fn) {
    for (TaskRange range : tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) fn(i);
    }
  }

  static TaskState StateOf(const Scene& scene, JobId job, TaskIndex index) {
    const BookedJob* booked = scene.book.FindJob(job);
    bool known = booked != nullptr && index < booked->tasks.size();
    return known ? booked->tasks[index].state : TaskState::kQueued;
  }

  void Begins(const Scene& scene, const AttemptRef& ref, const char* what, Findings& findings) {
    for (TaskIndex parent : scene.workload.ParentsOf(ref.job, ref.index)) {
      if (StateOf(scene, ref.job, parent) == TaskState::kSucceeded) continue;
      findings.Add(name(), fmt::format("{} {} before the success of its parent {} is durable",
                                       NameOf(ref), what, parent + 1));
    }
  }

  void CheckWithdrawn(const Scene& scene, const engine::TasksWithdrawn& gone, Findings& findings) {
    auto lost = [&](TaskIndex parent) {
      TaskState state = StateOf(scene, gone.job, parent);
      return IsFinal(state) && state != TaskState::kSucceeded;
    };
    ForEach(gone.tasks, [&](TaskIndex i) {
      auto parents = scene.workload.ParentsOf(gone.job, i);
      if (std::ranges::any_of(parents, lost)) return;
      findings.Add(name(), fmt::format("{}.{} is cancelled for parents that may yet succeed",
                                       gone.job.value, i + 1));
    });
  }
};

}  // namespace

std::unique_ptr<Checker> MakeGraphCheck() { return std::make_unique<GraphCheck>(); }

}  // namespace spate::sim
