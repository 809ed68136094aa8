// Machines of a replay: one pool of processors, fast enough for the traces of years; or
// nodes, which place jobs as a hub's do. Given arrivals and ends, a machine returns the starts.
// Tickets count from 1, in the order of arrival.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "core/model/needs.h"
#include "doors/simulate/backfill/backfill.h"
#include "doors/simulate/backfill/gang_machine.h"
#include "doors/simulate/formats/swf.h"

namespace spate::cli {

// Needs of the tasks of a history's jobs, by RigidJob::request.
using RequestTable = std::map<JobId, std::vector<TaskClass>>;

class PoolMachine {
 public:
  explicit PoolMachine(const engine::place::BackfillRules& rules)
      : rules_(rules), backfill_(rules) {}

  void Arrive(const format::RigidJob& job, engine::place::Moment estimate);
  void End(engine::place::Ticket ticket, engine::place::Moment now) { backfill_.End(ticket, now); }
  const std::vector<engine::place::Start>& Pass(engine::place::Moment now) {
    return backfill_.Pass(now);
  }
  // True if a pass is of use after this job has arrived alone.
  bool WantsPassAfter(const format::RigidJob& job) const;
  std::optional<engine::place::Moment> NextDue() const { return backfill_.NextDue(); }
  size_t waiting() const { return backfill_.waiting(); }

 private:
  const engine::place::BackfillRules rules_;
  engine::place::Backfill backfill_;
};

struct NodesRules {
  engine::place::BackfillPolicy policy = engine::place::BackfillPolicy::kEasy;
  std::vector<uint32_t> cpus;  // of each node
  int64_t second = 1;          // has so many units of the jobs' times
  // Null: each job is a gang of single processors, placed freely.
  const RequestTable* requests = nullptr;
  bool own_jobs = false;  // each task of a history is a job of its own, as its estimate is
};

class NodesMachine {
 public:
  explicit NodesMachine(const NodesRules& rules);

  void Arrive(const format::RigidJob& job, engine::place::Moment estimate);
  void End(engine::place::Ticket ticket, engine::place::Moment now);
  const std::vector<engine::place::Start>& Pass(engine::place::Moment now);
  bool WantsPassAfter(const format::RigidJob& job) const;
  // Due starts come with an end.
  std::optional<engine::place::Moment> NextDue() const { return std::nullopt; }
  size_t waiting() const { return machine_.waiting(); }

 private:
  bool own_jobs() const { return rules_.requests == nullptr || rules_.own_jobs; }
  Duration TimeOf(engine::place::Moment units) const;
  TaskClass ClassOf(const format::RigidJob& job, engine::place::Moment estimate) const;

  const NodesRules rules_;
  engine::place::GangMachine machine_;
  std::vector<uint32_t> processors_;  // by ticket - 1
  int64_t free_ = 0;                  // of all; less than none where several share one
  std::set<JobId> known_;             // of a history
  std::vector<engine::place::Start> started_;
};

}  // namespace spate::cli
