// Failures of a batch: lost submissions, killed commands, files that are damaged or
// cannot be written.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/parasol/programs/para_fixture.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::parasol {
namespace {

class ParaTroubleTest : public ParaFixture {};

// ---- trouble ----

TEST_F(ParaTroubleTest, ResultsThatAreNotThere) {
  MustCreate("a\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.At(0).unended = false;
  Ran ran = Para({"check"});
  EXPECT_EQ(ran.out,
            "DIR/para.results: file not found.  paraHub can't write to this dir?\n"
            "total jobs in batch: 1\n");
}

TEST_F(ParaTroubleTest, LateEndsAreTaken) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  dir_.Write("para.results", "");
  world_.At(0).unended = false;
  EXPECT_EQ(Check(), "tracking errors: 1\nqueued and waiting: 1\ntotal jobs in batch: 2\n");
  EXPECT_EQ(Para({"problems"}).out,
            "job: a\nid: 100000000\nfailure type: tracking error\n\n1 problems total\n");
  ASSERT_EQ(Para({"push", "-maxPush=0"}).code, 0);
  world_.End(0, 0);
  EXPECT_EQ(Check(), "queued and waiting: 1\nranOk: 1\ntotal jobs in batch: 2\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 2u);
}

TEST(ParaBatchTest, ALateEndCounts) {
  ParaBatch batch({{.command = "a", .spec = "a"}}, 4);
  auto why = [](CheckKind, const char*) { return std::string(); };
  batch.SetSubmitted(1, 7, 0);
  EXPECT_TRUE(batch.Next(1).empty());
  batch.FindLost({});
  EXPECT_EQ(batch.Next(1).size(), 1u);
  EXPECT_FALSE(batch.AnyAtHub());
  EXPECT_TRUE(batch.AcceptEnd({.id = "7"}, why).open);
  EXPECT_TRUE(batch.Next(1).empty());
  EXPECT_TRUE(batch.AllDone());
  EXPECT_FALSE(batch.AcceptEnd({.id = "7"}, why).open);
}

// The hub has taken the jobs, and para did not live to write that down.
TEST_F(ParaTroubleTest, AKilledPushIsMadeUp) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push", "-maxPush=1"}).code, 0);
  std::string batch = Read("batch"), hub = Marks();
  ASSERT_EQ(Para({"push"}).code, 0);
  dir_.Write("batch", batch);
  ASSERT_TRUE(os::WriteFile(State().Marks(), hub));
  EXPECT_EQ(Check(), "queued and waiting: 2\ntotal jobs in batch: 2\n");
  world_.EndAll(0);
  EXPECT_EQ(Check(), "ranOk: 2\ntotal jobs in batch: 2\n");
  EXPECT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 2u);
  EXPECT_EQ(Marks(), "known 2\nhalts 1 create\n");
  EXPECT_EQ(Check(), "ranOk: 2\ntotal jobs in batch: 2\n");
}

// Killed after each of the files that a push writes, in their order: nothing is lost, and nothing
// runs twice.
TEST_F(ParaTroubleTest, KilledBetweenTwoFiles) {
  const std::vector<std::string> files = {Path("batch"), Path("para.bookmark"), State().Marks()};
  for (size_t written = 0; written <= files.size(); ++written) {
    world_ = FakeHubWorld{.results = Path("para.results")};
    ASSERT_TRUE(os::RemoveFile(Path("para.results")));
    MustCreate("a\nb {check out exists o}\nc\n");
    ASSERT_EQ(Para({"push", "-maxPush=2"}).code, 0);
    world_.End(0, 0);
    world_.End(1, 0);
    std::vector<std::string> before;
    for (const std::string& file : files)
      before.push_back(os::ReadFile(file, 1 << 20).value_or(""));
    ASSERT_EQ(Para({"push"}).code, 0);
    ASSERT_EQ(world_.tasks.size(), 4u);
    for (size_t i = written; i < files.size(); ++i) {
      ASSERT_TRUE(os::WriteFile(files[i], before[i]));
    }
    dir_.Write("o", "");
    world_.EndAll(0);
    ASSERT_EQ(Para({"push"}).code, 0);
    EXPECT_EQ(world_.tasks.size(), 4u) << written;
    EXPECT_EQ(Check(), "ranOk: 3\ntotal jobs in batch: 3\n") << written;
    ASSERT_TRUE(os::RemoveFile(Path("o")));
  }
}

// The hub had not yet taken them when the next push looked.
TEST_F(ParaTroubleTest, AKilledPushArrivesLate) {
  MustCreate("a\nb\nc\n");
  world_.on_submit = [this] {
    if (!world_.tasks.empty()) return;
    for (uint64_t job : {0, 1}) {
      world_.tasks.push_back({.id = world_.next_id++, .job = job, .command = "of the killed one"});
    }
  };
  ASSERT_EQ(Para({"push"}).code, 0);
  ASSERT_EQ(world_.tasks.size(), 3u);
  EXPECT_EQ(world_.tasks[2].command, "c");
  EXPECT_EQ(Check(), "queued and waiting: 3\ntotal jobs in batch: 3\n");
}

// Jobs that parasol added to the same batch are none of the list.
TEST_F(ParaTroubleTest, SubmissionsOfOthersAreSkipped) {
  MustCreate("a\n");
  world_.tasks.push_back({.id = 100'000'000, .job = 1u << 31});
  world_.next_id = 100'000'001;
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 2u);
  EXPECT_EQ(Check(), "queued and waiting: 1\ntotal jobs in batch: 1\n");
}

TEST_F(ParaTroubleTest, TheAnswerToASubmissionIsLost) {
  MustCreate("a\nb\n");
  world_.submit = Error{ErrorKind::kUnavailable, "the hub is gone"};
  Ran ran = Para({"push"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_TRUE(ran.err.ends_with("the hub is gone\n")) << ran.err;
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 2u);
  EXPECT_EQ(Check(), "queued and waiting: 2\ntotal jobs in batch: 2\n");
}

TEST_F(ParaTroubleTest, AnotherHubCountsAnew) {
  MustCreate("a\nb\nc\n");
  ASSERT_EQ(Para({"push", "-maxPush=2"}).code, 0);
  world_.EndAll(0);
  ASSERT_EQ(Para({"push", "-maxPush=0"}).code, 0);
  world_.tasks.clear();
  world_.next_id = 700'000'000;
  std::string batch = Read("batch");
  // The marks that a push leaves if it is killed when the hub has its jobs.
  world_.on_submit = [&] { EXPECT_EQ(Marks(), "known 0\nhalts 1 create\n"); };
  ASSERT_EQ(Para({"push", "-maxPush=1"}).code, 0);
  EXPECT_EQ(Marks(), "known 1\nhalts 1 create\n");
  dir_.Write("batch", batch);
  ASSERT_TRUE(os::RemoveFile(State().Marks()));
  EXPECT_EQ(Check(), "queued and waiting: 1\nranOk: 2\ntotal jobs in batch: 3\n");
}

TEST_F(ParaTroubleTest, HungJobsAreEnded) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.Start(0);
  world_.now = world_.now + Duration::Seconds(601);
  EXPECT_EQ(Para({"push", "-maxPush=0"}).code, 0);
  Log();
  EXPECT_EQ(Para({"push", "-killTime=10", "-maxPush=0"}).code, 0);
  EXPECT_EQ(Log(), Lines({"remove 100000000"}));
  EXPECT_EQ(Para({"check", "-killTime=10"}).out,
            "queued and waiting: 1\nhung (> 10 minutes): 1\ntotal jobs in batch: 2\n");
  EXPECT_EQ(Para({"hung"}).out, "a\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(Log(), Lines({"submit 0"}));
}

// Every command that looks does so, and says it.
TEST_F(ParaTroubleTest, ReportsEndHungJobs) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.Start(0);
  world_.now = world_.now + Duration::Seconds(601);
  Log();
  Ran ran = Para({"status", "-killTime=10"});
  EXPECT_EQ(Log(), Lines({"remove 100000000"}));
  EXPECT_NE(ran.err.find("killed hung jobId: 100000000\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("hung\t1\t"), std::string::npos) << ran.out;
  EXPECT_EQ(Check(), "queued and waiting: 1\nhung (> 0 minutes): 1\ntotal jobs in batch: 2\n");
  EXPECT_NE(Para({"time"}).out.find("Crashed: 1 jobs\n"), std::string::npos);
}

// Everybody sees that a job is slow, until it ends.
TEST_F(ParaTroubleTest, SlowJobsStaySlow) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.Start(0);
  world_.now = world_.now + Duration::Seconds(61);
  EXPECT_EQ(Check(), "queued and waiting: 1\nrunning: 1\ntotal jobs in batch: 2\n");
  auto slow = [](int minutes) {
    return fmt::format(
        "queued and waiting: 1\nslow (> {} minutes): 1\nrunning: 1\n"
        "total jobs in batch: 2\n",
        minutes);
  };
  EXPECT_EQ(Para({"-warnTime=1", "check"}).out, slow(1));
  EXPECT_EQ(Check(), slow(4320));
  EXPECT_NE(Para({"problems"}).out.find("failure type: slow\n"), std::string::npos);
  // Its node was lost, and it has begun again.
  world_.Start(0);
  EXPECT_EQ(Check(), "queued and waiting: 1\nrunning: 1\ntotal jobs in batch: 2\n");
  world_.now = world_.now + Duration::Seconds(61);
  ASSERT_EQ(Para({"-warnTime=1", "push"}).code, 0);
  EXPECT_EQ(Check(), slow(4320));
  world_.End(0, 0);
  EXPECT_EQ(Check(), "queued and waiting: 1\nranOk: 1\ntotal jobs in batch: 2\n");
}

// Another user does not know what the owner has dropped from the batch, or what is on its way to
// the results.
TEST_F(ParaTroubleTest, OthersSeeWhatItsOwnerSees) {
  auto theirs = [&] {
    os::TempDir state;
    ParaParts parts = Parts();
    parts.state_root = state.path();
    world_.of_owner = true;
    testing::internal::CaptureStdout();
    auto code = RunPara(std::vector<std::string>{"check", "-batch=" + dir_.path()}, parts);
    world_.of_owner = false;
    EXPECT_EQ(code.value_or(255), 0);
    return testing::internal::GetCapturedStdout();
  };
  MustCreate("a\nb\nc\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(theirs(), "queued and waiting: 3\ntotal jobs in batch: 3\n");
  world_.End(0, 0);
  world_.Start(1);
  ASSERT_EQ(Para({"stop"}).code, 0);
  EXPECT_EQ(theirs(), "unsubmitted jobs: 2\nranOk: 1\ntotal jobs in batch: 3\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.Start(3);
  ASSERT_EQ(Para({"chill"}).code, 0);
  EXPECT_EQ(theirs(), "unsubmitted jobs: 1\nrunning: 1\nranOk: 1\ntotal jobs in batch: 3\n");
  // Its line comes a moment later.
  world_.End(3, 0);
  world_.on_wait = [&] {
    world_.of_owner = false;
    return FakeHub(world_).CatchUp();
  };
  EXPECT_EQ(theirs(), "unsubmitted jobs: 1\nranOk: 2\ntotal jobs in batch: 3\n");
  world_.on_wait = [] { return Status(); };
  MustCreate("d\ne\n");
  EXPECT_EQ(theirs(), "unsubmitted jobs: 2\ntotal jobs in batch: 2\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(0);
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(theirs(), "ranOk: 2\ntotal jobs in batch: 2\n");
  // A lost one is lost for all.
  MustCreate("f\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.tasks.back().unended = false;
  EXPECT_EQ(theirs(), "tracking errors: 1\ntotal jobs in batch: 1\n");
  EXPECT_EQ(Check(), "tracking errors: 1\ntotal jobs in batch: 1\n");
}

TEST_F(ParaTroubleTest, SickBatch) {
  MustCreate("a\nb\n");
  world_.sick = true;
  world_.sick_nodes = {{"n1", 3}};
  std::string line = "Sick batch! Correct problem and then run para clearSickNodes.\n";
  Ran ran = Para({"push"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_TRUE(ran.err.ends_with("updated job database on disk\n" + line)) << ran.err;
  EXPECT_TRUE(world_.tasks.empty());
  ran = Para({"check"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.out,
            "unsubmitted jobs: 2\ntotal jobs in batch: 2\ntotal sick machines: 1 failures: 3\n");
  EXPECT_TRUE(ran.err.ends_with(line));
  world_.failures_in_row = 40;
  std::string crashes = "Sick Batch: consecutive crashes (40) >= sick batch threshold (25)\n";
  EXPECT_EQ(Para({"check", "-verbose=0"}).err, crashes + line);
  EXPECT_EQ(Para({"check"}).err,
            "2 jobs in batch\n0 jobs (including everybody's) in Parasol queue or running.\n" +
                crashes + "Checking finished jobs\n" + line);
  EXPECT_EQ(Para({"showSickNodes"}).out, "n1 3\ntotal sick machines: 1 failures: 3\n");
}

TEST_F(ParaTroubleTest, AHeldBatchSaysSo) {
  MustCreate("a\n");
  world_.held = JobId(7);
  EXPECT_EQ(Para({"push"}).err.find("holds"), std::string::npos);  // it goes on with that
  std::string line = "the batch is held; to release it: spate job release 7\n";
  for (const char* command : {"push", "check", "time"}) {
    EXPECT_NE(Para({command}).err.find(line), std::string::npos) << command;
  }
}

// ---- files ----

// A change of the batch waits until nobody else makes one.
TEST_F(ParaTroubleTest, OneAtATime) {
  MustCreate("a\n");
  for (std::vector<std::string> args :
       std::vector<std::vector<std::string>>{{"push"},
                                             {"try"},
                                             {"shove"},
                                             {"chill"},
                                             {"stop"},
                                             {"ram", "1g"},
                                             {"cpu", "1"},
                                             {"create", Path("list")},
                                             {"make", Path("list")}}) {
    std::optional<os::FileLock> lock =
        os::FileLock::TryLock(State().Lock(), "para shove (process 7)").value();
    int waits = 0;
    world_.on_wait = [&] {
      ++waits;
      // It reads and writes nothing before.
      if (lock) EXPECT_EQ(Read("batch").find("b"), std::string::npos);
      if (lock) dir_.Write("batch", "\"b\",0,0,0,{},0,{},\"b\",\n");
      lock.reset();
      world_.EndAll(0);
      return Status();
    };
    Ran ran = Para(args);
    EXPECT_EQ(ran.code, 0) << args[0] << ran.err;
    EXPECT_GE(waits, 1) << args[0];
    world_.EndAll(0);
    bool made = args.size() > 1 && args[1] == Path("list");
    EXPECT_EQ(Read("batch").substr(0, 3), made ? "\"a\"" : "\"b\"") << args[0];
    MustCreate("a\n");
  }
}

// It says whom it waits for, and Ctrl-C ends that.
TEST_F(ParaTroubleTest, WaitingForAnotherSaysSo) {
  MustCreate("a\n");
  auto lock = os::FileLock::TryLock(State().Lock(), "para shove (process 7)").value();
  int waits = 0;
  world_.on_wait = [&] {
    return ++waits < 8 ? Status() : Status(Fail(ErrorKind::kBusy, "interrupted"));
  };
  Ran ran = Para({"push"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.err,
            "another para is using this batch: 'STATE/lock' is locked by para shove (process 7); "
            "waiting for it\ninterrupted\n");
  EXPECT_EQ(Check(), "unsubmitted jobs: 1\ntotal jobs in batch: 1\n");
}

// Another terminal stops, chills or replaces a batch that a make pushes.
TEST_F(ParaTroubleTest, AMakeEndsWhenItIsStopped) {
  struct Case {
    std::vector<std::string> command;
    std::string end;
  };
  for (const Case& each : {Case{{"stop"},
                                "para stop has ended this run: 0 of 2 jobs are done; para shove "
                                "continues with the others\n"},
                           Case{{"chill"},
                                "para chill has ended this run: 1 of 2 jobs are done; para shove "
                                "continues with the others\n"}}) {
    world_.tasks.clear();
    MustCreate("a\nb\n");
    int waits = 0;
    bool inside = false;  // the other para
    world_.on_wait = [&] {
      if (inside) return Status();
      if (++waits == 1) {
        world_.Start(0);
        inside = true;
        EXPECT_EQ(Inner(each.command), 0);
        inside = false;
      } else if (waits == 3) {
        world_.EndAll(0);
      }
      return waits < 20 ? Status() : Status(Fail(ErrorKind::kBusy, "interrupted"));
    };
    Ran ran = Para({"shove"});
    EXPECT_EQ(ran.code, 255);
    EXPECT_TRUE(ran.err.ends_with(each.end)) << ran.err;
    EXPECT_EQ(world_.tasks.size(), 2u) << "nothing was submitted again";
    world_.on_wait = [] { return Status(); };
  }
}

TEST_F(ParaTroubleTest, ADamagedBatchStaysAsItIs) {
  MustCreate("a\nb\n");
  std::string damaged = "\"a\",0,0\n" + Read("batch");
  dir_.Write("batch", damaged);
  for (std::string command : {"check", "push", "shove", "stop", "ram"}) {
    Ran ran = Para({command, "1g"});
    EXPECT_EQ(ran.code, 255);
    EXPECT_EQ(ran.err,
              "line 1 of DIR/batch is not a valid job (no comma after a number at byte 8): fix it, "
              "or make "
              "the batch again with para create\nthe batch is unchanged, and nothing was done\n");
    EXPECT_EQ(Read("batch"), damaged);
  }
  EXPECT_TRUE(world_.tasks.empty());
}

// Larger than what is read at once; the last line lacks its end.
TEST_F(ParaTroubleTest, ALargeBatch) {
  std::string list;
  for (int i = 0; i < 60; ++i) list += "a" + std::string(60'000, 'b') + "\n";
  list += std::string(6'000'000, 'c') + "\n";
  MustCreate(list);
  std::string batch = os::ReadFile(Path("batch"), 1 << 30).value();
  ASSERT_GT(batch.size(), 16u << 20);
  batch.pop_back();
  dir_.Write("batch", batch);
  EXPECT_EQ(Check(), "unsubmitted jobs: 61\ntotal jobs in batch: 61\n");
  ASSERT_EQ(Para({"cpu", "1"}).code, 0);
  EXPECT_EQ(Check(), "unsubmitted jobs: 61\ntotal jobs in batch: 61\n");
}

TEST_F(ParaTroubleTest, DamagedMarks) {
  MustCreate("a\n");
  dir_.Write("para.bookmark", "x");
  EXPECT_EQ(Para({"check"}).err,
            "DIR/para.bookmark holds no number: remove it, and all results are read again\n");
  dir_.Write("para.bookmark", "0");
  ASSERT_TRUE(os::WriteFile(State().Marks(), "other key\nknown x\n"));
  EXPECT_EQ(Para({"check"}).err,
            "'STATE/hub' contains no number of submissions; remove the file, and para requests all "
            "of them from the hub\n");
  ASSERT_TRUE(os::WriteFile(State().Marks(), "other key\nknown 0\n"));
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(0);
  dir_.Write("para.bookmark", "999999");  // of another para.results
  EXPECT_EQ(Check(), "ranOk: 1\ntotal jobs in batch: 1\n");
}

TEST_F(ParaTroubleTest, DamagedResultsAreTold) {
  MustCreate("a\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  dir_.Write("para.results", "what?\n");
  world_.EndAll(0);
  Ran ran = Para({"check"});
  EXPECT_EQ(ran.out, "ranOk: 1\ntotal jobs in batch: 1\n");
  EXPECT_TRUE(
      ran.err.ends_with("DIR/para.results: the line at byte 0 is not a valid result ('what?' is "
                        "not a valid number): it is left out\n"))
      << ran.err;
}

TEST_F(ParaTroubleTest, ABatchOfParasolWithWindowsLines) {
  dir_.Write("batch",
             "# made by hand\r\n\"a\",0,0,0,{},1,{{\"20503\",\"localhost\",0,1,2,3,256,1,0,0,0,0,0,"
             "1,0,0,0,\"e\",},},\"a\",\r\n\r\n\"b\",0,0,0,{},0,{},\"b\",\r\n");
  dir_.Write("para.bookmark", "0\n");
  EXPECT_EQ(Check(), "unsubmitted jobs: 1\ncrashed: 1\ntotal jobs in batch: 2\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(Log(), Lines({"submit 1 0"}));
}

// The results cannot be written: what has ended must not be run again.
TEST_F(ParaTroubleTest, ResultsThatCannotBeWritten) {
  MustCreate("a\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(0);
  for (std::string command : {"push", "shove", "chill", "stop"}) {
    world_.catch_up = Error{ErrorKind::kPermission, "cannot write results"};
    if (command == "chill" || command == "stop") {
      world_.catch_up.reset();
      ASSERT_TRUE(os::MakeDirs(world_.results));
    }
    Ran ran = Para({command});
    EXPECT_EQ(ran.code, 255) << command;
    EXPECT_EQ(world_.tasks.size(), 1u);
  }
  ASSERT_TRUE(os::RemoveTree(world_.results));
  world_.catch_up = Error{ErrorKind::kPermission, "cannot write results"};
  Ran ran = Para({"check"});
  EXPECT_EQ(ran.out,
            "DIR/para.results: file not found.  paraHub can't write to this dir?\n"
            "total jobs in batch: 1\n");
  EXPECT_TRUE(ran.err.ends_with("cannot write results\n"));
  EXPECT_EQ(Check(), "ranOk: 1\ntotal jobs in batch: 1\n");
}

// A full disk: what is there stays, and the next push finds what this one has submitted.
TEST_F(ParaTroubleTest, NoRoomForTheBatch) {
  MustCreate("a\nb\n");
  std::string before = Read("batch");
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit old{}, small{};
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 100;
  setrlimit(RLIMIT_FSIZE, &small);
  std::vector<std::string> args{"push"};
  Ran ran = Para(args);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(Read("batch"), before);
  EXPECT_EQ(Marks(), "known 0\nhalts 1 create\n");
  auto files = os::ListDir(dir_.path()).value();
  for (const os::DirEntry& file : files) EXPECT_FALSE(file.name.ends_with(".new")) << file.name;
  EXPECT_EQ(world_.tasks.size(), 2u);
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 2u);
  EXPECT_EQ(Check(), "queued and waiting: 2\ntotal jobs in batch: 2\n");
}

TEST_F(ParaTroubleTest, AFolderThatCannotBeWritten) {
  os::TempDir other;
  std::string list = dir_.Write("list", "a\n"), file = other.Write("file", "");
  world_.results = file + "/batch/para.results";
  ParaParts parts;
  parts.state_root = state_.path();
  parts.open_hub = [&](const ParaState&) { return std::make_unique<FakeHub>(world_); };
  parts.why_file_fails = [](CheckKind, const char*) { return std::string(); };
  parts.now = [&] { return world_.now; };
  auto made = RunPara(std::vector<std::string>{"create", list, "-batch=" + file + "/batch"}, parts);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(file), std::string::npos);
}

TEST_F(ParaTroubleTest, AFolderOfSomebodyElse) {
  ASSERT_EQ(Para({"create", dir_.Write("list", "a\nb\n")}).code, 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0555), 0);
  const bool root = geteuid() == 0;
  if (root) ASSERT_EQ(seteuid(65534), 0);  // nobody
  auto pushed = Para({"push"});
  if (root) ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  EXPECT_NE(pushed.code, 0);
  EXPECT_TRUE(pushed.err.contains("you cannot write to")) << pushed.err;
  EXPECT_EQ(world_.tasks.size(), 0u);
}

}  // namespace
}  // namespace spate::parasol
