// SimStore: the real store (SqliteStore) over a SimDisk. Only its thread is left out: a LateWriter
// commits on the loop, late and in order, counts points at which the process may die, tells what
// became durable, and remembers what did not.
//
// Faults: dead before a bundle is queued, after it, when it is durable and nobody was told yet; a
// crash with any prefix of the queue durable, and in the middle of a commit (SimFiles); a disk that
// is full from any write or sync of a commit on.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/sabotage.h"
#include "sim/sim_files.h"
#include "store/sqlite/job_reader.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::sim {

// The disk outlives a process: its journal, and the output of its tasks, which is never damaged.
struct SimDisk {
  SimDisk(bool is_hub, uint64_t seed);
  // A connection that only reads; until reader.reset(), which comes before a crash.
  store::Database& db();
  // All records that are left of all jobs.
  Status Visit(const store::RecordVisit& visit);
  size_t PoolRows();
  // For sabotage. `noted`: the journal knows what its newest row is now.
  void LoseNewestRow(bool noted);

  const store::JournalPlace place;
  SimFiles files;
  std::map<AttemptRef, TaskOutputPtr> outputs;  // of attempts that wrote something
  std::vector<store::NodeRow> nodes;            // that the next life is to find
  uint64_t commits = 0;
  uint64_t cut_commits = 0;   // that a crash or a full disk has cut short,
  uint64_t kept_commits = 0;  // and of these those that were durable nevertheless
  std::optional<store::Database> reader;
};

struct StoreParts {
  os::Loop& loop;
  Faults& faults;
  FactSink sink;
  std::shared_ptr<SimDisk> disk;
  // Delay of a commit, from the end of the one before. What comes meanwhile goes with the next.
  Duration delay_min, delay_max;
  uint64_t seed = 1;
  Sabotage sabotage = Sabotage::kNone;
};

class LateWriter final : public store::ItemWriter<store::WriteItem> {
 public:
  explicit LateWriter(StoreParts parts);
  ~LateWriter() override;

  void Add(store::WriteItem item, uint64_t bytes, bool urgent, Done done) override;
  uint64_t backlog() const override { return backlog_; }
  std::optional<Instant> stuck_since() const override {
    return queue_.empty() ? std::nullopt : std::optional(moved_);
  }

  // The disk has a row of this node from now on.
  void Know(store::NodeRow row);
  size_t queued() const { return alive_; }
  // So many commits succeed.
  void FailAfter(uint64_t commits) { commits_left_ = commits; }
  // The process is gone. The first `also_durable` of what is queued reached the disk. `orderly`: it
  // closes its files before.
  void End(size_t also_durable, bool orderly);
  // Records that were given and are not durable, in order.
  std::vector<engine::Record> Pending() const;

 private:
  struct Queued {
    store::WriteItem item;
    std::vector<TaskOutputPtr> outputs;
    uint64_t bytes = 0;
    Done done;
  };
  void Arm();
  void CommitSome(size_t count);
  // The first so many of the queue, which they leave.
  std::vector<Queued> Commit(size_t count, Status& status);
  Status Write(const std::vector<store::WriteItem>& items);
  void TellCommitted(const Queued& queued);

  StoreParts parts_;
  Prng prng_;
  store::JournalWriter writer_;
  std::deque<Queued> queue_;
  size_t alive_ = 0;  // so many of them came before the process was dead
  std::vector<Queued> failed_;
  size_t unsure_ = 0;  // so many of these may be durable
  Status failure_;
  uint64_t commits_left_ = UINT64_MAX;
  uint64_t backlog_ = 0;
  Instant moved_;
  os::TimerId timer_ = 0;
};

// A reader of a journal that `sabotage` may make forgetful.
store::RecordVisit ReadAs(Sabotage sabotage, store::RecordVisit visit);

class SimStore final : public store::SqliteStore {
 public:
  explicit SimStore(const StoreParts& parts) : SimStore(parts, new LateWriter(parts)) {}
  // Reads where the last life ended.
  Status Begin();
  LateWriter& writer() { return writer_; }

  void Append(store::Bundle bundle, store::Done done) override;
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  // The number of the next job is what the world calls it.
  JobId NextJobId() override { return next_job_; }
  void SetNextJob(JobId job) { next_job_ = job; }
  Status ReplayPools(const std::function<void(const provision::Record&)>& visit) override;
  void AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                         store::Done done) override;
  void CutPools(std::vector<provision::Record> images, Instant keep_since,
                store::Done done) override;

 private:
  SimStore(const StoreParts& parts, LateWriter* writer);

  StoreParts parts_;
  JobId next_job_;
  LateWriter& writer_;
};

}  // namespace spate::sim
