// JournalReader: all records of a journal in order, checked as they come.
//
// It merges the tables attempt (with attempt_rare) and log by their common sequence, in one read
// transaction, so that a process which writes meanwhile does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "store/attempt_entry.h"
#include "store/sqlite/database.h"

namespace spate::store {

// One record: an attempt with the place of its output, or another record.
struct JournalEntry {
  uint64_t seq = 0;
  std::variant<AttemptEntry, engine::Record> what;
};

class JournalReader {
 public:
  // Begins the read transaction; it ends with the reader. The database outlives it.
  static Result<JournalReader> Begin(Database& db);
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
  explicit JournalReader(Database& db) : db_(&db) {}
  Status ReadAttempt(AttemptEntry& entry);
  Status ReadLog();
  Error Damage(std::string_view table, uint64_t seq, std::string_view how) const;

  Database* db_;
  bool in_transaction_ = false;
  int64_t base_us_ = 0;
  uint64_t expected_ = 1;
  Cursor attempts_, rare_, log_;
  JournalEntry entry_;
};

}  // namespace spate::store
