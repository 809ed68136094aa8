// Nodes never hold more tasks of a job, or of a user, than max_running allows at that time; a gang
// is one. The job's bound is the one that its person wrote, until somebody changes it; the user's
// the one that is durable.
#include <fmt/format.h>

#include "sim/check.h"

namespace spate::sim {
namespace {

class BoundsCheck final : public Checker {
 public:
  const char* name() const override { return "bounds"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    const auto* committed = std::get_if<Committed>(&fact);
    if (committed == nullptr) return;
    const engine::Record& record = *committed->record;
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      Count(scene, leased->job, CountOf(leased->tasks));
      Check(scene, leased->job, findings);
    } else if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
      Count(scene, gang->job, 1);
      Check(scene, gang->job, findings);
    } else if (const auto* returned = std::get_if<engine::Returned>(&record)) {
      Count(scene, returned->job, -CountOf(returned->tasks));
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      if (ended->verdict != engine::Verdict::kPart) Count(scene, ended->end.ref.job, -1);
    } else if (const auto* changed = std::get_if<engine::UserChanged>(&record)) {
      rules_[changed->user] = changed->rule;
    } else if (const auto* policy = std::get_if<engine::PolicyChanged>(&record)) {
      changed_[policy->job] = policy->policy.max_running;
    }
  }

 private:
  static int64_t CountOf(const std::vector<TaskRange>& tasks) {
    int64_t count = 0;
    for (TaskRange range : tasks) count += range.count;
    return count;
  }
  void Count(const Scene& scene, JobId job, int64_t change) {
    of_job_[job] += change;
    of_user_[scene.workload.job(job).user] += change;
  }
  void Check(const Scene& scene, JobId id, Findings& findings) {
    const SimJob& job = scene.workload.job(id);
    auto above = [](int64_t count, uint32_t most) { return most > 0 && count > most; };
    auto changed = changed_.find(id);
    const uint32_t most = changed == changed_.end() ? job.policy.max_running : changed->second;
    if (above(of_job_[id], most)) {
      findings.Add(name(), fmt::format("{} tasks of job {} are leased at once, {} may be",
                                       of_job_[id], id.value, most));
    }
    if (above(of_user_[job.user], rules_[job.user].max_running)) {
      findings.Add(name(), fmt::format("{} tasks of {} are leased at once, {} may be",
                                       of_user_[job.user], job.user, rules_[job.user].max_running));
    }
  }

  std::map<JobId, int64_t> of_job_;
  std::map<std::string, int64_t> of_user_;
  std::map<std::string, UserRule> rules_;
  std::map<JobId, uint32_t> changed_;  // max_running of jobs
};

}  // namespace

std::unique_ptr<Checker> MakeBoundsCheck() { return std::make_unique<BoundsCheck>(); }

}  // namespace spate::sim
