// JournalWriter: the one connection that writes a journal, and the stream files beside it. One call
// of Commit is one transaction: outputs first, synced, then the rows that point to them.
//
// Thread: the store's, after Open or Adopt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "store/sqlite/database.h"
#include "store/sqlite/forget.h"
#include "store/sqlite/hub_rows.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/job_spans.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/output_files.h"
#include "store/sqlite/pool_log.h"
#include "store/sqlite/row_chunk.h"
#include "store/store.h"

namespace spate::store {

// A life of the hub has begun.
struct EpochBegun {
  Epoch epoch;
};
// A piece of a finished or never accepted job is to be removed; `done` becomes true when nothing is
// left of it.
struct ForgetPiece {
  JobId job;
  std::shared_ptr<bool> done;
  bool damaged = false;  // also when it has not finished
};
// Not a row: see OutputFiles::KnowEnd.
struct OutputEnd {
  JobId job;
  uint64_t end = 0;
};
// Nor this: see JobSpans::Know.
struct SpansKnown {
  std::shared_ptr<SpansOfJobs> spans;
};
using RowChange = std::variant<JobRow, JobProgress, NodeRow, NodesForgotten, CredentialRow,
                               EpochBegun, ForgetPiece, OutputEnd, SpansKnown, PoolsChanged,
                               PoolsCut, PoolsSetAside, PoolsCopied>;

// A bundle on its way; its rows stay readable for the loop's thread, which shares them.
struct WriteItem {
  std::vector<std::shared_ptr<const RowChunk>> rows;
  std::vector<engine::Record> records;
  std::vector<TaskOutputPtr> outputs;
  std::vector<KeptOutput> kept;  // instead of outputs: where they lie already
  std::vector<RowChange> changes;
  Instant now;
  std::vector<Instant> ends;  // of its JobFinished, in order, instead of now
};

// The number of the newest record that the journal has had.
Result<uint64_t> LastSeqOf(Database& db);

class JournalWriter {
 public:
  // `pages`: for tests, the database may not grow beyond (as on a full disk); 0: none.
  explicit JournalWriter(JournalPlace place,
                         std::shared_ptr<KeptSum> kept = std::make_shared<KeptSum>(),
                         uint64_t pages = 0);

  // A fresh journal. Until the first Commit nothing of it is durable.
  Status Create(Instant now);
  // An existing one, at its durable end.
  Status Open();
  bool is_open() const { return db_.has_value(); }
  // See SqliteOptions::waiting; called on the store's thread. Before Create or Open.
  void OnWait(std::function<void(int64_t ms)> waiting) { waiting_ = std::move(waiting); }

  // All items or nothing. After an error only Close and destruction make sense.
  Status Commit(std::span<const WriteItem> items);
  // Folds the log into the file and closes it, as the destructor does.
  void Close();

 private:
  Status PrepareAll();
  Status MakeDirsDurable();
  Status AddOutputs(std::span<const WriteItem> items);
  Status KeepOutputs(std::span<const WriteItem> items);
  Status Write(std::span<const WriteItem> items);
  void MakeReserve();
  bool GiveUpReserve();
  void RemoveGone();
  Status RemoveReplay(JobId job);
  Status WriteItems(std::span<const WriteItem> items);
  Status WriteRecords(const WriteItem& item);
  Status NoteSpan(const engine::Record& record, uint64_t seq);
  Status WriteRows(const RowChunk& chunk);
  Status WriteAttempt(AttemptEntry& entry, uint64_t seq);
  Status WriteRare(const AttemptEntry& entry, uint64_t seq);
  Status WriteLog(const engine::Record& record, uint64_t seq, Instant now);
  void MarkEnd(Instant now);
  Status WriteUse(const engine::Record& record);
  Status NoteInJob(const engine::Record& record, JobId job, uint64_t seq, Instant now);
  Status WriteChange(const RowChange& change);

  JournalPlace place_;
  uint64_t pages_;
  std::shared_ptr<KeptSum> sum_;
  OutputFiles outputs_;
  Forgetter forgetter_;
  std::function<void(int64_t)> waiting_;
  std::optional<Database> db_;
  Statement begin_, commit_, rollback_;
  Statement attempt_, rare_, log_, rows_, clear_rows_, last_seq_, use_;
  JobTable jobs_;
  JobSpans spans_;       // of a hub's jobs
  os::Fd mark_;          // JournalPlace::BeganPath
  uint64_t synced_ = 0;  // next_seq_ at its last sync
  Instant synced_at_;
  PoolLog pools_;
  ChunkEncoder encoder_;
  struct Kept {
    KeptOutput output;
    NotKept why = NotKept::kNone;
  };
  std::vector<Kept> kept_;  // of the outputs of the running Commit, in order
  size_t next_kept_ = 0;
  std::vector<JobId> finished_;   // in the running Commit
  std::vector<JobId> forgotten_;  // likewise: no row of them is left
  std::vector<JobId> gone_;       // nor output: the next Commit removes the last trace
  bool has_reserve_ = false;
  uint32_t commits_ = 0;
  int64_t base_us_ = 0;
  uint64_t next_seq_ = 1;
  bool dirs_durable_ = true;
};

}  // namespace spate::store
