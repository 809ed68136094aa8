// JournalReader: the records of a journal in order, all of them or those of some jobs, checked as
// they come.
//
// It merges the tables attempt (with attempt_rare) and log by their common sequence, in one read
// transaction, so that a process which writes meanwhile does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "store/attempt_entry.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_row.h"

namespace spate::store {

struct JournalPart {
  enum class Of : uint8_t {
    kAll,   // without a gap, else it is damaged
    kFrom,  // of a hub: all from `first` on, with gaps of forgotten jobs only, and all of no job
    kJob,   // of `job`
    kSome,  // of all jobs; gaps are of forgotten ones
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

  // After an error of Next: what is damaged, when single rows are. nullopt: a table itself is, and
  // to call Next again makes no sense.
  struct Damaged {
    std::optional<JobId> job;  // whose they are; nullopt: that cannot be told
    bool is_sure = false;      // a checksum says so, and not only the row itself,
    JobId says{};              // which says this one
    bool is_log = false;       // it is a row of `log`
    uint64_t first = 0;        // the numbers of the sequence
    uint64_t last = 0;
  };
  const std::optional<Damaged>& damage() const { return damage_; }

 private:
  // A statement over rows that ascend by column 0, one row ahead.
  struct Cursor {
    std::string_view table;
    std::string sql;  // without its ORDER BY
    Statement statement;
    std::optional<uint64_t> seq;
    uint64_t last = 0;        // the newest `seq`
    bool unreadable = false;  // that row is there, and SQLite cannot take it apart
  };
  Status Advance(Cursor& cursor);
  Status Skip(Cursor& cursor, Error error);
  JournalReader(Database& db, JournalPart::Of of)
      : db_(&db),
        is_whole_(of == JournalPart::Of::kAll || of == JournalPart::Of::kFrom),
        has_gaps_(of == JournalPart::Of::kFrom) {}
  Status Open(const JournalPart& part);
  Status OpenUse();
  Status CheckSequence(const char* table, uint64_t seq);
  Status CheckEnd();
  Status ReadAttempt(AttemptEntry& entry);
  Status ReadLog();
  Status ReadUse();
  Error Damage(std::string_view table, uint64_t seq, std::string_view how, Damaged what);
  Error Missing(uint64_t first, uint64_t last);
  void FindOwner(const AttemptEntry& entry, uint32_t checksum, Damaged& what) const;
  struct Renumbered {
    Cursor* cursor = nullptr;
    JobId job;
  };
  std::optional<Renumbered> FindRenumbered(uint64_t seq);

  Database* db_;
  bool is_whole_;  // a number that is missing is damage,
  bool has_gaps_;  // but not up to forgotten_
  bool in_transaction_ = false;
  std::optional<Damaged> damage_;
  uint64_t first_ = 1;
  uint64_t forgotten_ = 0;          // meta.forgotten_seq
  std::optional<std::string> use_;  // meta.use_counted; nullopt: none, or already read
  uint64_t use_after_ = 0;          // the number that it follows
  uint64_t last_ = 0;               // meta.last_seq
  int64_t base_us_ = 0;
  uint64_t expected_ = 1;
  Cursor attempts_{.table = "attempt"}, rare_{.table = "attempt_rare"}, log_{.table = "log"};
  JournalEntry entry_;
};

// All records of a job.
JournalPart PartOf(const JobRow& row);
// Parameters 0 to 2 of a statement with "seq BETWEEN ? AND ? AND job = ?".
void BindPart(Statement& s, const JournalPart& part);
}  // namespace spate::store
