// No task runs twice under one attempt number, and never twice at once where the hub is heard. (Of
// a gang no part does.)
#include <fmt/format.h>

#include <set>

#include "sim/check.h"

namespace spate::sim {
namespace {

class AttemptsCheck final : public Checker {
 public:
  const char* name() const override { return "attempts"; }

  void Observe(const Scene&, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      AttemptRef ref = executed->order->ref;
      if (!begun_.insert({ref, executed->node}).second ||
          (executed->order->part == nullptr && !alone_.insert(ref).second)) {
        findings.Add(name(), "attempt " + NameOf(ref) + " runs a second time");
      }
      if (executed->orphan) return;
      auto& running = running_[TaskOf(ref)];
      for (const auto& [node, other] : running) {
        if (other == ref && node != executed->node && executed->order->part != nullptr) continue;
        findings.Add(name(),
                     fmt::format("attempt {} begins while {} runs", NameOf(ref), NameOf(other)));
      }
      running.emplace(executed->node, ref);
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      Forget(over->ref, over->node);
    } else if (const auto* cut = std::get_if<NodeCut>(&fact)) {
      for (auto& [task, running] : running_) running.erase(cut->node);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      // Decided without its node: whether that was right is seen by check_losses.
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended != nullptr && ended->end.slot == 0) Forget(ended->end.ref, ended->node);
    }
  }

 private:
  static std::pair<JobId, TaskIndex> TaskOf(const AttemptRef& ref) { return {ref.job, ref.index}; }

  void Forget(const AttemptRef& ref, NodeId node) {
    auto it = running_.find(TaskOf(ref));
    if (it == running_.end()) return;
    auto at = it->second.find(node);
    if (at != it->second.end() && at->second == ref) it->second.erase(at);
    if (it->second.empty()) running_.erase(it);
  }

  std::set<PartRef> begun_;
  std::set<AttemptRef> alone_;  // of these, attempts that are no parts of gangs
  std::map<std::pair<JobId, TaskIndex>, std::map<NodeId, AttemptRef>> running_;
};

}  // namespace

std::unique_ptr<Checker> MakeAttemptsCheck() { return std::make_unique<AttemptsCheck>(); }

}  // namespace spate::sim
