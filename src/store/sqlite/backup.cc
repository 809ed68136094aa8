#include "store/sqlite/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/regular_file.h"
#include "store/sqlite/database.h"
#include "store/sqlite/hub_dir.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr const char* kKept[] = {"key.pem", "admin.access", "node.access", "started"};
constexpr size_t kKeptMost = 64 << 10;

Status KeepFiles(Database& to, const std::string& hub_dir) {
  // In one file, not in a log beside it.
  auto made = to.Run(
      "PRAGMA journal_mode = DELETE;"
      "CREATE TABLE kept_file(name TEXT PRIMARY KEY, bytes BLOB NOT NULL)");
  if (!made) return made;
  auto insert = TRY(to.Prepare("INSERT INTO kept_file VALUES(?, ?)"));
  for (const char* name : kKept) {
    std::string path = os::JoinPath(hub_dir, name);
    if (!os::Exists(path)) continue;
    auto bytes = TRY(os::ReadFile(path, kKeptMost));
    insert.BindText(0, name);
    insert.BindBlob(1, bytes);
    TRY(insert.RunOnce());
  }
  return to.SyncFile();
}

Status WriteBackup(const std::string& hub_dir, const std::string& path) {
  // With the right mode before anything is in it.
  TRY(os::OpenWrite(path, os::OpenHow::kCreateNew, 0600));
  auto from = TRY(Database::Open(JournalPlace{hub_dir, true}.DbPath(), DbMode::kRead));
  auto to = TRY(Database::Open(path, DbMode::kCreate));
  TRY(from.CopyTo(to));
  return KeepFiles(to, hub_dir);
}

bool IsBackup(const std::string& path) {
  auto db = Database::Open(path, DbMode::kRead);
  return db && db->Prepare("SELECT name, bytes FROM kept_file").has_value();
}

struct KeptFile {
  std::string name, bytes;
};

Result<std::vector<KeptFile>> TakeKeptFiles(const std::string& path) {
  auto db = TRY(Database::Open(path, DbMode::kWrite));
  auto rows = db.Prepare("SELECT name, bytes FROM kept_file");
  if (!rows) {
    return Fail(ErrorKind::kCorrupt, "it is not a backup of a hub",
                Remedy("; to make one: {}", Advice("hub backup", "FILE")));
  }
  std::vector<KeptFile> files;
  for (;;) {
    auto row = TRY(rows->Step());
    if (!row) break;
    files.push_back({rows->Text(0), rows->Text(1)});
  }
  *rows = {};
  TRY(db.Run("DROP TABLE kept_file"));
  return files;
}

Status SkipNumbers(const std::string& path) {
  auto db = TRY(OpenJournal(path));
  return db.Run(
      "UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'job';"
      "UPDATE meta SET value = value + 1000 WHERE key IN ('epoch', 'last_pool', 'last_pilot')");
}

Status CheckSound(const std::string& dir) {
  auto check = TRY(CheckHub(dir));
  if (check.all.sound()) return {};
  return Fail(ErrorKind::kCorrupt,
              fmt::format("the backup is damaged: {}", check.all.problems.front()));
}

bool IsKept(const std::string& name) {
  return std::ranges::any_of(kKept, [&](const char* each) { return name == each; });
}

}  // namespace

Result<std::optional<Instant>> BackUpHub(const std::string& hub_dir, const std::string& file) {
  if (!os::Exists(JournalPlace{hub_dir, true}.DbPath())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no hub in '{}'", EscapeForScreen(hub_dir)));
  }
  std::optional<Instant> replaced;
  if (auto there = os::Stat(file)) {
    if (!IsBackup(file)) {
      return Fail(ErrorKind::kExists,
                  fmt::format("'{}' exists and is not a backup of a hub; choose another name",
                              EscapeForScreen(file)));
    }
    replaced = there->modified;
  }
  std::string part = fmt::format("{}.spate-{}", file, os::OwnPid());
  Status done = WriteBackup(hub_dir, part);
  if (done) done = os::Rename(part, file);
  if (done) done = os::FsyncDir(os::DirName(file));
  if (done) return replaced;
  (void)os::RemoveFile(part);
  return std::unexpected(std::move(done.error()));
}

Status RestoreHub(const std::string& file, const std::string& hub_dir) {
  // Its key and journal become the hub's, so nobody else may have made or replaced the file.
  const std::string real = TRY(os::RealPath(file));
  TRY(os::CheckWay(os::DirName(real), "spate hub restore FILE"));
  TRY(os::OpenOwnFile(real));
  auto dir = TRY(HubDir::Open(hub_dir));
  const std::string journal = dir.place().DbPath();
  if (os::Exists(journal)) {
    return Fail(ErrorKind::kExists,
                fmt::format("a journal already exists: '{}'; move its folder away first",
                            EscapeForScreen(journal)));
  }
  // A hub that is started before this has succeeded must not take the folder for a new one's.
  TRY(os::WriteFile(dir.place().BeganPath(), "", 0600));
  TRY(os::FsyncDir(hub_dir));
  TRY(RemoveReplays(hub_dir));
  // The spool is emptied at each start: what is cut short leaves nothing.
  const std::string made_in = dir.SpoolPath() + "/restore";
  const JournalPlace place{made_in, true};
  TRY(os::MakeDir(made_in, 0700));
  auto from = TRY(Database::Open(real, DbMode::kRead));
  {
    auto to = TRY(Database::Open(place.DbPath(), DbMode::kCreate));
    TRY(from.CopyTo(to));
  }
  auto kept = TakeKeptFiles(place.DbPath());
  if (!kept) return Within(EscapeForScreen(file), kept.error());
  TRY(SkipNumbers(place.DbPath()));
  TRY(CheckSound(made_in));
  for (const KeptFile& each : *kept) {
    if (!IsKept(each.name)) continue;
    auto written = os::WriteFileAtomically(os::JoinPath(hub_dir, each.name), each.bytes, 0600);
    if (!written) return written;
  }
  TRY(os::Rename(place.DbPath(), journal));
  return os::FsyncDir(hub_dir);
}

}  // namespace spate::store
