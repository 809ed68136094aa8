// A pool has no more pilots on their way than there are tasks that could use them, one for each
// node's worth of tasks of one kind, or one until its nodes are known; and those that its owner
// always wants. However much somebody has submitted, what does not fit, is held or has ended asks
// for nothing.
#include <fmt/format.h>

#include <map>
#include <set>

#include "sim/check.h"
#include "sim/decided_book.h"

namespace spate::sim {
namespace {

using provision::PilotId;
using provision::PoolId;

class DemandCheck final : public Checker {
 public:
  const char* name() const override { return "demand"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (scene.workload.pools().empty()) return;
    book_.Observe(scene, fact);
    if (std::holds_alternative<LifeBegan>(fact)) {
      pools_.clear();
    } else if (const auto* replayed = std::get_if<PoolReplayed>(&fact)) {
      Follow(scene, *replayed->record);
    } else if (const auto* of_pool = std::get_if<PoolDecided>(&fact)) {
      Follow(scene, *of_pool->record);
      const auto* intended = std::get_if<provision::PilotIntended>(of_pool->record);
      if (intended != nullptr) Judge(scene, intended->pool, findings);
    } else if (const auto* decided = std::get_if<Decided>(&fact)) {
      if (EndsTasks(*decided->record)) last_end_ = scene.now;
    }
  }

 private:
  struct Pool {
    const SimPool* plan = nullptr;
    bool shown = false;            // what its nodes offer is known
    std::set<PilotId> on_the_way;  // wanted, and not joined
  };

  static bool EndsTasks(const engine::Record& record) {
    return std::holds_alternative<engine::AttemptEnded>(record) ||
           std::holds_alternative<engine::Leased>(record) ||
           std::holds_alternative<engine::GangLeased>(record) ||
           std::holds_alternative<engine::TasksCancelled>(record) ||
           std::holds_alternative<engine::TasksWithdrawn>(record) ||
           std::holds_alternative<engine::JobCancelled>(record) ||
           std::holds_alternative<engine::JobHeld>(record);
  }

  void SetPlan(const Scene& scene, PoolId id, const provision::PoolPolicy& policy) {
    for (const SimPool& plan : scene.workload.pools()) {
      if (plan.name == policy.name) pools_[id].plan = &plan;
    }
    pools_[id].shown = policy.shape.milli_cpus > 0;
  }

  void Forget(PilotId pilot) {
    for (auto& [id, pool] : pools_) pool.on_the_way.erase(pilot);
  }

  void Follow(const Scene& scene, const provision::Record& record) {
    if (const auto* changed = std::get_if<provision::PoolChanged>(&record)) {
      SetPlan(scene, changed->pool, changed->policy);
    } else if (const auto* kept = std::get_if<provision::PoolKept>(&record)) {
      SetPlan(scene, kept->pool, kept->policy);
      pools_[kept->pool].shown |= kept->learned.has_value();
    } else if (const auto* learned = std::get_if<provision::PoolLearned>(&record)) {
      pools_[learned->pool].shown = true;
    } else if (const auto* intended = std::get_if<provision::PilotIntended>(&record)) {
      pools_[intended->pool].on_the_way.insert(intended->pilot);
    } else if (const auto* still = std::get_if<provision::PilotKept>(&record)) {
      if (!still->joined && !still->unwanted) pools_[still->pool].on_the_way.insert(still->pilot);
    } else if (const auto* joined = std::get_if<provision::PilotJoined>(&record)) {
      Forget(joined->pilot);
    } else if (const auto* unwanted = std::get_if<provision::PilotUnwanted>(&record)) {
      Forget(unwanted->pilot);
    } else if (const auto* ended = std::get_if<provision::PilotEnded>(&record)) {
      Forget(ended->pilot);
    }
  }

  void Judge(const Scene& scene, PoolId id, Findings& findings) {
    // Demand is told a little late.
    Duration late = Duration::Seconds(1) + scene.slack;
    if (scene.hub->suspend) late = late + scene.hub->patience * 2;
    const Pool& pool = pools_[id];
    if (pool.plan == nullptr || scene.now - last_end_ <= late) return;
    const uint64_t most = std::max<uint64_t>(pool.plan->min_pilots, DemandOf(scene, pool));
    if (pool.on_the_way.size() <= most) return;
    findings.Add(name(), fmt::format("pool {} has {} pilots on their way, and work for {}",
                                     pool.plan->name, pool.on_the_way.size(), most));
  }

  // In pilots.
  uint64_t DemandOf(const Scene& scene, const Pool& pool) {
    uint64_t pilots = 0;
    for (const auto& [id, job] : book_.book().jobs()) {
      const std::string& user = scene.workload.job(id).user;
      if (job.held || job.cancelled || job.finished || job.stopped) continue;
      if (!TakesUser(pool.plan->offer, user)) continue;
      std::map<TaskClass, uint64_t> tasks;
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        const bool waits = job.tasks[i].state == TaskState::kQueued;
        if (waits && !job.stopped_tasks.contains(i)) ++tasks[job.ClassOf(i)];
      }
      for (const auto& [of_tasks, count] : tasks) pilots += PilotsFor(pool, of_tasks, count);
    }
    return pool.shown ? pilots : std::min<uint64_t>(pilots, 1);
  }

  static uint64_t PilotsFor(const Pool& pool, const TaskClass& of_tasks, uint64_t tasks) {
    Offer offer = pool.plan->offer;
    Needs needs = of_tasks.needs;
    if (!pool.shown) needs = {.milli_cpus = 0, .labels = needs.labels};
    const GangShape& gang = of_tasks.gang;
    if (!gang.empty()) offer.slots = kLimits.gang_procs;
    const uint64_t fit = FitCount(offer, needs);
    if (fit == 0) return 0;
    if (gang.nodes > 0) return fit < gang.procs_per_node() ? 0 : tasks * gang.nodes;
    const uint64_t procs = tasks * std::max(gang.procs, 1u);
    return (procs + fit - 1) / fit;
  }

  DecidedBook book_;
  std::map<PoolId, Pool> pools_;
  Instant last_end_ = {0};
};

}  // namespace

std::unique_ptr<Checker> MakeDemandCheck() { return std::make_unique<DemandCheck>(); }

}  // namespace spate::sim
