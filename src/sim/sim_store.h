// SimStore: a MemoryStore (late, in order) that counts points at which the process may die, tells
// what became durable, and remembers what did not.
//
// Faults: dead before a batch is queued, after it, when it is durable and nobody was told yet; a
// crash with any prefix of the queue durable; a failing commit (MemoryStore::FailAfter).
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/sabotage.h"
#include "store/memory_store.h"

namespace spate::sim {

class SimStore final : public store::Store {
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

  void Append(store::Batch batch, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return inner_.Backlog(); }
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  Status ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) override {
    return inner_.ReplayJob(job, visit);
  }
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

  void FailAfter(uint64_t commits) {
    inner_.FailAfter(commits, {ErrorKind::kExhausted, "no space left on device"});
  }
  // The process is gone. The first `also_durable` batches of those queued reached the disk.
  void Crash(size_t also_durable);
  size_t queued() const { return inner_.queued(); }
  // What was given and is not durable, in order.
  std::vector<engine::Record> Pending() const;

 private:
  struct Given {
    std::vector<engine::Record> records;
    std::vector<TaskOutputPtr> outputs;
  };
  void TellCommitted();

  Parts parts_;
  store::MemoryStore inner_;
  std::deque<Given> pending_;
};

}  // namespace spate::sim
