// The tables and views of a journal, their version, and the right way to open them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"

namespace spate::store {

// PRAGMA application_id: "SPAT". Tools like file(1) see it.
inline constexpr int64_t kApplicationId = 0x53504154;
// PRAGMA user_version. Every change of a table, and every new kRecordFormat, gives the next one.
inline constexpr int64_t kSchemaVersion = 1;
// Older ones from this on are read, and upgraded before they are written. 0: of before 0.1.0.
inline constexpr int64_t kOldestSchemaVersion = 0;

// How SQLite keeps a transaction whole.
enum class JournalMode : uint8_t {
  kLog,  // a log beside the file (WAL) and shared memory: readers and the writer do not wait for
         // each other, and a commit is one sync; for disks of one machine
  kRollback,  // what a commit changes is copied before; for network file systems, where processes
              // of other machines have no shared memory
};

// The mode of the process that writes it.
inline JournalMode ModeOf(const JournalPlace& place) {
  return place.owner_file == nullptr ? JournalMode::kLog : JournalMode::kRollback;
}

// Before anything else of who has taken the folder. A transaction that a killed owner has left
// half done in a rollback journal is undone, and the journal gets the mode of its place. Does
// nothing if there is none. A damaged or newer journal stays as it is; opening it reports that.
Status TakeOver(const JournalPlace& place);

// A fresh database, all tables empty, times counting from `base_us` (microseconds since 1970).
// Nothing is synced; the connection commits durably from now on.
Result<Database> CreateJournal(const std::string& path, int64_t base_us, JournalMode mode);

// For writing an existing one: checks it first by a connection that cannot write, so that a
// damaged or newer file stays as it is. kCorrupt says which of the two. One of an older version is
// upgraded; a copy of it as it was stays beside it, named after its version: "job.db-v0".
Result<Database> OpenJournal(const std::string& path);

// For reading, while another process may write. kNotFound also when its creation was cut short.
// `frozen`: nobody writes it until the database is closed, and it has no log beside it. What a
// process of another machine may be writing, or a killed one has left in the middle of a commit on
// a network file system, is read from a copy (shared_copy.h).
Result<Database> OpenJournalToRead(const std::string& path, bool frozen = false);

// The bytes of a job's texts: an expression over job_text.
inline constexpr std::string_view kBytesOfTexts =
    "LENGTH(CAST(argv AS BLOB)) + LENGTH(CAST(files AS BLOB)) + LENGTH(CAST(settings AS BLOB))";

// The condition that a row of this table has the checksum of its values. The table has one: meta,
// job, job_text, shared, forgotten, node, credential, pool_log.
std::string IsSound(std::string_view table);

// The columns of a table with checksums, the key first, and how a statement has them.
struct NewValue {
  std::string_view column;
  std::string_view value;  // an expression
};
// The expression of the checksum of a row of `job` or `job_text`, whose writer gives it, as it is
// with these values; the other columns are `rest` followed by their name, or `rest` alone if that
// is "NULL". Rows of the other tables get theirs by triggers.
std::string SumWith(std::string_view table, std::span<const NewValue> values,
                    std::string_view rest = "");

// The table pool_log becomes pool_log_damaged_N, and a new one takes its place. None of its pages
// is touched, as they may be damaged.
Status SetPoolLogAside(Database& db, int64_t n);

// A number of meta; 0 when it is not there. kCorrupt.
Result<int64_t> MetaNumber(Database& db, std::string_view key);
Result<int64_t> BaseMicros(Database& db);  // it is always there
// A store may have the journal open.
Status WriteMetaNumber(const std::string& path, std::string_view key, int64_t value);

}  // namespace spate::store
