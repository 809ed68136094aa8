// No task runs twice under one attempt number, and never twice at once where the hub is heard.
#include <fmt/format.h>

#include <set>

#include "sim/check.h"

namespace spate::sim {
namespace {

class AttemptsCheck final : public Checker {
 public:
  const char* name() const override { return "attempts"; }

  void See(const Scene&, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      AttemptRef ref = executed->order->ref;
      if (!begun_.insert(ref).second) {
        findings.Add(name(), "attempt " + NameOf(ref) + " runs a second time");
      }
      if (executed->orphan) return;
      auto [it, fresh] = running_.emplace(TaskOf(ref), Running{ref, executed->node});
      if (!fresh) {
        findings.Add(name(), fmt::format("attempt {} begins while {} runs", NameOf(ref),
                                         NameOf(it->second.ref)));
      }
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto it = running_.find(TaskOf(over->ref));
      if (it != running_.end() && it->second.ref == over->ref) running_.erase(it);
    } else if (const auto* cut = std::get_if<NodeCut>(&fact)) {
      std::erase_if(running_, [&](const auto& each) { return each.second.node == cut->node; });
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      // Decided without its node: whether that was right is seen by check_losses.
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended == nullptr || ended->end.slot != 0) return;
      auto it = running_.find(TaskOf(ended->end.ref));
      if (it != running_.end() && it->second.ref == ended->end.ref) running_.erase(it);
    }
  }

 private:
  struct Running {
    AttemptRef ref;
    NodeId node;
  };
  static std::pair<JobId, TaskIndex> TaskOf(const AttemptRef& ref) { return {ref.job, ref.index}; }

  std::set<AttemptRef> begun_;
  std::map<std::pair<JobId, TaskIndex>, Running> running_;
};

}  // namespace

std::unique_ptr<Checker> MakeAttemptsCheck() { return std::make_unique<AttemptsCheck>(); }

}  // namespace spate::sim
