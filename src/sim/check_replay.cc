// The journal gives the state again: at every end of a life, the disk replayed (and then what was
// not durable yet) has the digest that the live engine had.
#include "sim/check.h"

namespace spate::sim {
namespace {

class ReplayCheck final : public Checker {
 public:
  const char* name() const override { return "replay"; }

  void Observe(const Scene&, const Fact& fact, Findings& findings) override {
    const auto* ended = std::get_if<LifeEnded>(&fact);
    if (ended == nullptr || ended->live_digest == ended->replayed_digest) return;
    findings.Add(name(), "the journal replayed gives another state than the engine had");
  }
};

}  // namespace

std::unique_ptr<Checker> MakeReplayCheck() { return std::make_unique<ReplayCheck>(); }

}  // namespace spate::sim
