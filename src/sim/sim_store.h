// SimStore: a MemoryStore (late, in order) that counts points at which the process may die, tells
// what became durable, and remembers what did not.
//
// Faults: dead before a bundle is queued, after it, when it is durable and nobody was told yet; a
// crash with any prefix of the queue durable; a failing commit (MemoryStore::FailAfter).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/sabotage.h"
#include "store/memory_store.h"

namespace spate::sim {

class SimStore final : public store::MemoryStore {
 public:
  struct Parts {
    os::Loop& loop;
    Faults& faults;
    FactSink sink;
    std::shared_ptr<store::MemoryDisk> disk;
    store::MemoryStoreOptions options;
    Sabotage sabotage = Sabotage::kNone;
  };
  explicit SimStore(Parts parts);

  void Append(store::Bundle bundle, store::Done done) override;
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  JobId NextJobId() override { return next_job_; }

  Status ReplayPools(const std::function<void(const provision::Record&)>& visit) override;
  void AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                         store::Done done) override;
  void CutPools(std::vector<provision::Record> images, Instant keep_since,
                store::Done done) override;
  void ForgetJob(JobId job, store::Done done) override;

  // The number of the next job, which is what the world calls it.
  void SetNextJob(JobId job) { next_job_ = job; }
  void FailAfter(uint64_t commits) {
    MemoryStore::FailAfter(commits, {ErrorKind::kExhausted, "no space left on device"});
  }
  // The process is gone. The first `also_durable` bundles of those queued reached the disk.
  void Crash(size_t also_durable);
  // Records that were given and are not durable, in order.
  std::vector<engine::Record> Pending() const;

 protected:
  void Change(RowChange change, store::Done done) override;

 private:
  struct Given {
    std::vector<engine::Record> records;
    std::vector<TaskOutputPtr> outputs;
    std::vector<provision::Record> of_pools = {};
    std::optional<JobId> forgets = {};
    std::optional<std::vector<provision::Record>> images = {};
  };
  void TellCommitted();
  // The world hears of the commit before its owner does.
  store::Done Telling(store::Done done);

  Parts parts_;
  JobId next_job_;
  std::deque<Given> pending_;
  // Of the change that comes next.
  std::vector<provision::Record> of_pools_;
  std::optional<JobId> forgets_;
  std::optional<std::vector<provision::Record>> images_;
};

}  // namespace spate::sim
