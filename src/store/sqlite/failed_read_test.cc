// A hub's journal on a disk of which single reads fail.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

// The system's files, of which the next `failures` reads fail as after EIO. Databases are opened
// through it while it exists.
class FailingReads {
 public:
  FailingReads() : usual_(sqlite3_vfs_find(nullptr)), vfs_(*usual_) {
    vfs_.zName = "failing-reads";
    vfs_.pAppData = usual_;
    vfs_.xOpen = Open;
    sqlite3_vfs_register(&vfs_, 1);
    failures = 0;
  }
  ~FailingReads() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(usual_, 1);
  }
  FailingReads(const FailingReads&) = delete;
  FailingReads& operator=(const FailingReads&) = delete;

  static inline std::atomic<int> failures = 0;

 private:
  static int Read(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
    if (failures == 0) return usual_read.load()(file, to, size, at);
    --failures;
    return SQLITE_IOERR_CORRUPTFS;
  }
  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* got) {
    auto* usual = static_cast<sqlite3_vfs*>(vfs->pAppData);
    const int code = usual->xOpen(usual, name, file, flags, got);
    if (code != SQLITE_OK || file->pMethods == nullptr) return code;
    // A database and its log have different functions, but the same one to read.
    static std::mutex mutex;
    static std::map<const sqlite3_io_methods*, sqlite3_io_methods> changed;
    const std::lock_guard lock(mutex);
    auto [entry, fresh] = changed.try_emplace(file->pMethods, *file->pMethods);
    if (fresh) usual_read = std::exchange(entry->second.xRead, Read);
    file->pMethods = &entry->second;
    return code;
  }

  static inline std::atomic<decltype(sqlite3_io_methods::xRead)> usual_read = nullptr;
  sqlite3_vfs* const usual_;
  sqlite3_vfs vfs_;
};

TEST(FailedRead, IsTriedAgainOnce) {
  FailingReads files;
  HubWorld world;
  const JobId job = world.Submit(50'000);
  ASSERT_TRUE(world.store().Rows(job, 0, 1));
  files.failures = 1;
  auto rows = world.store().Rows(job, 30'000, 1);
  ASSERT_TRUE(rows) << MessageOf(rows.error());
  EXPECT_EQ(rows->front(), "row 1.30001");
  EXPECT_EQ(files.failures.load(), 0) << "nothing was read";
  files.failures = 2;
  EXPECT_EQ(world.store().Rows(job, 49'000, 1).error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(files.failures.load(), 0);
  EXPECT_EQ(world.store().Rows(job, 49'000, 1)->front(), "row 1.49001");

  ASSERT_TRUE(world.store().ReadJob(job));
  ASSERT_TRUE(world.Put(HubWorld::RowOf(job, 50'000, "bob")));
  files.failures = 1;
  auto row = world.store().ReadJob(job);
  ASSERT_TRUE(row) << MessageOf(row.error());
  EXPECT_EQ(row->user, "bob");
  EXPECT_EQ(files.failures.load(), 0) << "nothing was read";
}

}  // namespace
}  // namespace spate::store
