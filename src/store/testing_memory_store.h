// MemoryStore: the fake store of tests. It commits late, in order, and loses
// what was not durable when it crashes.
//
// Faults that it offers: a commit takes any time up to delay_max; a crash between any two commits,
// between a commit and its completion (also_durable), and before the first; an error of any commit,
// after which nothing is written. Faults that it does not have: a torn bundle, a lost durable one,
// damage (SqliteStore's own tests have them).
//
// Records go through the codec and rows through their rounding, as in the real store. Of a hub it
// keeps rows of jobs, nodes, credentials and pools as well; a job is forgotten in one piece.
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
#include "store/hub_store.h"
#include "store/pool_codec.h"
#include "store/queued_submissions.h"
#include "store/record_codec.h"

namespace spate::store {

// State that survives a crash. One life of the owner after the other opens a MemoryStore on it.
struct MemoryDisk {
  using Stored = std::variant<EncodedRecord, engine::AttemptEnded>;
  std::vector<Stored> records;
  std::map<std::pair<JobId, TaskIndex>, std::string> rows;
  std::map<AttemptRef, TaskOutputPtr> outputs;  // of attempts that wrote something
  uint64_t SizeOfOutput() const;
  std::map<JobId, JobRow> jobs;
  std::map<NodeId, NodeRow> nodes;
  std::map<uint64_t, CredentialRow> credentials;
  struct PoolEntry {
    provision::PoolId pool;
    Instant at;
    bool in_image = false;
    EncodedRecord record;
  };
  std::vector<PoolEntry> pool_log;  // at most one image
  uint32_t next_job = 1;
  Epoch epoch;
  uint64_t commits = 0;

  // All that is kept of a job.
  void Forget(JobId job);
  static Result<engine::Record> Decode(const Stored& stored);
  Status Visit(const std::function<void(const engine::Record&)>& visit) const;
  // Those of one job. kNotFound: there are none.
  Status VisitJob(JobId job, const std::function<void(const engine::Record&)>& visit) const;
};

struct MemoryStoreOptions {
  // Delay of a commit, from the end of the one before. What comes meanwhile goes with the next.
  Duration delay_min;
  Duration delay_max;
  uint64_t seed = 1;
  bool is_hub = false;  // Replay leaves out finished jobs
};

class MemoryStore : public HubStore {
 public:
  // The loop outlives the store.
  MemoryStore(os::Loop& loop, std::shared_ptr<MemoryDisk> disk, MemoryStoreOptions options = {});
  ~MemoryStore() override;

  void Append(Bundle bundle, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return backlog_; }
  std::optional<Instant> StuckSince() const override {
    return queue_.empty() ? std::nullopt : std::optional(moved_);
  }
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  Status ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

  JobId NextJobId() override { return JobId(disk_->next_job++); }
  void PutJob(JobRow row, Done done) override;
  void PutProgress(JobProgress row, Done done) override;
  void ForgetJob(JobId job, Done done) override;
  void SetOutputEnd(JobId, uint64_t) override {}
  Result<JobRow> ReadJob(JobId job) override;
  Result<std::vector<JobRow>> ReadJobs(WhichJobs which) override;
  Result<std::vector<JobId>> JobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::optional<JobId>> NewestOf(std::string_view user) override;
  Result<std::vector<JobRow>> ReadJobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::vector<JobId>> EndedBefore(Instant when, size_t most, std::string_view user) override;
  Result<std::optional<JobId>> FindSubmission(const std::string& submission) override;
  Result<std::vector<NodeRow>> ReadNodes() override;
  Result<NodeRow> ReadNode(const std::string& name) override;
  void PutNode(NodeRow row, Done done) override;
  void RemoveNodes(Instant before) override;
  Result<std::vector<CredentialRow>> ReadCredentials() override;
  void PutCredential(CredentialRow row, Done done) override;
  Status ReplayPools(const std::function<void(const provision::Record&)>& visit) override;
  void AppendPoolRecords(std::vector<provision::Record> records, Instant now, Done done) override;
  void CutPools(std::vector<provision::Record> images, Instant keep_since, Done done) override;
  Result<std::vector<PoolLogRow>> ReadPoolLog(provision::PoolId pool, size_t most) override;
  const std::map<JobId, std::string>& damaged() const override { return damaged_; }
  std::shared_ptr<const JobReader> Reader() const override;
  uint64_t OutputOf(JobId job) const override;
  int64_t OutputChange() const override { return static_cast<int64_t>(disk_->SizeOfOutput()); }
  void KeepOutput(bool) override {}
  Epoch BeginEpoch(Done done) override;
  Epoch last_epoch() const override { return disk_->epoch; }

  // The owner dies: nothing is called any more. The first `also_durable` bundles of those queued
  // had reached the disk, though nobody was told; less where a commit would have failed. Returns
  // how many had.
  size_t Crash(size_t also_durable = 0);
  // Bundles queued and not yet durable.
  size_t queued() const { return queue_.size(); }
  // The commit after `commits` further ones fails with this error, and so do all later ones.
  void FailAfter(uint64_t commits, Error error);

 protected:
  using RowChange = std::function<void(MemoryDisk&)>;
  // All changes of rows go through here, as bundles go through Append.
  virtual void Change(RowChange change, Done done);

 private:
  struct Queued {
    Bundle bundle;
    RowChange change;  // null: the bundle
    Done done;
    uint64_t bytes = 0;
  };
  void Queue(Queued queued);
  void Arm();
  void CommitFirst();
  void Write(Queued& queued);
  void Note(const engine::Record& record, Instant now);

  os::Loop& loop_;
  std::shared_ptr<MemoryDisk> disk_;
  MemoryStoreOptions options_;
  Prng prng_;
  std::deque<Queued> queue_;
  uint64_t backlog_ = 0;
  Instant moved_;  // the first of the queue came, or the last one before it was written
  os::TimerId timer_ = 0;
  uint64_t commits_until_failure_ = UINT64_MAX;
  Error failure_;
  QueuedSubmissions queued_submissions_;
  PoolOfRecord pool_of_;
  const std::map<JobId, std::string> damaged_;  // none ever is
  size_t grouped_ = 0;  // of the queue: so many more go with the commit that was last waited for
  bool appended_ = false;
  bool dead_ = false;
};

}  // namespace spate::store
