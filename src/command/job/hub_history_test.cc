// The history commands over a hub's folder: the same words, and who may see what.
#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "command/testing_history.h"
#include "store/sqlite/testing_hub.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;
using Ran = HistoryWorld::Ran;
using store::HubWorld;

// A hub that answers from its journal, and itself knows no task that has not ended.
class JournalHub final : public client::Asker {
 public:
  explicit JournalHub(history::Source source) : journal_(std::move(source)) {}
  Status Query(wire::Question question, const AcceptAnswer& take) override {
    if (question.Is<wire::ExplainTasks>()) {
      return Fail(ErrorKind::kNotFound, "no such task here");
    }
    if (question.Is<wire::LookAtRun>()) {
      if (looks.empty()) return Fail(ErrorKind::kNotFound, "no such task here");
      auto look = std::move(looks.front());
      looks.pop_front();
      return take(wire::BytesOf(look));
    }
    return journal_.Query(std::move(question), take);
  }

  std::deque<wire::LookAtRun::Answer> looks;  // at a running task; then it has ended

 private:
  history::JournalAsker journal_;
};

class HubHistoryTest : public testing::Test {
 protected:
  HubHistoryTest() { See("ada"); }
  void See(std::string user, bool is_admin = false) {
    history::Source source = world_.SourceOf(hub_.place());
    source.viewer = {std::move(user), is_admin};
    asker_ = std::make_unique<JournalHub>(std::move(source));
    world_.environment().hub = asker_.get();
  }
  Ran Run(std::string_view command, Argv argv) { return world_.Run(command, std::move(argv)); }
  std::string Out(std::string_view command, Argv argv) {
    Ran ran = Run(command, std::move(argv));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  // ada's 1 (running: 2 of 4 ended), bob's 2 (finished, one failed), ada's 3 (queued).
  void WriteThree() {
    hub_.Submit(4, "ada");
    hub_.Submit(2, "bob");
    hub_.Submit(5, "ada");
    ASSERT_TRUE(hub_.Commit(HubWorld::Ends(JobId(1), 0, 2, "out")));
    ASSERT_TRUE(hub_.Commit(HubWorld::Ends(JobId(2), 0, 1, "secret")));
    ASSERT_TRUE(hub_.Record(engine::Leased{NodeId(1), JobId(2), Attempt(1), {{1, 1}}}));
    ASSERT_TRUE(hub_.Record(store::EndOf(1, Cause::kExit, JobId(2))));
    hub_.store().PutProgress({.job = JobId(1),
                              .state = store::JobState::kRunning,
                              .started = kThen + Duration::Seconds(60),
                              .counts = {.total = 4, .leased = 1, .succeeded = 2}});
    store::Bundle end;
    end.now = kThen + Duration::Seconds(30);
    end.records = {engine::JobFinished{JobId(2), {.total = 2, .succeeded = 1, .failed = 1}}};
    ASSERT_TRUE(hub_.Commit(std::move(end)));
  }

  HubWorld hub_;
  HistoryWorld world_;
  std::unique_ptr<JournalHub> asker_;
};

TEST_F(HubHistoryTest, NothingThere) {
  EXPECT_EQ(Run("job list", {}).err, "spate: no jobs on the hub yet; `spate submit` makes one\n");
  Ran ran = Run("job info", {});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err, "spate: no jobs on the hub yet; `spate submit` makes one\n");
}

TEST_F(HubHistoryTest, TheListShowsAllUsersAndHidesWhatIsOthers) {
  WriteThree();
  EXPECT_EQ(Out("job list", {}),
            "JOB  USER  NAME  STATE    DONE  FAILED  STARTED             TOOK\n"
            "  1  ada   job1  running   2/4       0  2020-09-13 12:27   9m00s\n"
            "  2  bob   -     failed    1/2       1  2020-09-13 12:26  30.0 s\n"
            "  3  ada   job3  queued    0/5       0  -                      -\n");
  See("root", true);
  EXPECT_NE(Out("job list", {}).find("  2  bob   job2  failed"), std::string::npos);
  See("bob");
  std::string lines = Out("job list", {"--output", "json"});
  auto line = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(line["user"], "ada");
  EXPECT_EQ(line["state"], "running");
  EXPECT_EQ(line["running"], 1);
  EXPECT_EQ(line["queued"], 1);
  for (const char* key : {"name", "argv", "cwd", "files", "host", "pid", "runs", "path"}) {
    EXPECT_TRUE(line[key].is_null()) << key;
  }
  size_t second = lines.find('\n') + 1;
  size_t third = lines.find('\n', second) + 1;
  auto own = nlohmann::json::parse(lines.substr(second, third - second));
  EXPECT_EQ(own["name"], "job2");
  EXPECT_EQ(own["argv"][2], "list.txt");
  EXPECT_EQ(lines.find("list.txt", third), std::string::npos);
  EXPECT_EQ(Out("job list", {"-q", "--filter", "queued"}), "3\n");
  EXPECT_EQ(Out("job list", {"-q", "--user", "ada"}), "1\n3\n");
  EXPECT_EQ(Out("job list", {"-q", "--user", "ada", "--limit", "1"}), "3\n");
  EXPECT_EQ(Out("job list", {"-q", "--user", "bob"}), "2\n");
  EXPECT_EQ(Out("job list", {"-q", "--filter", "failed"}), "2\n");
}

TEST_F(HubHistoryTest, OthersJobsAreNotToBeLookedInto) {
  WriteThree();
  for (auto [command, word] : {std::pair{"job info", "2"},
                               {"job tasks", "2"},
                               {"job cat", "2"},
                               {"job cat", "2.1"},
                               {"job tail", "2"},
                               {"task info", "2.1"},
                               {"task explain", "2.1"}}) {
    Ran ran = Run(command, {word});
    EXPECT_EQ(ran.code, ExitCodeOf(ErrorKind::kPermission)) << word;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err,
              "spate: job 2 belongs to bob; only bob and the hub's administrators may look into "
              "it\n");
  }
  EXPECT_EQ(Run("job info", {"9"}).err,
            "spate: no job 9 on the hub; there are 1-3 (see: spate job list)\n");
  // Jobs that are not named are passed over, and the last one is one's own.
  EXPECT_EQ(Out("job info", {"-q", "all"}), "1\n3\n");
  EXPECT_EQ(Out("job info", {"-q", "1-2"}), "1\n");
  EXPECT_EQ(Out("job info", {"-q"}), "3\n");
  See("bob");
  EXPECT_EQ(Out("job cat", {}), "secret0");
  See("eve");
  EXPECT_EQ(Run("job cat", {}).err,
            "spate: eve has no jobs on the hub yet; name one by its number (see: spate job "
            "list)\n");
  See("eve", true);
  EXPECT_EQ(Out("job cat", {"2.1"}), "secret0");
}

TEST_F(HubHistoryTest, OwnJobsTellAll) {
  WriteThree();
  std::string info = Out("job info", {"1"});
  EXPECT_NE(info.find("running\n"), std::string::npos) << info;
  EXPECT_NE(info.find("4: 2 succeeded, 1 running, 1 queued"), std::string::npos) << info;
  EXPECT_NE(info.find("spate submit "), std::string::npos) << info;
  EXPECT_EQ(info.find(hub_.path()), std::string::npos) << info;
  std::string tasks = Out("job tasks", {"1", "--limit", "3"});
  EXPECT_NE(tasks.find("row 1.1"), std::string::npos) << tasks;
  EXPECT_NE(tasks.find("row 1.3"), std::string::npos) << tasks;
  EXPECT_EQ(Out("job cat", {"1.2"}), "out1");
  EXPECT_EQ(Out("job tail", {"1", "-n", "1"}), "out1");
  EXPECT_NE(Out("task info", {"1.2"}).find("attempt 1"), std::string::npos);
  EXPECT_NE(Out("task explain", {"3.2"}).find("waits for a free slot"), std::string::npos);
}

TEST_F(HubHistoryTest, ATailBeginsAnewWhereItsTaskEndsMeanwhile) {
  WriteThree();
  wire::LookAtRun::Answer runs{.job = JobId(1), .task = 2, .state = TaskState::kLeased};
  runs.attempt = 1;
  runs.look.standing = RunLook::Standing::kRunning;
  runs.look.out.total = 3;
  for (const char* follow : {"-n10", "-f"}) {
    asker_->looks = {runs};
    EXPECT_EQ(Run("job tail", {follow, "1.2"}).out, "out1");
    // The next look finds it between its end and the journal's.
    asker_->looks = {runs, runs};
    asker_->looks.back().look = {.standing = RunLook::Standing::kEnded};
    EXPECT_EQ(Run("job tail", {follow, "1.2"}).out, "out1");
  }
}

TEST_F(HubHistoryTest, ASickBatchThatWasStoppedAndPushedAgainRuns) {
  JobId job = hub_.Submit(3, "ada");
  ASSERT_TRUE(hub_.Record(engine::Leased{NodeId(1), job, Attempt(1), {{0, 1}}}));
  ASSERT_TRUE(hub_.Record(store::EndOf(0, Cause::kExit, job)));
  ASSERT_TRUE(hub_.Record(engine::NodeSick{NodeId(1), job, "it fails everything"}));
  ASSERT_TRUE(hub_.Record(engine::JobHeld{job, engine::HoldReason::kAllFail}));
  std::string info = Out("job info", {"1"});
  EXPECT_NE(info.find("held: "), std::string::npos) << info;
  EXPECT_NE(info.find("it fails everything"), std::string::npos) << info;
  store::Bundle stop;
  stop.now = kThen + Duration::Seconds(30);
  stop.records = {engine::TasksWithdrawn{job, {{1, 2}}, ""},
                  engine::JobFinished{job, {.total = 3, .failed = 1, .cancelled = 2}}};
  ASSERT_TRUE(hub_.Commit(std::move(stop)));
  ASSERT_TRUE(hub_.Record(engine::JobGrown{job, 2, {}, {{3, 2, 0}}}));
  hub_.store().PutProgress({.job = job, .state = store::JobState::kRunning, .started = kThen});
  // Ended tasks are neither the new tasks' fault, nor the node's.
  info = Out("job info", {"1"});
  EXPECT_NE(info.find("running\n"), std::string::npos) << info;
  EXPECT_EQ(info.find("held"), std::string::npos) << info;
  EXPECT_EQ(info.find("excluded"), std::string::npos) << info;
}

TEST_F(HubHistoryTest, CommandsAreThoseOfAHub) {
  WriteThree();
  See("bob");
  std::string info = Out("job info", {"2"});
  EXPECT_NE(info.find("spate job retry 2\n"), std::string::npos) << info;
  EXPECT_EQ(info.find("--state"), std::string::npos) << info;
  EXPECT_NE(info.find("failures"), std::string::npos) << info;
}

TEST_F(HubHistoryTest, AHeldJobSaysWhySinceWhenAndHowItGoesOn) {
  using engine::HoldReason;
  struct {
    HoldReason reason;
    const char* state;
    const char* command;
  } const kTable[] = {
      {HoldReason::kUser, "held since 2020-09-13 12:27:10 by a user\n", "spate job release 3"},
      {HoldReason::kHaltRule, "held since 2020-09-13 12:27:10 by --halt\n", "spate job release 3"},
      {HoldReason::kMaxFailures, "held since 2020-09-13 12:27:10 by --max-failures until the",
       "spate job retry 3"},
      {HoldReason::kAllFail, "held since 2020-09-13 12:27:10: 25 attempts in a row have",
       "spate job release 3"},
  };
  WriteThree();
  JobPolicy policy;
  policy.pause_after_failures = 25;
  ASSERT_TRUE(hub_.Record(engine::PolicyChanged{JobId(3), policy}));
  for (const auto& row : kTable) {
    ASSERT_TRUE(hub_.Record(engine::JobHeld{JobId(3), row.reason, kThen + Duration::Seconds(30)}));
    std::string info = Out("job info", {"3"});
    EXPECT_NE(info.find(row.state), std::string::npos) << info;
    EXPECT_NE(info.find(row.command), std::string::npos) << info;
    auto line = nlohmann::json::parse(Out("job info", {"3", "--output=json"}));
    EXPECT_EQ(line["state"], "held");
    EXPECT_EQ(line["held_since"], 1'600'000'030);
    EXPECT_EQ(line["release_command"], row.command);
  }
  EXPECT_NE(Out("task explain", {"3.1"}).find("is held"), std::string::npos);
  // Before the hub has written the job's row again.
  hub_.store().PutProgress(
      {.job = JobId(3), .state = store::JobState::kHeld, .counts = {.total = 5}});
  ASSERT_TRUE(hub_.Record(engine::JobReleased{JobId(3)}));
  auto line = nlohmann::json::parse(Out("job info", {"3", "--output=json"}));
  EXPECT_EQ(line["state"], "running");
  EXPECT_TRUE(line["held_since"].is_null());
  EXPECT_TRUE(line["release_command"].is_null());
}

TEST_F(HubHistoryTest, NodesThatAJobSetsAsideAreNamed) {
  WriteThree();
  hub_.store().PutNode({.id = NodeId(7), .name = "n7", .created = kThen});
  hub_.store().PutNode({.id = NodeId(8), .name = "n8", .created = kThen});
  ASSERT_TRUE(hub_.Record(engine::NodeSick{NodeId(7), JobId(1), "3 attempts failed here"}));
  ASSERT_TRUE(hub_.Record(engine::NodeSick{NodeId(8), JobId(1), "no disk"}));
  ASSERT_TRUE(hub_.Record(engine::NodeSick{NodeId(8), JobId(3), "another job's trouble"}));
  std::string info = Out("job info", {"1"});
  EXPECT_NE(info.find("n7: 3 attempts failed here"), std::string::npos) << info;
  EXPECT_NE(info.find("n8: no disk"), std::string::npos) << info;
  EXPECT_NE(info.find("spate node resume n7\n"), std::string::npos) << info;
  EXPECT_NE(info.find("an administrator"), std::string::npos) << info;
  // The record that clears them belongs to no job.
  ASSERT_TRUE(hub_.Record(engine::NodeCleared{NodeId(7), JobId()}));
  auto line = nlohmann::json::parse(Out("job info", {"1", "--output=json"}));
  EXPECT_EQ(line["set_aside"], nlohmann::json::parse(R"([{"node":"n8","why":"no disk",)"
                                                     R"("command":"spate node resume n8"}])"));
  ASSERT_TRUE(hub_.Record(engine::NodeRemoved{NodeId(8)}));
  EXPECT_EQ(Out("job info", {"1"}).find("excluded"), std::string::npos);
}

TEST_F(HubHistoryTest, VariablesOfTheSubmittersBatchJobAreNamed) {
  WriteThree();
  EXPECT_EQ(Out("job info", {"1"}).find("not passed"), std::string::npos);
  world_.settings.environment = {"PATH=/bin",      "SLURM_NNODES=2", "SLURM_CONF=/c",
                                 "SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0"};
  std::string info = Out("job info", {"1"});
  EXPECT_NE(info.find("SLURM_JOB_ID, SLURM_NNODES, SLURM_NTASKS and 1 more"), std::string::npos)
      << info;
  auto line = nlohmann::json::parse(Out("job info", {"1", "--output=json"}));
  EXPECT_EQ(line["not_passed"],
            (Argv{"SLURM_JOB_ID", "SLURM_NNODES", "SLURM_NTASKS", "SLURM_PROCID"}));
}

TEST_F(HubHistoryTest, ACommentIsShown) {
  WriteThree();
  EXPECT_EQ(Out("job info", {"1"}).find("comment"), std::string::npos);
  world_.settings.comment = "for figure 3\x1b";
  EXPECT_NE(Out("job info", {"1"}).find("comment    for figure 3\\x1b"), std::string::npos)
      << Out("job info", {"1"});
  auto line = nlohmann::json::parse(Out("job info", {"1", "--output=json"}));
  EXPECT_EQ(line["comment"], "for figure 3\x1b");
}

// The cost of a list does not depend on how much the jobs did: it reads no attempt.
TEST_F(HubHistoryTest, AListReadsNoAttempts) {
  WriteThree();
  hub_.Close();
  auto db = store::Database::Open(hub_.path() + "/hub.db", store::DbMode::kWrite);
  ASSERT_TRUE(db && db->Run("DROP VIEW task; DROP VIEW attempts; ALTER TABLE attempt RENAME TO a;"
                            "CREATE VIEW attempts AS SELECT 1; CREATE VIEW task AS SELECT 1"));
  EXPECT_NE(Out("job list", {}).find("job3"), std::string::npos);
  EXPECT_NE(Run("job info", {"1"}).code, 0);
}

TEST_F(HubHistoryTest, TheReportSumsOthersByUser) {
  WriteThree();
  EXPECT_EQ(Out("report", {}),
            "USER  JOB  NAME  TASKS  ENDS     FAILED  CPU-H  WALL-H    PEAK  SUGGEST\n"
            "ada     1  job1      2     2          0   0.00    0.00  1.5 MB       2M\n"
            "ada   all            2     2          0   0.00    0.00  1.5 MB       2M\n"
            "bob   all            2     2  1 (50.0%)   0.00    0.00  1.5 MB       2M\n");
  EXPECT_EQ(Out("report", {"--user=bob", "--output=json"}),
            R"({"type":"use","v":2,"user":"bob","job":null,"name":null,"tasks":2,"ends":2,)"
            R"("failed":1,"failed_share":0.5,"cpu":0.0014,"wall":0.001201,"peak_memory":1536000,)"
            R"("suggested_memory":2097152,"suggested_cpus":0,"suggested_time":1})"
            "\n");
  See("root", true);
  EXPECT_EQ(Out("report", {"--user=bob"}),
            "USER  JOB  NAME  TASKS  ENDS     FAILED  CPU-H  WALL-H    PEAK  SUGGEST\n"
            "bob     2  job2      2     2  1 (50.0%)   0.00    0.00  1.5 MB       2M\n"
            "bob   all            2     2  1 (50.0%)   0.00    0.00  1.5 MB       2M\n");
}

TEST_F(HubHistoryTest, TheReportSuggestsWhatMoreOfAJobNeed) {
  WriteThree();
  auto suggested = [&](const char* job) { return Out("report", {"--suggest", job, "-q"}); };
  // Nothing ran long enough to tell of processors.
  EXPECT_EQ(suggested("1"), "--memory 2M --time 1s\n");
  ASSERT_TRUE(hub_.Record(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{2, 2}}}));
  auto end = store::EndOf(2, Cause::kSuccess);
  end.end.start = kThen + Duration::Seconds(300);
  end.end.wall = Duration::Seconds(100);
  end.end.user = Duration::Seconds(205);
  end.end.peak_memory = 10 << 20;
  ASSERT_TRUE(hub_.Record(end));
  EXPECT_EQ(suggested("1"), "--cpus 2 --memory 12M --time 120s\n");
  // One that failed had less time than it needs, or ran for ever.
  end = store::EndOf(3, Cause::kExit);
  end.end.start = kThen + Duration::Seconds(300);
  end.end.wall = Duration::Seconds(1000);
  end.end.user = Duration::Seconds(9000);
  ASSERT_TRUE(hub_.Record(end));
  EXPECT_EQ(suggested("1"), "--cpus 2 --memory 12M --time 120s\n");
  auto line = nlohmann::json::parse(Out("report", {"--suggest=1", "--output=json"}));
  EXPECT_EQ(line["job"], 1);
  EXPECT_EQ(line["suggested_cpus"], 2);
  EXPECT_EQ(line["suggested_time"], 120);
  EXPECT_EQ(Run("report", {"--suggest", "3"}).err,
            "spate: no task of job 3 has succeeded, so their needs are not known\n");
  Ran others = Run("report", {"--suggest", "2"});
  EXPECT_EQ(others.code, ExitCodeOf(ErrorKind::kPermission));
  EXPECT_EQ(others.out, "");
  EXPECT_EQ(Run("report", {"--suggest", "1-3"}).err, "spate: name one job\n");
  EXPECT_EQ(Run("report", {"--suggest", "1", "--since", "1d"}).code, kExitUsage);
}

TEST_F(HubHistoryTest, TheReportOfAJobTellsHowItGotOnWithOthers) {
  hub_.Submit(4, "ada");
  store::Bundle accepted = HubWorld::Accept(JobId(2), 4);
  std::get<engine::JobAccepted>(accepted.records[0]).plan.requests[0].bound = BoundBy::kNetwork;
  hub_.store().PutJob(HubWorld::RowOf(JobId(2), 4, "bob"));
  ASSERT_TRUE(hub_.Commit(std::move(accepted)));
  EXPECT_EQ(Run("report", {"1"}).err, "spate: no task of this job has ended yet\n");
  auto ran = [&](JobId job, TaskIndex index, int64_t from, int64_t wall) {
    auto end = store::EndOf(index, Cause::kSuccess, job);
    end.end.start = kThen + Duration::Seconds(from);
    end.end.wall = Duration::Seconds(wall);
    ASSERT_TRUE(hub_.Record(end));
  };
  ran(JobId(1), 0, 0, 10);
  ran(JobId(1), 1, 100, 15);
  ran(JobId(2), 0, 100, 300);
  Ran report = Run("report", {"1"});
  EXPECT_EQ(report.out,
            "USER  JOB  NAME  TASKS  ENDS  FAILED  CPU-H  WALL-H    PEAK  SUGGEST\n"
            "ada     1  job1      2     2       0   0.00    0.01  1.5 MB       2M\n"
            "\n"
            "BESIDE        TASKS  MEDIAN WALL  AGAINST ALONE\n"
            "alone             1       10.0 s              -\n"
            "network jobs      1       15.0 s           +50%\n");
  EXPECT_NE(report.err.find("spate submit --like 1"), std::string::npos) << report.err;
  std::string json = Out("report", {"1", "--output=json"});
  EXPECT_NE(json.find(R"({"type":"pair","v":2,"job":1,"beside":"alone","tasks":1,)"
                      R"("median_wall":10,"against_alone":1})"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("beside":"network","tasks":1,"median_wall":15,"against_alone":1.5})"),
            std::string::npos)
      << json;
  Ran others = Run("report", {"2"});
  EXPECT_EQ(others.code, ExitCodeOf(ErrorKind::kPermission));
  EXPECT_EQ(others.out, "");
  EXPECT_EQ(Run("report", {"1", "--since", "1d"}).code, kExitUsage);
  hub_.Submit(1, "ada");
  EXPECT_EQ(Run("report", {"1-3"}).err, "spate: name one job\n");
}

TEST_F(HubHistoryTest, TheReportGoesBackSoFar) {
  WriteThree();
  EXPECT_EQ(Run("report", {"--since=9m"}).err, "spate: the hub has no usage to report\n");
  std::string all = Out("report", {"--output=json"});
  EXPECT_EQ(Out("report", {"--since=11m", "--output=json"}), all);
  auto late = store::EndOf(2, Cause::kNode);
  late.verdict = engine::Verdict::kRetry;
  late.end.start = kThen + Duration::Seconds(300);
  ASSERT_TRUE(hub_.Record(late));
  auto sum = Out("report", {"--since=9m", "--output=json"});
  auto line = nlohmann::json::parse(sum.substr(0, sum.find('\n')));
  EXPECT_EQ(line["job"], 1);
  EXPECT_EQ(line["ends"], 1);
  EXPECT_EQ(line["tasks"], 0);  // it is tried again
  EXPECT_EQ(Run("report", {"--since=soon"}).code, kExitUsage);
}

}  // namespace
}  // namespace spate::cli::command
