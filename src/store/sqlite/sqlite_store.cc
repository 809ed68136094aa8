// The loop's side of the journal: it hands batches to the CommitThread, answers for rows (queued
// ones from memory, durable ones from a connection of its own), and replays.
//
// An existing file is read, and found sound, by connections that cannot write; the writing one is
// opened by the first commit. So a refused journal stays untouched, its log included.
#include "store/sqlite/sqlite_store.h"

#include <iterator>
#include <utility>

#include "base/check.h"
#include "store/batch.h"
#include "store/sqlite/commit_thread.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/schema.h"

namespace spate::store {

SqliteStore::SqliteStore(const JobDir& dir, std::unique_ptr<CommitThread> thread)
    : db_path_(dir.DbPath()), row_reader_(dir.DbPath()), thread_(std::move(thread)) {}

// The writer must be the last to close: only it can fold the log into job.db and remove it.
SqliteStore::~SqliteStore() { row_reader_.Close(); }

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const JobDir& dir, os::Loop& loop,
                                                       SqliteOptions options) {
  auto writer = std::make_unique<JournalWriter>(
      dir.path(), JournalLimits{.keep_output = options.keep_output, .pages = options.page_limit});
  if (os::Exists(dir.DbPath())) {
    auto sound = OpenJobDbToRead(dir.DbPath());
    if (!sound) return std::unexpected(std::move(sound.error()));
  } else if (auto made = writer->Create(loop.Now()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  auto thread = std::make_unique<CommitThread>(loop, std::move(writer), options);
  if (auto started = thread->Start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return std::unique_ptr<SqliteStore>(new SqliteStore(dir, std::move(thread)));
}

void SqliteStore::Append(Batch batch, std::function<void(Status)> done) {
  Queue(std::move(batch), {}, std::move(done));
}

void SqliteStore::PutJob(JobRow row, std::function<void(Status)> done) {
  Queue({}, {std::move(row)}, std::move(done));
}

void SqliteStore::PutProgress(JobProgress progress, std::function<void(Status)> done) {
  Queue({}, {std::move(progress)}, std::move(done));
}

uint64_t SqliteStore::Backlog() const { return thread_->backlog(); }

void SqliteStore::Queue(Batch batch, std::vector<JobChange> changes,
                        std::function<void(Status)> done) {
  appended_ = true;
  uint64_t bytes = BatchBytes(batch) + changes.size() * sizeof(JobRow);
  auto item = std::make_unique<WriteItem>();
  for (RowChunk& chunk : batch.rows) {
    if (chunk.rows.empty()) continue;
    row_reader_.DropFrom(chunk.first);
    auto shared = std::make_shared<const RowChunk>(std::move(chunk));
    queued_rows_[shared->first] = shared;
    item->rows.push_back(std::move(shared));
  }
  item->records = std::move(batch.records);
  item->outputs = std::move(batch.outputs);
  item->changes = std::move(changes);
  thread_->Add(std::move(item), bytes,
               [this, done = std::move(done)](Status status, const WriteItem& written) {
                 ForgetQueued(written.rows);
                 if (done) done(std::move(status));  // last: it may destroy this store
               });
}

void SqliteStore::ForgetQueued(const std::vector<std::shared_ptr<const RowChunk>>& rows) {
  for (const auto& chunk : rows) {
    auto at = queued_rows_.find(chunk->first);
    if (at != queued_rows_.end() && at->second == chunk) queued_rows_.erase(at);
  }
}

Status SqliteStore::Replay(const std::function<void(const engine::Record&)>& visit) {
  CHECK(!appended_);
  auto db = OpenJobDbToRead(db_path_);
  if (!db) return std::unexpected(std::move(db.error()));
  auto reader = JournalReader::Begin(*db);
  if (!reader) return std::unexpected(std::move(reader.error()));
  engine::Record attempt = engine::AttemptEnded();
  for (;;) {
    auto entry = reader->Next();
    if (!entry) return std::unexpected(std::move(entry.error()));
    if (*entry == nullptr) return {};
    if (const auto* ended = std::get_if<AttemptEntry>(&(*entry)->what)) {
      std::get<engine::AttemptEnded>(attempt) = ended->record;
      visit(attempt);
    } else {
      visit(std::get<engine::Record>((*entry)->what));
    }
  }
}

Result<std::string_view> SqliteStore::Row(TaskIndex index) {
  auto at = queued_rows_.upper_bound(index);
  if (at != queued_rows_.begin()) {
    const RowChunk& chunk = *std::prev(at)->second;
    if (index - chunk.first < chunk.rows.size()) return chunk.rows[index - chunk.first];
  }
  return row_reader_.Row(index);
}

Result<std::vector<std::string>> SqliteStore::Rows(JobId, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    auto row = Row(first + i);
    if (!row) return std::unexpected(std::move(row.error()));
    rows.emplace_back(*row);
  }
  return rows;
}

Result<JobRow> SqliteStore::ReadJob() {
  auto db = OpenJobDbToRead(db_path_);
  if (!db) return std::unexpected(std::move(db.error()));
  return ReadJobRow(*db);
}

}  // namespace spate::store
