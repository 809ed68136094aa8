// HubProcess: one life of a simulated hub: the real hub::Hub, hub::Jobs, hub::Nodes and hub::Pools
// over a SimStore and a SimBatch. Jobs come in by real sessions of clients (HubClient); only the
// entrance is left out.
//
// What people ask of it goes through here; answers are facts, and calls of HubEvents.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "hub/client_session.h"
#include "hub/hub.h"
#include "hub/jobs.h"
#include "hub/nodes.h"
#include "hub/pools.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/hub_client.h"
#include "sim/options.h"
#include "sim/process_loop.h"
#include "sim/sabotage.h"
#include "sim/sim_batch.h"
#include "sim/sim_store.h"
#include "sim/workload.h"

namespace spate::sim {

// What its users hear.
class HubEvents {
 public:
  virtual ~HubEvents() = default;
  virtual void OnAccepted(JobId job) = 0;
  // Or the connection broke: it is not known what became of it.
  virtual void OnRefused(JobId job) = 0;
  virtual void OnHeldByRule(JobId job) = 0;
  virtual void OnFinished(JobId job) = 0;
  virtual void OnNodeSick() = 0;
};

class HubProcess final : public hub::Watcher, public hub::ClientHost {
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
    SimBatch* batch = nullptr;  // null: there is none
  };
  explicit HubProcess(Parts parts);

  // Reads the journal and takes up what is there.
  Status Resume();
  // The process is gone; any part of what was on its way to the disk may have reached it.
  // `replayed` and `live` are digests of what must be the same state.
  struct Digests {
    uint64_t live = 0;
    uint64_t replayed = 0;
  };
  Digests Die(bool lose_nothing, Prng& prng);

  // ---- What people ask for
  void Submit(const SimJob& job, bool deadlines);
  // Adds tasks up to `total`, if the job takes any now.
  void Grow(const SimJob& job, uint32_t total);
  // Posts an event; `fact` becomes true, and known, when it is durable.
  void Ask(engine::Event event, std::optional<Acknowledged> fact = std::nullopt);
  // Somebody without any rights or manners speaks to the hub as another user does.
  void Pester();
  // Has the tasks that did not succeed done again; `done` hears whether there are any.
  void Retry(const SimJob& job, std::function<void(bool)> done);
  // `done` hears whether the pool is there, and durable.
  void AddPool(const SimPool& pool, std::function<void(bool)> done);
  bool HasPool(const SimPool& pool) const;
  // Those that are paused are resumed, as somebody who looks after them does; or all are paused.
  void ResumePools();
  void PausePools();
  // Null: it was not accepted.
  const hub::KnownJobs::Job* Find(JobId job) const { return jobs_->known().Find(job); }
  std::vector<JobId> AllJobs() const { return jobs_->known().AllJobs(); }
  // When what was asked before is durable; never when the process dies first.
  void WhenSettled(std::function<void()> fn);
  // The connections of clients break now and then.
  void BreakClients(bool breaks) { clients_break_ = breaks; }
  // After each turn of the loop: the mirror unloads what the hub has unloaded.
  void FollowHub();

  Epoch epoch() const { return parts_.epoch; }
  hub::Hub& hub() { return *hub_; }
  hub::Nodes& nodes() { return *nodes_; }
  hub::Pools& pools() { return *pools_; }
  ProcessLoop& loop() { return loop_; }
  Faults& faults() { return faults_; }
  SimStore& store() { return *store_; }
  bool store_failed() const { return store_failed_; }

  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnHubNotice(const engine::Notice& notice) override;
  void OnNews(const wire::ToHub&) override { faults_.Alive(); }
  void OnNodeState(NodeId node, wire::NodeState state) override;
  void OnStoreFailed(const Error& error) override;

  uint32_t nodes_joined() const override { return 0; }
  const hub::JobHabits& HabitsOf(RowKind) const override { return habits_; }
  hub::Turns& reader_turns() override { return turns_; }
  Result<std::unique_ptr<os::Child>> StartReader(const hub::Caller&, std::string,
                                                 os::Child::Events) override {
    return Fail(ErrorKind::kUnavailable, "a simulated hub has no readers");
  }
  void OnQuery(hub::ClientSession&, wire::Query) override {}

 private:
  wire::Submit Head(const SimJob& job) const;
  // As they are submitted.
  std::vector<TaskClass> RequestsOf(const SimJob& job) const;
  // The messages of tasks first .. first+count-1.
  std::deque<wire::Request> Upload(const SimJob& job, wire::Submit head, TaskIndex first,
                                   uint32_t count);
  using Answered = std::function<void(const Result<wire::Accepted>&)>;
  // What Pester sends: nothing of it may be accepted.
  std::deque<wire::Request> Mischief();
  void Send(const SimJob& job, std::deque<wire::Request> requests, Answered answered);
  std::vector<TaskRange> NotSucceeded(JobId job) const;
  uint64_t DigestOf(bool as_hub) const;
  void MakePools();
  // Each minute, as a hub's pruner does.
  void ForgetNodes();
  void ChangePools(wire::ChangePools::Change change, const char* state);

  Parts parts_;
  ProcessLoop loop_;
  Faults faults_;
  std::unique_ptr<SimStore> store_;
  std::unique_ptr<hub::Hub> hub_;
  engine::Engine mirror_;  // has the records alone
  SimAside aside_;
  Prng prng_;
  std::unique_ptr<hub::Jobs> jobs_;
  std::unique_ptr<hub::Nodes> nodes_;
  std::unique_ptr<SimCommands> commands_;
  std::unique_ptr<hub::Pools> pools_;  // null: there is no batch system
  provision::Provisioner of_pools_;    // has the records alone
  bool images_differ_ = false;
  const hub::JobHabits habits_;
  hub::Turns turns_;
  uint64_t last_client_ = 0;
  struct Client {
    JobId job;
    std::unique_ptr<HubClient> client;
  };
  std::map<uint64_t, Client> clients_;
  bool clients_break_ = false;
  std::set<JobId> hopeless_;  // jobs that are submitted without their deadlines
  bool store_failed_ = false;
};

}  // namespace spate::sim
