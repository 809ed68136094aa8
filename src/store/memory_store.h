// MemoryStore: the fake store of tests and of the simulator. It commits late, in order, and loses
// what was not durable when it crashes.
//
// Faults that it offers: a commit takes any time up to delay_max; a crash between any two commits,
// between a commit and its completion (also_durable), and before the first; an error of any commit,
// after which nothing is written. Faults that it does not have: a torn batch, a lost durable batch,
// damage (SqliteStore's own tests have them).
//
// Records go through the codec and rows through their rounding, as in the real store.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "os/loop.h"
#include "store/attempt_entry.h"
#include "store/record_codec.h"
#include "store/store.h"

namespace spate::store {

// What survives a crash. One life of the owner after the other opens a MemoryStore on it.
struct MemoryDisk {
  std::vector<std::variant<EncodedRecord, engine::AttemptEnded>> records;
  std::map<std::pair<JobId, TaskIndex>, std::string> rows;
  std::map<AttemptRef, TaskOutputPtr> outputs;  // of attempts that wrote something
  uint64_t commits = 0;
};

struct MemoryStoreOptions {
  Duration delay_min;  // of a commit, from the end of the one before
  Duration delay_max;
  uint64_t seed = 1;
  bool is_hub = false;  // Replay leaves out finished jobs
};

class MemoryStore : public Store {
 public:
  // The loop outlives the store.
  MemoryStore(os::Loop& loop, std::shared_ptr<MemoryDisk> disk, MemoryStoreOptions options = {});
  ~MemoryStore() override;

  void Append(Batch batch, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return backlog_; }
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  Status ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

  // The owner dies: nothing is called any more. The first `also_durable` batches of those queued
  // had reached the disk, though nobody was told; less where a commit would have failed. Returns
  // how many had.
  size_t Crash(size_t also_durable = 0);
  // Batches queued and not yet durable.
  size_t queued() const { return queue_.size(); }
  // The commit after `commits` further ones fails with this error, and so do all later ones.
  void FailAfter(uint64_t commits, Error error);

 private:
  struct Queued {
    Batch batch;
    std::function<void(Status)> done;
    uint64_t bytes = 0;
  };
  void Arm();
  void CommitFirst();
  void Write(Batch& batch);
  Status Visit(const std::function<void(const engine::Record&)>& visit) const;

  os::Loop& loop_;
  std::shared_ptr<MemoryDisk> disk_;
  MemoryStoreOptions options_;
  Prng prng_;
  std::deque<Queued> queue_;
  uint64_t backlog_ = 0;
  os::TimerId timer_ = 0;
  uint64_t commits_until_failure_ = UINT64_MAX;
  Error failure_;
  bool appended_ = false;
  bool dead_ = false;
};

}  // namespace spate::store
