// JournalWriter: the one connection that writes job.db, and the stream file beside it. One call of
// Commit is one transaction: outputs first, synced, then the rows that point to them.
//
// Thread: the store's, after Open or Adopt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/sqlite/database.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/output_file.h"
#include "store/sqlite/row_chunk.h"
#include "store/store.h"

namespace spate::store {

// A batch on its way; its rows stay readable for the loop's thread, which shares them.
struct WriteItem {
  std::vector<std::shared_ptr<const RowChunk>> rows;
  std::vector<engine::Record> records;
  std::vector<TaskOutputPtr> outputs;
  std::vector<JobChange> changes;
};

struct JournalLimits {
  uint64_t keep_output = 1ull << 30;
  uint64_t pages = 0;  // for tests: job.db may not grow beyond (as on a full disk); 0: none
};

class JournalWriter {
 public:
  JournalWriter(std::string job_path, const JournalLimits& limits);

  // A fresh journal. Until the first Commit nothing of it is durable.
  Status Create(Instant now);
  // An existing one, at its durable end.
  Status Open();
  bool is_open() const { return db_.has_value(); }

  // All items or nothing. After an error only Close and destruction make sense.
  Status Commit(std::span<WriteItem* const> items);
  // Folds the log into the file and closes it.
  void Close();

 private:
  Status PrepareAll();
  Status MakeDirsDurable();
  Status WriteItems(std::span<WriteItem* const> items);
  Status WriteRecords(const WriteItem& item);
  Status WriteRows(const RowChunk& chunk);
  Status WriteAttempt(AttemptEntry& entry, uint64_t seq);
  Status WriteRare(const AttemptEntry& entry, uint64_t seq);
  Status WriteLog(const engine::Record& record, uint64_t seq);

  std::string path_;
  JournalLimits limits_;
  OutputFile output_;
  std::optional<Database> db_;
  Statement begin_, commit_, rollback_;
  Statement attempt_, rare_, log_, rows_, clear_rows_;
  ChunkEncoder encoder_;
  std::vector<KeptOutput> kept_;  // of the attempts of the running Commit, in order
  size_t next_kept_ = 0;
  int64_t base_us_ = 0;
  uint64_t next_seq_ = 1;
  uint64_t rows_end_ = 0;
  bool dirs_durable_ = true;
};

}  // namespace spate::store
