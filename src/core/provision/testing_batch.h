// A world for the provisioner: a naive batch system that queues for hours, refuses, forgets,
// answers late or twice and kills early; nodes, tasks, and a shell that may be killed between any
// two records. Pure: all chance comes from its seed.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "core/provision/provisioner.h"

namespace spate::provision {

struct WorldOptions {
  uint64_t seed = 0;
  bool calm = false;  // no fault, for what must come to pass in a stated time
};

class World {
 public:
  explicit World(const WorldOptions& options);
  // One random thing, or some time.
  void Act();
  // Faults end, the batch system accepts; then all work must be done, and all pilots gone.
  void Finish();
  // Counts of the run so far, for the test of the test.
  uint64_t submits() const { return submits_; }
  uint64_t kills() const { return kills_; }
  uint64_t cuts() const { return cuts_; }
  uint64_t tasks_done() const { return tasks_done_; }

 private:
  struct Batch {
    PilotId pilot;
    PoolId pool;
    JobStatus status = JobStatus::kQueued;
    Instant starts;
    Instant ends = Instant::Never();         // of itself, once it runs
    Instant joins = Instant::Never();        // its node does, once it runs
    Instant known_until = Instant::Never();  // once ended
    Instant hidden_until = {0};
    NodeId node;            // connected
    bool was_here = false;  // its node was, and it has not ended
    bool late = false;      // it came when it had long been given up
    bool draining = false;
    Instant busy_until = {0};
    ClassKey task;
    bool busy = false;
  };
  struct Tasks {
    ClassDemand demand;
    uint32_t left = 0;  // not started
    uint32_t running = 0;
    bool held = false;
    bool told = false;
  };
  struct Late {
    Instant at;
    Event event;
  };

  void Start();
  void Give(std::vector<Event> events);
  void Take(Output& out, size_t records);
  void CutJournal();
  void Kill();
  void CheckRecord(const Record& record);
  void Check();
  void PassTime(Duration step);
  void RunBatch();
  void RunNode(Batch& job, std::vector<Event>& events);
  void EndJob(Batch& job, std::vector<Event>& events);
  void TellDemand(std::vector<Event>& events, bool all);
  void AddTasks();
  void AddPool();
  void Later(Event event);
  void Carry(const Submit& ask);
  void Carry(const Query& ask);
  void Carry(const Cancel& ask);
  void Carry(const LetGo& ask);
  void Carry(const TurnAway& ask);
  bool Startable(const Tasks& tasks, const PoolPolicy& policy) const;
  Batch* JobOf(PilotId pilot);
  bool Fault(unsigned percent) { return !options_.calm && !finishing_ && prng_.Chance(percent); }

  const WorldOptions options_;
  Prng prng_;
  Instant now_{1'700'000'000'000'000'000};
  std::unique_ptr<Provisioner> machine_;
  std::unique_ptr<Provisioner> shadow_;  // was given the records alone
  std::vector<Record> journal_;
  std::vector<Late> late_;
  std::map<PoolId, PoolPolicy> policies_;
  std::map<PoolId, Instant> last_submits_;
  std::map<std::string, Batch> batch_;
  std::set<PilotId> asked_;  // submits that were carried out
  std::map<ClassKey, Tasks> tasks_;
  Instant wake_at_ = Instant::Never();
  uint32_t next_id_ = 1;
  uint32_t next_node_ = 1;
  uint32_t next_class_ = 1;
  uint64_t submits_ = 0;
  uint64_t kills_ = 0;
  uint64_t cuts_ = 0;
  uint64_t tasks_done_ = 0;
  bool finishing_ = false;
  bool refuses_ = false;
  bool down_ = false;
};

}  // namespace spate::provision
