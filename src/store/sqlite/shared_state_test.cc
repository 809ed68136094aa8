// State folders on file systems of several machines: who may write, and what others read. The file
// system itself is pretended here; tests/e2e/shared_state_test.py has a real one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <thread>

#include "os/temp_dir.h"
#include "store/sqlite/folder_lock.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/owner_file.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/shared_copy.h"
#include "store/sqlite/testing_store.h"

namespace spate::store {
namespace {

const StateOptions kShared = {.pretend_file_system = "nfs"};

JobOwner Of(const std::string& host) {
  JobOwner owner = JobOwner::ThisProcess();
  owner.host = host;
  owner.boot = "boot-of-" + host;
  return owner;
}

OwnerFileOptions On(const std::string& host, Duration patience = {}) {
  OwnerFileOptions options;
  options.patience = patience;
  options.beat = Duration::Millis(5);
  options.self = Of(host);
  return options;
}

std::string FileIn(const os::TempDir& temp) {
  return os::ReadFile(temp.Path("owner"), 4096).value_or("");
}

TEST(OwnerFile, OneOwnerOfAnyMachine) {
  os::TempDir temp;
  {
    auto first = OwnerFile::Acquire(temp.path(), On("n1"));
    ASSERT_TRUE(first) << MessageOf(first.error());
    EXPECT_TRUE((*first)->MayWrite());
    auto second = OwnerFile::Acquire(temp.path(), On("n2"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
    EXPECT_NE(second.error().message.find(" on n1"), std::string::npos);
    EXPECT_EQ(OwnerElsewhere(temp.path())->host, "n1");
    EXPECT_TRUE(SeemsAlive(temp.path()));
  }
  EXPECT_FALSE(os::Exists(temp.Path("owner")));
  EXPECT_FALSE(OwnerElsewhere(temp.path()));
  EXPECT_TRUE(OwnerFile::Acquire(temp.path(), On("n2")));
}

TEST(OwnerFile, WhoGivesASignOfLifeIsLeftInPeace) {
  os::TempDir temp;
  auto first = OwnerFile::Acquire(temp.path(), On("n1"));
  ASSERT_TRUE(first);
  int told = 0;
  OwnerFileOptions patient = On("n2", Duration::Seconds(30));
  patient.waiting = [&](const JobOwner& owner) { told += owner.host == "n1" ? 1 : 100; };
  auto second = OwnerFile::Acquire(temp.path(), std::move(patient));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE((*first)->MayWrite());
}

TEST(OwnerFile, WhoIsSilentIsReplacedAndNoticesIt) {
  os::TempDir temp;
  OwnerFileOptions stopped = On("n1");
  stopped.beat = Duration::Seconds(3600);
  stopped.valid = Duration();  // as if 20 s had passed before each write
  auto first = OwnerFile::Acquire(temp.path(), std::move(stopped));
  ASSERT_TRUE(first);
  const std::string before = FileIn(temp);
  EXPECT_TRUE((*first)->MayWrite());  // it looks, and gives a sign
  EXPECT_NE(FileIn(temp), before);
  auto second = OwnerFile::Acquire(temp.path(), On("n2", Duration::Millis(20)));
  ASSERT_TRUE(second) << MessageOf(second.error());
  Status late = (*first)->MayWrite();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kBusy);
  EXPECT_NE(late.error().message.find(" on n2"), std::string::npos) << MessageOf(late.error());
  EXPECT_TRUE((*second)->MayWrite());
  first->reset();  // leaves the other's file alone
  EXPECT_EQ(OwnerElsewhere(temp.path())->host, "n2");
}

TEST(OwnerFile, WhoIsSilentForAnHourIsNotWatched) {
  os::TempDir temp;
  auto age = [&](const std::string& name, int64_t seconds) {
    const timespec at{.tv_sec = 1'700'000'000 - seconds, .tv_nsec = 0};
    const timespec times[] = {at, at};
    ASSERT_EQ(utimensat(AT_FDCWD, temp.Path(name).c_str(), times, 0), 0);
  };
  temp.Write("owner", Of("n1").ToLine() + " beat=0000000007\n");
  temp.Write("lock", Of("n2").ToLine() + "\n");
  age("lock", 0);
  age("owner", 3590);
  auto early = OwnerFile::Acquire(temp.path(), On("n2"));
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::kBusy);
  age("owner", 3610);
  EXPECT_TRUE(OwnerFile::Acquire(temp.path(), On("n2")));
}

TEST(OwnerFile, ADeadProcessOfThisMachineIsReplacedAtOnce) {
  os::TempDir temp;
  JobOwner dead = JobOwner::ThisProcess();
  dead.pid = 1;
  temp.Write("owner", dead.ToLine() + " beat=0000000007\n");
  OwnerFileOptions options = On("n1");
  options.self = JobOwner::ThisProcess();
  auto taken = OwnerFile::Acquire(temp.path(), std::move(options));
  ASSERT_TRUE(taken) << MessageOf(taken.error());
  EXPECT_FALSE(OwnerElsewhere(temp.path()));
}

TEST(OwnerFile, OfManyWhoWaitOneGetsIt) {
  os::TempDir temp;
  temp.Write("owner", Of("dead").ToLine() + " beat=0000000007\n");
  std::vector<std::shared_ptr<OwnerFile>> takers(8);
  std::vector<std::thread> machines;
  for (size_t i = 0; i < takers.size(); ++i) {
    machines.emplace_back([&, i] {
      OwnerFileOptions options = On("n" + std::to_string(i), Duration::Millis(50));
      options.valid = Duration();  // it looks each time
      auto taken = OwnerFile::Acquire(temp.path(), std::move(options));
      if (taken) takers[i] = *taken;
    });
  }
  for (std::thread& machine : machines) machine.join();
  EXPECT_EQ(std::ranges::count_if(takers, [](auto& each) { return each && each->MayWrite(); }), 1);
}

// ---- Reading -----------------------------------------------------------------------------------

std::string HeadOf(const std::string& path) {
  return os::ReadAt(os::OpenRead(path)->get(), 0, 20, path).value_or("");
}
bool IsOfLog(const std::string& path) { return HeadOf(path).at(19) == 2; }

// A run of two tasks, the first of which has ended.
void Fill(os::RealLoop& loop, SqliteStore& store) {
  engine::JobAccepted accepted;
  accepted.job = JobId(1);
  accepted.plan.task_count = 2;
  Bundle bundle;
  bundle.records = {accepted, EndOf(0)};
  bundle.urgent = true;
  store.PutJob(ExampleJob(2));
  ASSERT_TRUE(Await(loop, [&](auto done) { store.Append(std::move(bundle), done); }));
}

TEST(SharedState, AJournalHasTheModeOfItsPlace) {
  os::TempDir temp;
  const std::string state = temp.Path("state");
  auto loop = os::RealLoop::Create();
  const std::string path = state + "/jobs/1/job.db";
  {
    auto dir = JobDir::Create(state, kShared);
    ASSERT_TRUE(dir) << MessageOf(dir.error());
    EXPECT_TRUE(os::Exists(dir->path() + "/owner"));
    auto store = SqliteStore::Open(*dir, **loop);
    ASSERT_TRUE(store) << MessageOf(store.error());
    Fill(**loop, **store);
    EXPECT_FALSE(IsOfLog(path));
    EXPECT_FALSE(os::Exists(path + "-wal"));
  }
  EXPECT_FALSE(os::Exists(state + "/jobs/1/owner"));
  EXPECT_FALSE(HasRollback(path));
  {
    auto dir = JobDir::Open(state, 1);  // the folder was moved to a disk of this machine
    ASSERT_TRUE(dir) << MessageOf(dir.error());
    EXPECT_TRUE(IsOfLog(path));
    EXPECT_TRUE(SqliteStore::Open(*dir, **loop));
  }
  {
    auto dir = JobDir::Open(state, 1, kShared);
    ASSERT_TRUE(dir) << MessageOf(dir.error());
    EXPECT_FALSE(IsOfLog(path));
    auto store = SqliteStore::Open(*dir, **loop);
    ASSERT_TRUE(store) << MessageOf(store.error());
    EXPECT_EQ((*store)->ReadJob()->counts.total, 2u);
  }
}

// The files as a kill in the middle of a commit leaves them: all pages changed, the rollback
// journal not yet emptied.
void KillInCommit(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    auto db = Database::Open(path, DbMode::kWrite);
    // One page of memory: SQLite has to write changed pages before the commit.
    bool changed = db && db->Run(
                             "PRAGMA journal_mode = TRUNCATE; PRAGMA cache_size = 1;"
                             "PRAGMA cache_spill = 1; BEGIN; UPDATE job SET name = 'other';"
                             "CREATE TABLE big(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                             "SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO big SELECT "
                             "randomblob(500) FROM n; UPDATE attempt SET status = 77");
    _exit(changed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(HasRollback(path));
}

class KilledInCommit : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = *os::RealLoop::Create();
    auto dir = JobDir::Create(state_, kShared);
    ASSERT_TRUE(dir);
    {
      auto store = SqliteStore::Open(*dir, *loop_);
      ASSERT_TRUE(store);
      Fill(*loop_, **store);
    }
    KillInCommit(path_);
  }
  void ExpectAsBefore(Database& db) {
    EXPECT_EQ(*db.QueryInt("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'big'"), 0);
    EXPECT_EQ(*db.QueryInt("SELECT COUNT(*) FROM attempt WHERE status = 77"), 0);
    EXPECT_EQ(*db.QueryInt("SELECT COUNT(*) FROM attempt"), 1);
  }

  os::TempDir temp_;
  const std::string state_ = temp_.Path("state");
  const std::string path_ = state_ + "/jobs/1/job.db";
  std::unique_ptr<os::RealLoop> loop_;
};

TEST_F(KilledInCommit, ReadersSeeTheStateBeforeAndChangeNothing) {
  const std::string before = *os::ReadFile(path_, 10 << 20);
  auto row = SummarizeJob(state_, 1);
  ASSERT_TRUE(row) << MessageOf(row.error());
  EXPECT_EQ(row->standing, JobStanding::kInterrupted);
  EXPECT_EQ(row->row.name, "example");
  EXPECT_EQ(row->problem, "");
  auto db = OpenJournalToRead(path_);
  ASSERT_TRUE(db) << MessageOf(db.error());
  ExpectAsBefore(*db);
  EXPECT_EQ(*os::ReadFile(path_, 10 << 20), before);
  EXPECT_TRUE(HasRollback(path_));
}

TEST_F(KilledInCommit, TheNextOwnerUndoesIt) {
  auto dir = JobDir::Open(state_, 1, kShared);
  ASSERT_TRUE(dir) << MessageOf(dir.error());
  EXPECT_FALSE(HasRollback(path_));
  auto db = OpenJournalToRead(path_);
  ASSERT_TRUE(db) << MessageOf(db.error());
  ExpectAsBefore(*db);
}

TEST_F(KilledInCommit, TheNextOwnerOnADiskOfOneMachineDoesTheSame) {
  auto dir = JobDir::Open(state_, 1);
  ASSERT_TRUE(dir) << MessageOf(dir.error());
  EXPECT_TRUE(IsOfLog(path_));
  auto store = SqliteStore::Open(*dir, *loop_);
  ASSERT_TRUE(store) << MessageOf(store.error());
  EXPECT_EQ((*store)->ReadJob()->name, "example");
}

// Another machine's commits go on while this one copies, and no lock of theirs is seen here.
TEST(SharedState, ACopyIsOfOneMoment) {
  os::TempDir temp;
  const std::string path = temp.Path("job.db");
  {
    auto db = Database::Open(path, DbMode::kCreate);
    ASSERT_TRUE(
        db->Run("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;"
                "CREATE TABLE pair(side, n, pad); CREATE TABLE other(side, n, pad)"));
    // Two tables of many pages, which each commit changes both.
    ASSERT_TRUE(
        db->Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                "i < 3000) INSERT INTO pair SELECT i, 0, randomblob(900) FROM n;"
                "INSERT INTO other SELECT * FROM pair"));
  }
  temp.Write("owner", Of("n1").ToLine() + " beat=0000000007\n");
  ASSERT_TRUE(NeedsCopy(path));
  const pid_t writer = fork();
  if (writer == 0) {
    auto db = Database::Open(path, DbMode::kWrite);
    if (!db || !db->Run("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;"
                        "PRAGMA cache_size = 5")) {
      _exit(1);
    }
    for (;;) {
      if (!db->Run("BEGIN; UPDATE pair SET n = n + 1; UPDATE other SET n = n + 1; COMMIT"))
        _exit(1);
      (void)os::WaitReadable(-1, Duration::Millis(15));
    }
  }
  int copies = 0;
  int64_t last = 0;
  for (int i = 0; i < 40; ++i) {
    auto copy = OpenCopy(path);
    if (!copy) {
      EXPECT_EQ(copy.error().kind, ErrorKind::kBusy) << MessageOf(copy.error());
      continue;
    }
    ++copies;
    auto least =
        copy->QueryInt("SELECT MIN(n) FROM (SELECT n FROM pair UNION SELECT n FROM other)");
    auto most = copy->QueryInt("SELECT MAX(n) FROM (SELECT n FROM pair UNION SELECT n FROM other)");
    ASSERT_TRUE(least && most);
    EXPECT_EQ(*least, *most);
    EXPECT_EQ(*copy->QueryInt("SELECT COUNT(*) FROM pragma_integrity_check WHERE "
                              "integrity_check <> 'ok'"),
              0);
    last = *most;
  }
  EXPECT_EQ(waitpid(writer, nullptr, WNOHANG), 0) << "the writer has ended";
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_GT(copies, 0);
  EXPECT_GT(last, 0);
}

TEST(SharedState, WithoutLocksAFolderIsRefusedWithWhatToDo) {
  // The answer of such a file system cannot be pretended, but how it is told can be seen.
  os::TempDir temp;
  ASSERT_TRUE(os::MakeDirs(temp.Path("job/lock"), 0700));  // a folder cannot be locked
  auto lock = FolderLock::Acquire(temp.Path("job"), "lustre", {});
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::kUnavailable) << MessageOf(lock.error());
  EXPECT_NE(lock.error().message.find("-o flock"), std::string::npos);
  EXPECT_NE(lock.error().message.find("--state /var/tmp/"), std::string::npos);
}

}  // namespace
}  // namespace spate::store
