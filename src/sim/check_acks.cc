// A submission that a hub has acknowledged is durable: the job is there, or has grown. (That
// durable things stay is seen by check_durable; of other changes check_answers judges.)
#include <fmt/format.h>

#include "sim/check.h"

namespace spate::sim {
namespace {

class AcksCheck final : public Checker {
 public:
  const char* name() const override { return "acks"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    const auto* said = std::get_if<Acknowledged>(&fact);
    if (said == nullptr) return;
    const BookedJob* job = scene.book.FindJob(said->job);
    if (job != nullptr && Holds(*said, *job)) return;
    findings.Add(name(), fmt::format("what was acknowledged of job {} is not so, or not durable",
                                     said->job.value));
  }

 private:
  static bool Holds(const Acknowledged& said, const BookedJob& job) {
    const bool grown = said.what == Acknowledged::What::kGrown;
    return !grown || job.cancelled || job.tasks.size() >= said.total;
  }
};

}  // namespace

std::unique_ptr<Checker> MakeAcksCheck() { return std::make_unique<AcksCheck>(); }

}  // namespace spate::sim
