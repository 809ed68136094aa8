// JournalReader: the records of a journal in order, all of them or those of some jobs, checked as
// they come.
//
// It merges the tables attempt (with attempt_rare) and log by their common sequence, in one read
// transaction, so that a process which writes meanwhile does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/ids.h"
#include "store/attempt_entry.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_row.h"

namespace spate::store {

// One record: an attempt with the place of its output, or another record.
struct JournalEntry {
  uint64_t seq = 0;
  std::variant<AttemptEntry, engine::Record> what;
};

struct JournalPart {
  enum class Of : uint8_t {
    kAll,         // without a gap, else it is damaged
    kUnfinished,  // of jobs that have not finished, and of no job
    kJob,         // of `job`
  } of = Of::kAll;
  JobId job;
  uint64_t first = 1;  // records of a job outside of these are left out
  uint64_t last = INT64_MAX;
};

class JournalReader {
 public:
  // Begins the read transaction; it ends with the reader. The database outlives it.
  static Result<JournalReader> Begin(Database& db, const JournalPart& part = {});
  ~JournalReader();
  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&&) = delete;

  // The next record; nullptr at the end. It lives until the next call.
  // kCorrupt names the row; calling on after it goes on behind the damage.
  Result<const JournalEntry*> Next();

 private:
  // A statement over rows that ascend by column 0, one row ahead.
  struct Cursor {
    Statement statement;
    std::optional<uint64_t> seq;
    Status Advance();
  };
  JournalReader(Database& db, bool is_whole) : db_(&db), is_whole_(is_whole) {}
  Status Open(const JournalPart& part);
  Status CheckSequence(const char* table, uint64_t seq);
  Status ReadAttempt(AttemptEntry& entry);
  Status ReadLog();
  Error Damage(std::string_view table, uint64_t seq, std::string_view how) const;

  Database* db_;
  bool is_whole_;
  bool in_transaction_ = false;
  int64_t base_us_ = 0;
  uint64_t expected_ = 1;
  Cursor attempts_, rare_, log_;
  JournalEntry entry_;
};

// All records of a job.
JournalPart PartOf(const JobRow& row);
// Parameters 0 to 2 of a statement with "seq BETWEEN ? AND ? AND job = ?".
void BindPart(Statement& s, const JournalPart& part);
// The part that a hub needs at its start. kCorrupt: numbers are missing in it.
Result<JournalPart> UnfinishedPart(Database& db);

}  // namespace spate::store
