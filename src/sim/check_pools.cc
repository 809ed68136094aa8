// A hub's requests to batch systems. No pilot exists twice; a pool never has more pilots than
// allowed, in the batch system or requested; none is requested before that is durable, and none
// when no task of the pool could start on it; when all work is done, none is left except those that
// are always kept; and the journal has exactly the durable state of pools.
//
// The checker's view of tasks is a little late (only durable facts) and a little generous (it
// ignores other reasons for a task to wait), so it blames only what nothing could excuse.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/provision/provisioner.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

using provision::PilotId;
using provision::PoolId;

class PoolsCheck final : public Checker {
 public:
  const char* name() const override { return "pools"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (scene.workload.pools().empty()) return;
    if (const auto* committed = std::get_if<Committed>(&fact)) {
      Count(scene, *committed->record);
    } else if (const auto* queued = std::get_if<PilotQueued>(&fact)) {
      Queue(scene, *queued, findings);
    } else if (const auto* over = std::get_if<PilotOver>(&fact)) {
      jobs_.erase(over->id);
    } else if (const auto* runs = std::get_if<PilotRuns>(&fact)) {
      if (auto at = jobs_.find(runs->id); at != jobs_.end()) at->second.waits = false;
    } else if (const auto* forgotten = std::get_if<PilotForgotten>(&fact)) {
      if (auto at = jobs_.find(forgotten->id); at != jobs_.end()) at->second.excused = true;
    } else if (const auto* decided = std::get_if<PoolDecided>(&fact)) {
      const auto* intended = std::get_if<provision::PilotIntended>(decided->record);
      if (intended != nullptr) decided_[intended->pilot] = scene.now;
      const auto* changed = std::get_if<provision::PoolChanged>(decided->record);
      if (changed != nullptr) SetPlan(scene, *changed);
      const auto* ended = std::get_if<provision::PilotEnded>(decided->record);
      if (ended != nullptr && ended->end == provision::End::kForgotten) Excuse(scene, ended->pilot);
    } else if (const auto* of_pool = std::get_if<PoolCommitted>(&fact)) {
      See(scene, *of_pool->record, findings);
    } else if (std::holds_alternative<LifeBegan>(fact)) {
      replayed_ = std::make_unique<provision::Provisioner>();
    } else if (const auto* replayed = std::get_if<PoolReplayed>(&fact)) {
      if (replayed_->Admits(*replayed->record)) replayed_->Apply(*replayed->record);
    } else if (std::holds_alternative<PoolReplayDone>(fact)) {
      if (replayed_->Digest() == durable_.Digest()) return;
      findings.Add("kept", "the journal replayed gives other pools than were durable");
    } else if (std::holds_alternative<PoolsDue>(fact)) {
      for (const SimPool& pool : scene.workload.pools()) CheckRest(pool, findings);
    }
  }

 private:
  // In the batch system.
  struct Job {
    std::string pool;
    std::optional<PilotId> pilot;
    bool waits = true;  // for its first begin
    bool excused = false;
  };
  // Answers that were cut off, one after the other, showed nothing of it; or one answer that left
  // it out, after its node had taken leave.
  void Excuse(const Scene& scene, PilotId pilot) {
    if (scene.hub->batch_garbles_percent + scene.hub->batch_forgets_percent == 0) return;
    for (auto& [id, job] : jobs_) job.excused |= job.pilot == pilot;
  }

  struct Pool {
    const SimPool* plan = nullptr;
    std::set<PilotId> open;    // asked for, and not known to have ended
    std::set<PilotId> wanted;  // of these
    bool shown = false;        // what its nodes offer is known
    std::optional<AttemptRef> startable;
    Instant startable_until;
  };

  static uint32_t MostOf(const SimPool& pool) { return pool.max_pilots * (pool.chain ? 2 : 1); }

  void Queue(const Scene& scene, const PilotQueued& queued, Findings& findings) {
    if (!tags_.insert(std::string(queued.tag)).second) {
      findings.Add("doubled", fmt::format("pilot {} is submitted twice", queued.tag));
    }
    // spate-POOL-HUB-N
    std::string_view hub = queued.tag.substr(0, queued.tag.rfind('-'));
    hub.remove_prefix(hub.rfind('-') + 1);
    if (auto pilot = provision::PilotOfTag(hub, queued.tag);
        !pilot || !intended_.contains(*pilot)) {
      findings.Add("early",
                   fmt::format("pilot {} is submitted before that is durable", queued.tag));
    }
    Job& queues = jobs_[queued.id];
    queues.pool = queued.pool;
    queues.pilot = provision::PilotOfTag(hub, queued.tag);
    for (const SimPool& pool : scene.workload.pools()) {
      if (pool.name != queued.pool) continue;
      uint32_t alive = 0;
      uint32_t waiting = 0;
      for (const auto& [id, job] : jobs_) {
        if (job.pool != pool.name || job.excused) continue;
        ++alive;
        waiting += job.waits ? 1 : 0;
      }
      if (alive > MostOf(pool)) {
        findings.Add("most", fmt::format("pool {} has {} pilots", pool.name, alive));
      }
      if (waiting > pool.backlog) {
        findings.Add("most", fmt::format("pool {} has {} pilots that queue", pool.name, waiting));
      }
    }
  }

  void See(const Scene& scene, const provision::Record& record, Findings& findings) {
    if (durable_.Admits(record)) {
      durable_.Apply(record);
    } else {
      findings.Add("kept", "a record of a pool does not follow from those before it");
    }
    if (const auto* changed = std::get_if<provision::PoolChanged>(&record)) {
      SetPlan(scene, *changed);
    } else if (const auto* learned = std::get_if<provision::PoolLearned>(&record)) {
      pools_[learned->pool].shown = true;
      Look(scene);
    } else if (const auto* intended = std::get_if<provision::PilotIntended>(&record)) {
      Intend(scene, *intended, findings);
    } else if (const auto* unwanted = std::get_if<provision::PilotUnwanted>(&record)) {
      for (auto& [id, pool] : pools_) pool.wanted.erase(unwanted->pilot);
    } else if (const auto* ended = std::get_if<provision::PilotEnded>(&record)) {
      for (auto& [id, pool] : pools_) pool.wanted.erase(ended->pilot);
      for (auto& [id, pool] : pools_) pool.open.erase(ended->pilot);
    }
  }

  // A new pool asks for pilots as soon as that is decided, by what was ready a moment ago.
  void SetPlan(const Scene& scene, const provision::PoolChanged& changed) {
    Pool& pool = pools_[changed.pool];
    if (pool.plan == nullptr) pool.startable_until = scene.now;
    for (const SimPool& plan : scene.workload.pools()) {
      if (plan.name == changed.policy.name) pool.plan = &plan;
    }
    pool.shown = changed.policy.shape.milli_cpus > 0;
    Look(scene);
  }

  void Intend(const Scene& scene, const provision::PilotIntended& intended, Findings& findings) {
    Pool& pool = pools_[intended.pool];
    intended_.insert(intended.pilot);
    pool.open.insert(intended.pilot);
    pool.wanted.insert(intended.pilot);
    if (pool.open.size() > MostOf(*pool.plan)) {
      findings.Add("most", fmt::format("pool {} asks for {} pilots at once", pool.plan->name,
                                       pool.open.size()));
    }
    if (pool.wanted.size() <= pool.plan->min_pilots || pool.startable) return;
    // From a task's end of being ready to the last ask for its sake.
    Duration late = Duration::Seconds(1) + scene.slack;
    if (scene.hub->suspend) late = late + scene.hub->patience * 2;
    if (decided_[intended.pilot] - pool.startable_until <= late) return;
    findings.Add("vain", fmt::format("pilot {} of pool {} is requested, and no task could start "
                                     "there",
                                     intended.pilot.value, pool.plan->name));
  }

  void CheckRest(const SimPool& pool, Findings& findings) {
    auto alive = static_cast<uint32_t>(std::ranges::count_if(
        jobs_, [&](const auto& each) { return each.second.pool == pool.name; }));
    if (alive == pool.at_rest()) return;
    findings.Add("left",
                 fmt::format("all work is done, and pool {} has {} pilots", pool.name, alive));
  }

  // ---- Which tasks could start on a pilot

  void Count(const Scene& scene, const engine::Record& record) {
    auto lease = [&](JobId job, const std::vector<TaskRange>& tasks, int64_t sign) {
      for (TaskRange range : tasks) leased_[job] += sign * int64_t{range.count};
    };
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      lease(leased->job, leased->tasks, 1);
    } else if (const auto* gang = std::get_if<engine::GangLeased>(&record)) {
      ++leased_[gang->job];
    } else if (const auto* returned = std::get_if<engine::Returned>(&record)) {
      lease(returned->job, returned->tasks, -1);
    } else if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      if (ended->verdict != engine::Verdict::kPart) --leased_[ended->end.ref.job];
    } else if (const auto* user = std::get_if<engine::UserChanged>(&record)) {
      bounds_[user->user] = user->rule.max_running;
    }
    Look(scene);
  }

  void Look(const Scene& scene) {
    for (auto& [id, pool] : pools_) {
      if (pool.plan == nullptr) continue;
      if (pool.startable && MayStart(scene, pool, *pool.startable)) continue;
      bool was = pool.startable.has_value();
      pool.startable = Find(scene, pool);
      if (was && !pool.startable) pool.startable_until = scene.now;
    }
  }

  std::optional<AttemptRef> Find(const Scene& scene, const Pool& pool) {
    for (const auto& [id, job] : scene.book.jobs()) {
      if (!IsOpen(scene, pool, id, job)) continue;
      for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
        AttemptRef ref{id, i, {}};
        if (MayStart(scene, pool, ref)) return ref;
      }
    }
    return std::nullopt;
  }

  bool IsOpen(const Scene& scene, const Pool& pool, JobId id, const BookedJob& job) {
    if (job.held || job.cancelled || job.finished || job.stopped) return false;
    const std::string& user = scene.workload.job(id).user;
    if (pool.plan->user != "*" && pool.plan->user != user) return false;
    if (job.policy.max_running > 0 && leased_[id] >= job.policy.max_running) return false;
    const uint32_t bound = bounds_[user];
    if (bound == 0) return true;
    int64_t theirs = 0;
    for (const auto& [other, count] : leased_) {
      if (scene.workload.job(other).user == user) theirs += count;
    }
    return theirs < bound;
  }

  bool MayStart(const Scene& scene, const Pool& pool, const AttemptRef& ref) {
    const BookedJob* job = scene.book.FindJob(ref.job);
    if (job == nullptr || !IsOpen(scene, pool, ref.job, *job)) return false;
    if (ref.index >= job->tasks.size()) return false;
    if (job->tasks[ref.index].state != TaskState::kQueued) return false;
    if (job->stopped_tasks.contains(ref.index)) return false;
    if (auto waits = job->parents.find(ref.index); waits != job->parents.end()) {
      for (TaskIndex parent : waits->second) {
        if (job->tasks[parent].state != TaskState::kSucceeded) return false;
      }
    }
    // One pilot finds out about nodes that nobody has described; their labels are known.
    const TaskClass& of_task = job->ClassOf(ref.index);
    if (!pool.shown) {
      return FitCount(pool.plan->offer, {.milli_cpus = 0, .labels = of_task.needs.labels}) > 0;
    }
    if (of_task.gang.empty()) return FitCount(pool.plan->offer, of_task.needs) > 0;
    // With other nodes' help.
    return scene.workload.FitsSomewhere(scene.workload.job(ref.job).user, of_task);
  }

  std::map<uint32_t, Job> jobs_;  // that are not over, by their ids
  std::set<std::string> tags_;
  std::map<PoolId, Pool> pools_;
  std::map<PilotId, Instant> decided_;  // when it was intended
  std::set<PilotId> intended_;          // and that is durable
  std::map<JobId, int64_t> leased_;
  std::map<std::string, uint32_t> bounds_;
  provision::Provisioner durable_;
  std::unique_ptr<provision::Provisioner> replayed_ = std::make_unique<provision::Provisioner>();
};

}  // namespace

std::unique_ptr<Checker> MakePoolsCheck() { return std::make_unique<PoolsCheck>(); }

}  // namespace spate::sim
