// All that a hub has acknowledged is durable: the job is there, it has grown or is cancelled, its
// tasks were reopened. (That durable things stay is seen by check_durable.)
#include <fmt/format.h>

#include "sim/check.h"

namespace spate::sim {
namespace {

class AcksCheck final : public Checker {
 public:
  const char* name() const override { return "acks"; }

  void See(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* reopened = std::get_if<engine::TasksReopened>(committed->record);
      if (reopened != nullptr) ++reopened_[reopened->job];
    } else if (const auto* said = std::get_if<Acknowledged>(&fact)) {
      const BookedJob* job = scene.book.FindJob(said->job);
      if (job != nullptr && Holds(*said, *job)) return;
      findings.Add(name(), fmt::format("what was acknowledged of job {} is not so, or not durable",
                                       said->job.value));
    }
  }

 private:
  bool Holds(const Acknowledged& said, const BookedJob& job) {
    switch (said.what) {
      case Acknowledged::What::kAccepted:
        return true;
      case Acknowledged::What::kGrown:
        return job.cancelled || job.tasks.size() >= said.total;
      case Acknowledged::What::kCancelled:
        return job.cancelled || job.finished;
      case Acknowledged::What::kReopened:
        return reopened_[said.job] >= ++asked_[said.job];
    }
    return false;
  }

  std::map<JobId, uint32_t> reopened_;  // by record
  std::map<JobId, uint32_t> asked_;     // acknowledged
};

}  // namespace

std::unique_ptr<Checker> MakeAcksCheck() { return std::make_unique<AcksCheck>(); }

}  // namespace spate::sim
