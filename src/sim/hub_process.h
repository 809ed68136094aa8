// HubProcess: one life of a simulated hub: the real hub::Hub over a SimStore, and around it what
// the product's service does for jobs (apps/hub_service.cc): it forgets what has finished, takes it
// up again for a retry, and knows how finished jobs ended.
//
// What people ask of it goes through here; answers are facts, and calls of HubEvents.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "hub/hub.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/options.h"
#include "sim/process_loop.h"
#include "sim/sabotage.h"
#include "sim/sim_store.h"
#include "sim/workload.h"

namespace spate::sim {

// What its users hear.
class HubEvents {
 public:
  virtual ~HubEvents() = default;
  virtual void OnAccepted(JobId job) = 0;
  virtual void OnRefused(JobId job) = 0;
  virtual void OnHeldByRule(JobId job) = 0;
  virtual void OnFinished(JobId job) = 0;
  virtual void OnNodeSick() = 0;
};

class HubProcess final : public hub::Watcher {
 public:
  struct Parts {
    os::Loop& world;
    const Options& options;
    const Workload& workload;
    FactSink sink;
    std::shared_ptr<store::MemoryDisk> disk;
    HubEvents& events;
    Epoch epoch;
    Duration clock_ahead;
    uint64_t crash_at = 0;
    uint64_t seed = 1;
    Sabotage sabotage = Sabotage::kNone;
  };
  struct Job {
    bool finished = false;
    JobCounts counts;
  };
  explicit HubProcess(Parts parts);
  ~HubProcess() override { *alive_ = false; }

  // Reads the journal and takes up what is there.
  Status TakeUp();
  // The process is gone; any part of what was on its way to the disk may have reached it.
  // `replayed` and `live` are digests of what must be the same state.
  struct Digests {
    uint64_t live = 0;
    uint64_t replayed = 0;
  };
  Digests Die(bool lose_nothing, Prng& prng);

  // ---- What people ask for
  void Submit(const SimJob& job);
  // Adds tasks up to `total`. False: not now, or never.
  bool Grow(const SimJob& job, uint32_t total);
  // Posts an event; `fact` becomes true, and known, when it is durable.
  void Ask(engine::Event event, std::optional<Acknowledged> fact = std::nullopt);
  // Has the tasks that did not succeed done again. False: there is none.
  bool Retry(const SimJob& job);
  // Null: it was not accepted.
  const Job* Find(JobId job) const;
  const std::map<JobId, Job>& jobs() const { return jobs_; }

  Epoch epoch() const { return parts_.epoch; }
  hub::Hub& hub() { return *hub_; }
  ProcessLoop& loop() { return loop_; }
  Faults& faults() { return faults_; }
  SimStore& store() { return *store_; }
  bool store_failed() const { return store_failed_; }

  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnHubNotice(const engine::Notice& notice) override;
  void OnNews(const wire::ToHub&) override { faults_.Alive(); }
  void OnStoreFailed(const Error& error) override;

 private:
  void ForgetSoon(JobId job);
  void Revive(const SimJob& job);
  std::vector<engine::JobOutcome> OutcomesFor(const SimJob& job) const;
  void AppendRows(const SimJob& job, TaskIndex first, uint32_t count);
  void WhenSettled(std::function<void()> fn);
  uint64_t DigestOf(bool as_hub) const;

  Parts parts_;
  ProcessLoop loop_;
  Faults faults_;
  std::unique_ptr<SimStore> store_;
  std::unique_ptr<hub::Hub> hub_;
  engine::Engine mirror_;  // has the records alone
  std::map<JobId, Job> jobs_;
  std::set<JobId> growing_;
  bool store_failed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
