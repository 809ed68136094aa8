#include "store/sqlite/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"
#include "os/file.h"
#include "os/process.h"
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
  auto insert = to.Prepare("INSERT INTO kept_file VALUES(?, ?)");
  if (!insert) return std::unexpected(insert.error());
  for (const char* name : kKept) {
    std::string path = os::JoinPath(hub_dir, name);
    if (!os::Exists(path)) continue;
    auto bytes = os::ReadFile(path, kKeptMost);
    if (!bytes) return std::unexpected(bytes.error());
    insert->BindText(0, name);
    insert->BindBlob(1, *bytes);
    if (auto run = insert->RunOnce(); !run) return run;
  }
  return to.SyncFile();
}

Status WriteBackup(const std::string& hub_dir, const std::string& path) {
  // With the right mode before anything is in it.
  if (auto fd = os::OpenWrite(path, os::OpenHow::kCreateNew, 0600); !fd) {
    return std::unexpected(fd.error());
  }
  auto from = Database::Open(JournalPlace{hub_dir, true}.DbPath(), DbMode::kRead);
  if (!from) return std::unexpected(from.error());
  auto to = Database::Open(path, DbMode::kCreate);
  if (!to) return std::unexpected(to.error());
  if (auto copied = from->CopyTo(*to); !copied) return copied;
  return KeepFiles(*to, hub_dir);
}

struct KeptFile {
  std::string name, bytes;
};

Result<std::vector<KeptFile>> TakeKeptFiles(const std::string& path) {
  auto db = Database::Open(path, DbMode::kWrite);
  if (!db) return std::unexpected(db.error());
  auto rows = db->Prepare("SELECT name, bytes FROM kept_file");
  if (!rows) {
    return Fail(ErrorKind::kCorrupt, "it is no backup of a hub: spate hub backup FILE makes one");
  }
  std::vector<KeptFile> files;
  for (;;) {
    auto row = rows->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    files.push_back({rows->Text(0), rows->Text(1)});
  }
  *rows = {};
  if (auto run = db->Run("DROP TABLE kept_file; PRAGMA journal_mode = WAL"); !run) {
    return std::unexpected(run.error());
  }
  return files;
}

Status SkipNumbers(const std::string& path) {
  auto db = OpenJournal(path);
  if (!db) return std::unexpected(db.error());
  return db->Run(
      "UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'job';"
      "UPDATE meta SET value = value + 1000 WHERE key IN ('epoch', 'last_pool', 'last_pilot')");
}

Status CheckSound(const std::string& dir) {
  auto check = CheckHub(dir);
  if (!check) return std::unexpected(check.error());
  if (check->all.sound()) return {};
  return Fail(ErrorKind::kCorrupt,
              fmt::format("the backup is damaged: {}", check->all.problems.front()));
}

bool IsKept(const std::string& name) {
  return std::ranges::any_of(kKept, [&](const char* each) { return name == each; });
}

}  // namespace

Status BackUpHub(const std::string& hub_dir, const std::string& file) {
  if (!os::Exists(JournalPlace{hub_dir, true}.DbPath())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no hub in '{}'", EscapeForScreen(hub_dir)));
  }
  std::string part = fmt::format("{}.spate-{}", file, os::OwnPid());
  Status done = WriteBackup(hub_dir, part);
  if (done) done = os::Rename(part, file);
  if (done) return os::FsyncDir(os::DirName(file));
  (void)os::RemoveFile(part);
  return done;
}

Status RestoreHub(const std::string& file, const std::string& hub_dir) {
  auto dir = HubDir::Open(hub_dir);
  if (!dir) return std::unexpected(dir.error());
  const std::string journal = dir->place().DbPath();
  if (os::Exists(journal)) {
    return Fail(ErrorKind::kExists,
                fmt::format("there is a journal already: '{}'; move its folder away first",
                            EscapeForScreen(journal)));
  }
  // The spool is emptied at each start: what is cut short leaves nothing.
  const std::string made_in = dir->SpoolPath() + "/restore";
  const JournalPlace place{made_in, true};
  if (auto made = os::MakeDir(made_in, 0700); !made) return made;
  auto from = Database::Open(file, DbMode::kRead);
  if (!from) return std::unexpected(from.error());
  {
    auto to = Database::Open(place.DbPath(), DbMode::kCreate);
    if (!to) return std::unexpected(to.error());
    if (auto copied = from->CopyTo(*to); !copied) return copied;
  }
  auto kept = TakeKeptFiles(place.DbPath());
  if (!kept) return Within(EscapeForScreen(file), kept.error());
  if (auto skipped = SkipNumbers(place.DbPath()); !skipped) return skipped;
  if (auto sound = CheckSound(made_in); !sound) return sound;
  for (const KeptFile& each : *kept) {
    if (!IsKept(each.name)) continue;
    auto written = os::WriteFileAtomically(os::JoinPath(hub_dir, each.name), each.bytes, 0600);
    if (!written) return written;
  }
  if (auto moved = os::Rename(place.DbPath(), journal); !moved) return moved;
  return os::FsyncDir(hub_dir);
}

}  // namespace spate::store
