// A copy is whole because of the order in which things are written. A commit (journal_mode
// TRUNCATE) copies the pages that it will change to the rollback journal, syncs that, changes them
// and with them the change counter of the file, and empties the rollback journal. So if the counter
// and the head of the rollback journal are the same before and after the copying, then either no
// commit was under way, or the same one was all the time, and the copy of its journal undoes what
// the copy of the file has of it. (https://www.sqlite.org/fileformat2.html, 1.3.7 and 3)
#include "store/sqlite/shared_copy.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "os/file.h"
#include "os/temp_dir.h"
#include "store/sqlite/folder_lock.h"

namespace spate::store {
namespace {

constexpr size_t kFileHead = 100;
constexpr size_t kRollbackHead = 28;
constexpr int kTries = 40;
constexpr Duration kPause = Duration::Millis(50);

std::string RollbackOf(const std::string& path) { return path + "-journal"; }

uint64_t SizeOf(const std::string& path) {
  auto info = os::Stat(path);
  return info ? info->size : 0;
}

Result<std::string> HeadOf(const std::string& path, size_t bytes) {
  auto fd = TRY(os::OpenRead(path));
  return os::ReadAt(fd.get(), 0, bytes, path);
}

Status Copy(const std::string& path, const std::string& to) {
  constexpr size_t kPiece = 1 << 20;
  auto from = TRY(os::OpenRead(path));
  auto fd = TRY(os::OpenWrite(to, os::OpenHow::kTruncate, 0600));
  for (uint64_t at = 0;; at += kPiece) {
    auto piece = TRY(os::ReadAt(from.get(), at, kPiece, path));
    TRY(os::WriteAll(fd.get(), piece, to));
    if (piece.size() < kPiece) return {};
  }
}

// Opens both files each time, so that a network file system asks its server.
Result<std::string> Mark(const std::string& path) {
  std::string mark = TRY(HeadOf(path, kFileHead));
  mark += fmt::format(" {} {} ", SizeOf(path), SizeOf(RollbackOf(path)));
  if (auto head = HeadOf(RollbackOf(path), kRollbackHead)) mark += *head;
  return mark;
}

// `to` and, if it has anything in it, its rollback journal.
Status CopyBoth(const std::string& path, const std::string& to) {
  TRY(Copy(path, to));
  TRY(os::RemoveFile(RollbackOf(to)));
  return HasRollback(path) ? Copy(RollbackOf(path), RollbackOf(to)) : Status();
}

}  // namespace

bool HasRollback(const std::string& path) { return SizeOf(RollbackOf(path)) > 0; }

bool NeedsCopy(const std::string& path) {
  const std::string folder = os::DirName(path);
  const auto elsewhere = OwnerElsewhere(folder);
  if (!elsewhere && !HasRollback(path)) return false;
  const std::string lock = os::JoinPath(folder, "lock");
  if (!os::FileLock::IsHeld(lock).value_or(false)) return true;
  if (!elsewhere) return false;
  // If its lock is seen, so are SQLite's. Somebody of this machine may have it as well, who waits
  // for that one's end.
  return JobOwner::FromLine(os::FileLock::LastOwner(lock)).boot != elsewhere->boot;
}

Result<Database> OpenCopy(const std::string& path) {
  os::TempDir folder;
  const std::string copy = folder.Path("copy.db");
  for (int left = kTries;; (void)os::WaitReadable(-1, kPause)) {
    auto before = TRY(Mark(path));
    Status copied = CopyBoth(path, copy);
    auto after = TRY(Mark(path));
    if (copied && before == after) break;
    if (--left > 0) continue;
    if (!copied) return std::unexpected(std::move(copied.error()));
    const auto owner = OwnerElsewhere(os::DirName(path));
    return Fail(ErrorKind::kBusy,
                fmt::format("'{}' is being written by {}, faster than it can be copied; look at it "
                            "on that machine",
                            EscapeForScreen(path), owner ? owner->Text() : "another process"));
  }
  {
    auto db = Database::Open(copy, DbMode::kWrite);
    // The first look rolls back.
    auto looked =
        db ? db->QueryInt("SELECT COUNT(*) FROM sqlite_schema") : std::unexpected(db.error());
    if (!looked) return Within(EscapeForScreen(path), std::move(looked.error()));
  }
  auto db = TRY(Database::Open(copy, DbMode::kFrozen));
  db.CallIt(path);
  return db;
}

}  // namespace spate::store
