// A time limit is kept: TERM at the limit, KILL after the grace, and nothing lives longer than
// what messages and dying take beyond that.
#include <fmt/format.h>

#include "base/units.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class LimitsCheck final : public Checker {
 public:
  const char* name() const override { return "limits"; }

  void See(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      began_[executed->order->ref] = scene.now;
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      auto it = began_.find(over->ref);
      if (it == began_.end()) return;
      Duration ran = scene.now - it->second;
      began_.erase(it);
      const JobSettings& settings = *scene.workload.job(over->ref.job).settings;
      if (settings.time_limit.ns == 0) return;
      if (ran <= settings.time_limit + settings.kill_grace + scene.slack) return;
      findings.Add(name(), fmt::format("{} ran {}, its limit was {}", NameOf(over->ref),
                                       FormatDuration(ran), FormatDuration(settings.time_limit)));
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      began_.clear();
    }
  }

 private:
  std::map<AttemptRef, Instant> began_;
};

}  // namespace

std::unique_ptr<Checker> MakeLimitsCheck() { return std::make_unique<LimitsCheck>(); }

}  // namespace spate::sim
