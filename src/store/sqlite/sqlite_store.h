// SqliteStore: the journal of one job in STATE/jobs/N/job.db.
//
// Threads: the functions are the loop's, as of every Store; a thread of the store owns the writing
// connection and commits. Destruction waits for what is queued to be written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "os/loop.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/row_reader.h"
#include "store/store.h"

namespace spate::store {

struct SqliteOptions {
  uint64_t keep_output = 1ull << 30;          // bytes of output kept for the job
  Duration commit_gap = Duration::Millis(5);  // from commit to commit in the long run,
  uint64_t commit_bytes = 1 << 20;            // unless so much is queued
  uint64_t page_limit = 0;                    // for tests of a full disk; 0: none
};

class CommitThread;

class SqliteStore final : public Store {
 public:
  // A fresh journal in a folder from JobDir::Create, or (when job.db is there) the one that it
  // holds, in a folder from JobDir::Open. The folder stays locked and the loop alive as long as
  // the store. kCorrupt: damaged, or of a newer version; the file is untouched.
  static Result<std::unique_ptr<SqliteStore>> Open(const JobDir& dir, os::Loop& loop,
                                                   SqliteOptions options = {});
  ~SqliteStore() override;

  void Append(Batch batch, std::function<void(Status)> done) override;
  uint64_t Backlog() const override;
  Status Replay(const std::function<void(const engine::Record&)>& visit) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

  // The job's row, as it was when the store was opened. kNotFound: none was written.
  Result<JobRow> ReadJob();
  // Change the job's row, in the order of these calls and Append, and with their guarantee.
  // `done` as in Append; may be null.
  void PutJob(JobRow row, std::function<void(Status)> done = nullptr);
  void PutProgress(JobProgress progress, std::function<void(Status)> done = nullptr);

 private:
  SqliteStore(const JobDir& dir, std::unique_ptr<CommitThread> thread);
  void Queue(Batch batch, std::vector<JobChange> changes, std::function<void(Status)> done);
  Result<std::string_view> Row(TaskIndex index);
  void ForgetQueued(const std::vector<std::shared_ptr<const RowChunk>>& rows);

  std::string db_path_;
  // Rows that are not durable yet, by their first task. Shared with the thread, which reads them.
  std::map<TaskIndex, std::shared_ptr<const RowChunk>> queued_rows_;
  RowReader row_reader_;
  bool appended_ = false;
  std::unique_ptr<CommitThread> thread_;
};

}  // namespace spate::store
