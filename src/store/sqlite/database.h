// Database and Statement: SQLite's C API with owners, Result and our kinds of error.
//
// Thread: a Database and its statements are used by one thread at a time (they are opened without
// SQLite's own mutex).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace spate::store {

class Database;

enum class DbMode : uint8_t {
  kRead,    // writes nothing to the database, also when it is the last to close
  kFrozen,  // kRead of a file that nobody writes meanwhile: no locks, no files beside it
  kWrite,   // the file must be there
  kCreate,  // the file must not be there, or be empty
};

// A prepared statement. Parameters and columns count from 0. Bound bytes must live until Reset.
class Statement {
 public:
  Statement() = default;

  void Bind(int at, int64_t value);
  void BindText(int at, std::string_view value);
  void BindBlob(int at, std::string_view value);
  void BindNull(int at);

  // True: there is a row. False: done.
  Result<bool> Step();
  // Ready to be bound and stepped again. Bindings stay.
  void Reset();
  // Step and Reset, for a statement without rows.
  Status RunOnce();

  int64_t Int(int column) const;  // 0 for NULL
  // Microseconds, counted from base_us, as nanoseconds. Damaged values wrap around.
  int64_t Nanos(int column, int64_t base_us = 0) const {
    return static_cast<int64_t>(
        (static_cast<uint64_t>(Int(column)) + static_cast<uint64_t>(base_us)) * 1000);
  }
  bool IsNull(int column) const;
  std::string_view Bytes(int column) const;  // of text or blob; until the next Step or Reset
  std::string Text(int column) const { return std::string(Bytes(column)); }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Error ErrorOf(int code) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

// A statement of a database's own, which is reset when this goes.
class Borrowed {
 public:
  explicit Borrowed(Statement& statement) : statement_(&statement) {}
  Borrowed(Borrowed&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Borrowed& operator=(Borrowed&&) = delete;
  ~Borrowed() {
    if (statement_ != nullptr) statement_->Reset();
  }

  Statement* operator->() const { return statement_; }
  Statement& operator*() const { return *statement_; }

 private:
  Statement* statement_;
};

class Database {
 public:
  // Errors name the file. Statements may use spate_sum(VALUE...), a checksum over values and their
  // types: a signed number of 32 bits.
  static Result<Database> Open(const std::string& path, DbMode mode);

  // Instead of giving up after 10 s, this connection waits for as long as another program holds a
  // lock. `waiting` is called about each second with how long it has been, on the caller's thread.
  void WaitForLocks(std::function<void(int64_t ms)> waiting);

  Status Run(const char* sql);  // one or more statements without results
  Result<Statement> Prepare(std::string_view sql);
  Status PrepareAll(std::span<const std::pair<Statement*, std::string_view>> all);
  // The statement of this text, which is prepared once and stays with the database: for what is
  // asked again and again. One borrower at a time; the database outlives it. The texts are few.
  Result<Borrowed> Borrow(std::string_view sql);
  Result<int64_t> QueryInt(std::string_view sql);  // first column of the first row; 0 without one
  int64_t Changes() const;                         // rows that the newest statement changed
  // Syncs the database file itself (in WAL mode a commit syncs the log only). Not by a descriptor
  // of our own: closing one would drop SQLite's locks on the file.
  Status SyncFile();
  // Makes `to`, which is empty, the same, as this one is at one moment; others may write to it.
  Status CopyTo(Database& to) const;
  // The last error of this connection, as ours. `code` is SQLite's result code.
  Error ErrorOf(int code) const;
  const std::string& path() const { return path_; }
  // For a copy: errors name this file instead. Before Prepare.
  void CallIt(std::string path) { path_ = std::move(path); }

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Database(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

  std::unique_ptr<std::function<void(int64_t)>> waiting_;  // outlives db_
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
  std::map<std::string, Statement, std::less<>> kept_;  // by their texts; go before db_
};

}  // namespace spate::store
