// The table of provision's records (PoolRows in store/hub_store.h): its writer, which belongs to
// the writing connection, and its readers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/provision/record.h"
#include "store/hub_rows.h"
#include "store/pool_codec.h"
#include "store/sqlite/database.h"

namespace spate::store {

struct PoolsChanged {
  struct Entry {
    provision::PoolId pool;
    provision::Record record;
  };
  std::vector<Entry> entries;
  Instant now;
};
struct PoolsCut {
  std::vector<provision::Record> images;
  Instant keep_since;
};
// The table is damaged: a new one takes its place, and the old one stays beside it.
struct PoolsSetAside {};

// An entry as it was read: with the number that it had, in an image or not.
struct PoolLogEntry {
  uint64_t seq = 0;
  provision::PoolId pool;
  int64_t at_us = 0;
  uint64_t image = 0;  // the number of its first row; 0: it is in none
  provision::Record record;
};
// The sound part of another journal, and the numbers that it has used.
struct PoolsCopied {
  std::vector<PoolLogEntry> entries;
  provision::NumbersKept used;
};

class PoolLog {
 public:
  Status Prepare(Database& db);
  // Within the caller's transaction.
  Status Write(const PoolsChanged& change);
  Status Write(const PoolsCut& cut);
  Status Write(const PoolsSetAside&);
  Status Write(const PoolsCopied& copied);

 private:
  Status WriteEntry(const PoolLogEntry& entry);
  Status WriteImage(const std::vector<provision::Record>& images);
  Status RemoveUnread(const std::vector<provision::Record>& images, int64_t first);
  Status WriteNumbers();

  Database* db_ = nullptr;
  Statement insert_, number_;
  uint64_t last_seq_ = 0;
  provision::NumbersKept used_;
};

// The newest image and all since; each follows from those before it. kCorrupt names the row.
Result<std::vector<PoolLogEntry>> ReadPools(Database& db);
// Used numbers by meta, whatever has become of the table.
Result<provision::NumbersKept> PoolNumbers(Database& db);
Result<std::vector<PoolLogRow>> ReadPoolLogOf(Database& db, provision::PoolId pool, size_t most);
// All rows, in order, with what is wrong with those that are damaged. Ends early where SQLite
// cannot read on.
void VisitPoolLog(Database& db, const std::function<void(Result<PoolLogEntry>)>& visit);
// Marks the numbers in it as used.
void NoteNumbers(const provision::Record& record, provision::NumbersKept& used);
// How many tables were set aside.
Result<int64_t> PoolLogsAside(Database& db);

}  // namespace spate::store
