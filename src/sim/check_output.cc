// Output stays with the attempt that wrote it: in the journal and before the watcher.
#include <algorithm>
#include <set>

#include "sim/check.h"

namespace spate::sim {
namespace {

class OutputCheck final : public Checker {
 public:
  const char* name() const override { return "output"; }

  void Observe(const Scene&, const Fact& fact, Findings& findings) override {
    if (const auto* over = std::get_if<Over>(&fact)) {
      if (over->output != nullptr) written_[over->ref][over->node] = *over->output;
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (executed->order->part != nullptr) gangs_.insert(executed->order->ref);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended == nullptr || (MayHaveNone(ended->end) && committed->output == nullptr)) return;
      const auto& all = written_[ended->end.ref];
      auto it = all.find(ended->node);
      if (Same(it == all.end() ? nullptr : &it->second, committed->output)) return;
      Complain(ended->end.ref, "the journal's", findings);
    } else if (const auto* told = std::get_if<Told>(&fact)) {
      const AttemptRef& ref = told->notice->end.ref;
      // The journal knows of which part of a gang it tells.
      bool may_be_none = MayHaveNone(told->notice->end) || gangs_.contains(ref);
      if (may_be_none && told->output == nullptr) return;
      const auto& all = written_[ref];
      bool known = std::ranges::any_of(
          all, [&](const auto& each) { return Same(&each.second, told->output); });
      if (known || (all.empty() && told->output == nullptr)) return;
      Complain(ref, "the watcher's", findings);
    }
  }

 private:
  // The engine has decided it, or the node went before it heard of the end: whatever the attempt
  // wrote.
  static bool MayHaveNone(const AttemptEnd& end) {
    return end.slot == 0 || (end.cause == Cause::kStopped && end.status == kCutOff);
  }
  void Complain(const AttemptRef& ref, const char* whose, Findings& findings) {
    findings.Add(name(),
                 std::string(whose) + " output of " + NameOf(ref) + " is not what it wrote");
  }

  std::map<AttemptRef, std::map<NodeId, TaskOutput>> written_;
  std::set<AttemptRef> gangs_;
};

}  // namespace

std::unique_ptr<Checker> MakeOutputCheck() { return std::make_unique<OutputCheck>(); }

}  // namespace spate::sim
