#include "store/sqlite/log_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/prng.h"
#include "os/file.h"
#include "os/temp_dir.h"
#include "store/sqlite/database.h"

namespace spate::store {
namespace {

constexpr int kCommits = 30;
constexpr size_t kMost = 16 << 20;

// A database whose last commits are in its log, as a process that was killed leaves it.
class LogCheckTest : public testing::Test {
 protected:
  LogCheckTest() {
    std::string path = dir_.Path("live.db");
    auto db = Database::Open(path, DbMode::kCreate);
    EXPECT_TRUE(
        db->Run("PRAGMA page_size = 512; PRAGMA journal_mode = WAL;"
                "PRAGMA synchronous = FULL; CREATE TABLE t(n INTEGER, bytes BLOB)"));
    // Frames of an earlier use of the log stay after its new end.
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(db->Run("INSERT INTO t VALUES(0, zeroblob(400))"));
    EXPECT_TRUE(db->Run("PRAGMA wal_checkpoint(RESTART); DELETE FROM t"));
    for (int i = 0; i < kCommits; ++i) {
      EXPECT_TRUE(db->Run("INSERT INTO t VALUES(1, zeroblob(900))"));
    }
    file_ = os::ReadFile(path, kMost).value();
    log_ = os::ReadFile(path + "-wal", kMost).value();
  }

  void Put(const std::string& log) {
    EXPECT_TRUE(os::RemoveFile(path() + "-shm"));
    EXPECT_TRUE(os::WriteFile(path(), file_));
    EXPECT_TRUE(os::WriteFile(path() + "-wal", log));
  }
  // -1: SQLite itself sees that something is wrong.
  int Commits() {
    auto db = Database::Open(path(), DbMode::kWrite);
    auto count = db ? db->QueryInt("SELECT sum(n) FROM t") : std::unexpected(db.error());
    return count ? static_cast<int>(*count) : -1;
  }
  std::string path() const { return dir_.Path("copy.db"); }

  os::TempDir dir_;
  std::string file_, log_;
};

TEST_F(LogCheckTest, WhatIsWholeIsSound) {
  EXPECT_TRUE(CheckLog(path())) << "there is none";
  Put(log_);
  EXPECT_TRUE(CheckLog(path()));
  EXPECT_EQ(Commits(), kCommits);
  Put("");
  EXPECT_TRUE(CheckLog(path()));
  Put(std::string(4096, '\0'));
  EXPECT_TRUE(CheckLog(path()));
}

// A power failure leaves the beginning of the last commit, or parts of it.
TEST_F(LogCheckTest, WhatWasCutShortIsSound) {
  for (size_t cut = 1; cut < 4000; cut += 97) {
    Put(log_.substr(0, log_.size() - cut));
    EXPECT_TRUE(CheckLog(path())) << cut;
  }
}

TEST_F(LogCheckTest, NoCommitIsLostWithoutAWord) {
  Prng prng(7);
  int told = 0, without_effect = 0;
  for (int i = 0; i < 400; ++i) {
    std::string log = log_;
    size_t bit = i < 256 ? static_cast<size_t>(i) : prng.Below(log.size() * 8);
    log[bit / 8] = static_cast<char>(log[bit / 8] ^ 1 << bit % 8);
    Put(log);
    if (auto checked = CheckLog(path()); !checked) {
      EXPECT_EQ(checked.error().kind, ErrorKind::kCorrupt);
      ++told;
      continue;
    }
    // Only the end of the last commits cannot be told from one that was cut short.
    EXPECT_GE(Commits(), kCommits - 2) << "bit " << bit;
    ++without_effect;
  }
  EXPECT_GT(told, 100);
  EXPECT_GT(without_effect, 0);
}

}  // namespace
}  // namespace spate::store
