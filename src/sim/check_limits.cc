// A time limit is kept: TERM at the limit, KILL after the grace, and nothing lives longer than
// what messages and dying take beyond that. While it is frozen no time counts.
#include <fmt/format.h>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class LimitsCheck final : public Checker {
 public:
  const char* name() const override { return "limits"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* changed = std::get_if<FrozenChanged>(&fact)) {
      auto it = running_.find({changed->ref, changed->node});
      if (it != running_.end()) it->second.Change(scene.now, changed->frozen);
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      running_[{executed->order->ref, executed->node}] = {executed->node, scene.now};
    } else if (const auto* process = std::get_if<NodeProcess>(&fact)) {
      // An adopted attempt has its limit from its start, and its grace from when it is known.
      for (auto& [part, each] : running_) {
        if (each.node == process->node) each.Restart(scene.now, process->began);
      }
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto it = running_.find({over->ref, over->node});
      if (it == running_.end()) return;
      Running was = it->second;
      running_.erase(it);
      was.Change(scene.now, false);
      if (!was.watched) return;
      const Duration ran = scene.now - was.since - was.stood;
      const JobSettings& settings = *scene.workload.job(over->ref.job).settings;
      if (settings.time_limit.ns == 0) return;
      if (ran <= settings.time_limit + settings.kill_grace + scene.slack) return;
      findings.Add(name(), fmt::format("{} ran {}, its limit was {}", NameOf(over->ref),
                                       FormatDuration(ran), FormatDuration(settings.time_limit)));
    }
  }

 private:
  struct Running {
    NodeId node;
    Instant since;
    bool watched = true;  // a process is there that may end it
    Instant frozen_at = Instant::Never();
    Duration stood = {};  // before that

    void Change(Instant now, bool frozen) {
      if (frozen_at != Instant::Never()) stood = stood + (now - frozen_at);
      frozen_at = frozen ? now : Instant::Never();
    }
    void Restart(Instant now, bool is_watched) {
      since = now;
      watched = is_watched;
      if (frozen_at != Instant::Never()) frozen_at = now;
      stood = {};
    }
  };
  std::map<PartRef, Running> running_;
};

}  // namespace

std::unique_ptr<Checker> MakeLimitsCheck() { return std::make_unique<LimitsCheck>(); }

}  // namespace spate::sim
