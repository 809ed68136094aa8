// SqliteStore: the journal of one run in STATE/jobs/N/job.db, or of a hub in STATE/hub/hub.db.
//
// Both have the same tables. A run's has one job, and Replay gives all of it; a hub's has any
// number of jobs, and Replay gives those that have not finished.
//
// Threads: the functions are the loop's, as of every Store; a thread of the store owns the writing
// connection and commits. Destruction waits for what is queued to be written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/loop.h"
#include "store/group_writer.h"
#include "store/hub_store.h"
#include "store/queued_submissions.h"
#include "store/sqlite/database.h"
#include "store/sqlite/hub_dir.h"
#include "store/sqlite/hub_rows.h"
#include "store/sqlite/hub_scan.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_writer.h"
#include "store/sqlite/row_reader.h"

namespace spate::store {

struct SqliteOptions {
  Duration commit_gap = Duration::Millis(12);  // from commit to commit in the long run,
  uint64_t commit_bytes = 1 << 20;             // unless so much is queued
  uint64_t page_limit = 0;                     // for tests of a full disk; 0: none
  // Another program holds a lock, for so long by now: the journal waits, as long as it takes.
  // Called on the loop's thread, after two seconds and each ten.
  std::function<void(Duration)> waiting = nullptr;
};

class SqliteStore : public HubStore {
 public:
  // A fresh journal in a folder from JobDir::Create, or (when job.db is there) the one that it
  // holds, in a folder from JobDir::Open. The folder stays locked and the loop alive as long as
  // the store. kCorrupt: damaged, or of a newer version; the file is untouched.
  static Result<std::unique_ptr<SqliteStore>> Open(const JobDir& dir, os::Loop& loop,
                                                   SqliteOptions options = {});
  // The same of a hub. What the last life left half removed, or half submitted, is removed.
  static Result<std::unique_ptr<SqliteStore>> Open(const HubDir& dir, os::Loop& loop,
                                                   SqliteOptions options = {});
  ~SqliteStore() override;

  void Append(Bundle bundle, Done done) override;
  uint64_t Backlog() const override;
  std::optional<Instant> StuckSince() const override;
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  Status ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

  // Without a number the row of a run's only job.
  Result<JobRow> ReadJob(JobId job = {}) override;
  Result<std::vector<JobRow>> ReadJobs(WhichJobs which) override;
  Result<std::vector<JobId>> JobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::optional<JobId>> NewestOf(std::string_view user) override;
  Result<std::vector<JobRow>> ReadJobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::vector<JobId>> EndedBefore(Instant when, size_t most, std::string_view user) override;
  Result<std::optional<JobId>> FindSubmission(const std::string& submission) override;
  Result<std::vector<NodeRow>> ReadNodes() override;
  Result<NodeRow> ReadNode(const std::string& name) override;
  Result<std::vector<CredentialRow>> ReadCredentials() override;
  Status ReplayPools(const std::function<void(const provision::Record&)>& visit) override;
  void AppendPoolRecords(std::vector<provision::Record> records, Instant now, Done done) override;
  void CutPools(std::vector<provision::Record> images, Instant keep_since, Done done) override;
  Result<std::vector<PoolLogRow>> ReadPoolLog(provision::PoolId pool, size_t most) override;
  const std::map<JobId, std::string>& damaged() const override { return scan_.damaged; }
  std::shared_ptr<const JobReader> Reader() const override;
  uint64_t OutputOf(JobId job) const override;
  int64_t OutputChange() const override;
  void KeepOutput(bool keep) override;

  void PutJob(JobRow row, Done done = nullptr) override;
  void PutProgress(JobProgress row, Done done = nullptr) override {
    Change(std::move(row), std::move(done));
  }
  void PutNode(NodeRow row, Done done = nullptr) override {
    Change(std::move(row), std::move(done));
  }
  void RemoveNodes(Instant before) override { Change(NodesForgotten{before}, nullptr); }
  void PutCredential(CredentialRow row, Done done = nullptr) override {
    Change(std::move(row), std::move(done));
  }
  JobId NextJobId() override { return JobId(next_job_++); }
  void ForgetJob(JobId job, Done done = nullptr) override;
  void SetOutputEnd(JobId job, uint64_t end) override;

  Epoch BeginEpoch(Done done) override;
  Epoch last_epoch() const override { return last_epoch_; }

 protected:
  // Uses an existing journal. Protected for the simulator, whose `writer` has no thread.
  SqliteStore(JournalPlace place, std::shared_ptr<KeptSum> kept,
              std::unique_ptr<ItemWriter<WriteItem>> writer);
  // Reads where the last life ended. To be called before anything else.
  Status LookAtLast();

 private:
  static Result<std::unique_ptr<SqliteStore>> OpenAt(const JournalPlace& place, os::Loop& loop,
                                                     const SqliteOptions& options);
  Status LookAtHub(Database& db);
  void Change(RowChange change, Done done);
  void ChangePools(RowChange change, Done done);
  void Queue(Bundle bundle, std::vector<RowChange> changes, Done done);
  Result<std::string_view> Row(JobId job, TaskIndex index);
  void ForgetQueued(const std::vector<std::shared_ptr<const RowChunk>>& rows);
  template <typename Read>
  auto WithDatabase(Read read);

  JournalPlace place_;
  // Rows that are not durable yet, by the key of their first. Shared with the thread, which reads
  // them.
  std::map<uint64_t, std::shared_ptr<const RowChunk>> queued_rows_;
  RowReader row_reader_;
  std::shared_ptr<KeptSum> kept_;
  std::optional<Database> reader_;  // once something was asked
  // Else it shows an older journal as a new one (OpenJournalToRead), and is no use after the
  // upgrade.
  bool reads_new_ = true;
  uint32_t next_job_ = 1;
  Epoch last_epoch_;
  HubScan scan_;
  QueuedSubmissions queued_submissions_;
  PoolOfRecord pool_of_;
  bool pools_damaged_ = false;    // as ReplayPools found them; until they are set aside
  std::vector<JobId> leftovers_;  // of the last life, to be forgotten by the first change
  bool appended_ = false;
  std::unique_ptr<ItemWriter<WriteItem>> writer_;
};

}  // namespace spate::store
