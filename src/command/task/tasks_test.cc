
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "command/task/explanation.h"
#include "command/testing_history.h"

namespace spate::cli::command {
namespace {

using engine::Verdict;
using Ran = HistoryWorld::Ran;
using Argv = std::vector<std::string>;

class TaskCommands : public testing::Test {
 protected:
  Ran Run(std::string_view command, Argv argv) { return world_.Run(command, std::move(argv)); }
  std::string Out(std::string_view command, Argv argv) {
    Ran ran = Run(command, std::move(argv));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  HistoryWorld world_;
};

std::string KeysOf(const nlohmann::ordered_json& json) {
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += (keys.empty() ? "" : " ") + key;
  return keys;
}

TEST_F(TaskCommands, InfoShowsEveryAttempt) {
  WriteSix(*world_.AddJob(SixTasks()));
  EXPECT_EQ(Out("task info", {"1.3"}),
            "task 1.3  failed\n"
            "  command    sh bad.sh\n"
            "  folder     /data/work\n"
            "  needs      1 cpu\n"
            "  attempt 1  exit code 3, retried\n"
            "             started 2020-09-13 12:26:42 in slot 1, took 1.50 s\n"
            "             CPU 1.00 s user, 0.25 s system\n"
            "             memory peak 3.0 MB, of its largest process\n"
            "             6 B of errors\n"
            "             1 process outlived it and was terminated\n"
            "             leftover processes: 'sleep', ended\n"
            "  attempt 2  exit code 3, failed for good\n"
            "             started 2020-09-13 12:26:44 in slot 1, took 1.50 s\n"
            "             CPU 1.00 s user, 0.25 s system\n"
            "             memory peak 3.0 MB, of its largest process\n"
            "             6 B of output, 4 B of errors\n"
            "  why        spate task explain 1.3\n"
            "  to read    spate job cat 1.3\n");
  EXPECT_EQ(Out("task info", {"-q", "last.5-6", "1.1"}), "1.1\n1.5\n1.6\n");
  EXPECT_EQ(Run("task info", {"1.9"}).code, kExitUsage);
  EXPECT_EQ(Run("task info", {"2.1"}).code, kExitUsage);
}

TEST_F(TaskCommands, InfoOfChecksFilesAndNotes) {
  JobText text;
  text.rows = {"sort {check in exists a.txt} > {check out line+ b.txt}"};
  world_.settings.stdin_pattern = "{#}.in";
  {
    auto job = world_.AddJob(text);
    auto end = AttemptOf(1, 0, 1, Cause::kCheck, 0, Verdict::kFailed);
    end.end.note = "b.txt is empty\nand \x1b more";
    end.end.memory_source = MemorySource::kCgroup;
    end.end.read_bytes = 2048;
    end.end.written_bytes = 10;
    end.end.processes = {{0, 0, 0, 0}, {0, 1, 0, 141}};
    job->RunTask(std::move(end), std::string(200'000, 'x'));
  }
  std::string out = Out("task info", {"1.1"});
  for (const char* line :
       {"  stdin      1.in\n", "  checks     in exists a.txt\n", "             out line+ b.txt\n",
        "             memory peak 3.0 MB, as measured by its cgroup\n",
        "             I/O 2.0 KB read, 10 B written\n",
        "             195 KB of output (beginning and end kept, 128 KB), because its node\n",
        "             step 1 command 2: status 141\n", "             and \\x1b more\n"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << "in\n" << out;
  }
}

TEST_F(TaskCommands, InfoOfAGangNamesItsRanks) {
  JobText text;
  text.rows = {"mpirun"};
  {
    auto job = world_.AddJob(text);
    auto end = AttemptOf(1, 0, 1, Cause::kExit, 7, Verdict::kFailed);
    end.end.note = "rank 1 exited with 7";
    end.end.processes = {{0, 0, 0, 143, 5, 0}, {0, 1, 1, 7, 0, 3}, {0, 2, 2, 0, 0, 0}};
    job->RunTask(std::move(end), "aaaaa");
  }
  std::string out = Out("task info", {"1.1"});
  for (const char* line :
       {"             ranks 0-2\n", "             rank 0: status 143\n",
        "             rank 1: status 7\n", "             rank 1 exited with 7\n"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << "in\n" << out;
  }
  EXPECT_EQ(out.find("rank 2: "), std::string::npos) << out;
  auto task =
      nlohmann::ordered_json::parse(Out("task info", {"1.1", "--output", "json"}), nullptr, false);
  const auto& processes = task["ends"][0]["processes"];
  ASSERT_EQ(processes.size(), 3u);
  EXPECT_EQ(KeysOf(processes[1]), "step command rank status stdout_bytes stderr_bytes");
  EXPECT_EQ(processes[1]["stderr_bytes"], 3);
  EXPECT_TRUE(task["ends"][0]["node"].is_null());
}

// The row with the verdict is that of the part that ended last.
TEST_F(TaskCommands, TheVerdictOfAGangNamesThePartThatCausedIt) {
  world_.environment().width = 200;
  JobText text;
  text.rows = {"mpirun"};
  {
    auto job = world_.AddJob(text);
    auto last = AttemptOf(1, 0, 1, Cause::kExit, 7, Verdict::kFailed, 1);
    last.end.note =
        "ranks 2-3 on node n1 ended with exit code 7; the others were ended for it\nmore";
    last.end.processes = {{0, 0, 0, 143, 0, 0}, {0, 1, 1, 143, 0, 0}};
    job->RunTask(std::move(last));
  }
  std::string out = Out("task info", {"1.1"});
  EXPECT_NE(out.find("ranks 2-3 on node n1 ended with exit code 7; the others were ended for it, "
                     "failed for good\n             the last part: ranks 0-1\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(out.find("for it\n"), std::string::npos) << "it is no further line: " << out;
  EXPECT_NE(out.find("             more\n"), std::string::npos) << out;
  out = Out("task explain", {"1.1"});
  EXPECT_NE(out.find("ranks 2-3 on node n1 ended with exit code 7"), std::string::npos) << out;
}

TEST_F(TaskCommands, JsonHasExactlyTheseKeys) {
  JobText text = SixTasks();
  text.rows[2] = "sort {check out exists+ x}";
  WriteSix(*world_.AddJob(text));
  auto task =
      nlohmann::ordered_json::parse(Out("task info", {"1.3", "--output", "json"}), nullptr, false);
  EXPECT_EQ(
      KeysOf(task),
      "type v job task state attempts tries command cwd place left_running running start_news "
      "stdin_file stdout_file stderr_file "
      "checks needs gang deadline bound time_limit change ends");
  EXPECT_EQ(KeysOf(task["checks"][0]), "when kind file");
  EXPECT_EQ(KeysOf(task["needs"]), "cpus memory named");
  ASSERT_EQ(task["ends"].size(), 2u);
  EXPECT_EQ(KeysOf(task["ends"][0]),
            "attempt verdict counts cause status slot start wall user system peak_memory "
            "memory_source read_bytes written_bytes left_behind note stdout_bytes stderr_bytes "
            "not_kept stdout_kept stderr_kept node processes");
  EXPECT_EQ(task["ends"][0]["note"], "leftover processes: 'sleep', ended");
  auto why = nlohmann::ordered_json::parse(Out("task explain", {"1.3", "--output", "json"}),
                                           nullptr, false);
  EXPECT_EQ(KeysOf(why),
            "type v job task state attempts tries command reason text reasons retry_at gang "
            "deadline bound "
            "slot pid since running start_news next_command");
  EXPECT_EQ(why["reason"], "tries-used");
  EXPECT_EQ(why["next_command"], "spate job retry 1.3");
}

TEST_F(TaskCommands, EveryKeyIsDocumented) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SPATE_SOURCE does not say where docs/ is";
  std::string page = *os::ReadFile(std::string(source) + "/docs/formats/json.md", 1 << 20);
  WriteSix(*world_.AddJob(SixTasks()));
  for (const char* command : {"task info", "task explain"}) {
    auto json = nlohmann::json::parse(Out(command, {"1.3", "--output", "json"}), nullptr, false);
    if (json.contains("ends")) json.update(json["ends"][0]);
    for (const auto& [key, value] : json.items()) {
      EXPECT_NE(page.find('`' + key + '`'), std::string::npos) << key;
    }
  }
}

TEST_F(TaskCommands, ExplainsWhatHasEnded) {
  WriteSix(*world_.AddJob(SixTasks()));
  EXPECT_EQ(Out("task explain", {"1.3"}),
            "task 1.3  failed\n"
            "  why        exit code 3 at the last of 2 tries (--retries 1)\n"
            "  command    sh bad.sh\n"
            "  attempt 1  exit code 3, retried, after 1.50 s\n"
            "  attempt 2  exit code 3, failed for good, after 1.50 s\n"
            "  to retry   spate job retry 1.3\n");
  std::string all = Out("task explain", {"1.1-6"});
  for (const char* line :
       {"  why        its only attempt succeeded\n",
        "  why        it was no longer in the list when the job was resumed\n",
        "  why        its outcome was lost, and --once does not allow repeating a task\n"}) {
    EXPECT_NE(all.find(line), std::string::npos) << line << "in\n" << all;
  }
}

TEST_F(TaskCommands, ExplainsWhatWaitsForAResume) {
  JobText text;
  text.rows = {"a", "b"};
  world_.AddJob(text)->End(store::JobState::kStopped, {.total = 2}, 5);
  EXPECT_EQ(Out("task explain", {"1.2"}),
            "task 1.2  queued\n"
            "  why        the run was stopped at 2020-09-13 12:26:45, before it was started\n"
            "  command    b\n"
            "  to resume  spate run --resume list.txt\n");
  world_.AddJob(text);
  std::string out = Out("task explain", {"last.1"});
  EXPECT_NE(out.find("process 4711, which ran the job, ended unexpectedly"), std::string::npos);
  EXPECT_NE(out.find("  to resume  spate run --resume list.txt\n"), std::string::npos) << out;
}

TEST_F(TaskCommands, FindsTheProcessesOfARunningTask) {
  JobText text;
  text.rows = {"a", "b", "c"};
  auto job = world_.AddJob(text);
  job->Record(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{0, 2}}});
  world_.AddRunningTask(1);
  // Another's, with the same marks.
  world_.AddProcess(20'000'004, 1, 50, std::string("SPATE_JOB_ID=1\0SPATE_TASK_INDEX=2\0", 34));
  // Up for 10 s, of which 3 s had gone when it started.
  EXPECT_EQ(Out("task explain", {"1.1"}),
            "task 1.1  running\n"
            "  why        attempt 1 has been running since 2020-09-13 12:36:33 (7s) in slot 4\n"
            "             as process 20000011\n"
            "  command    a\n");
  EXPECT_NE(Out("task explain", {"1.2"}).find("it has a slot"), std::string::npos);
  EXPECT_NE(Out("task explain", {"1.3"}).find("it waits for a free slot: 2 tasks running"),
            std::string::npos);
}

// ---- Explain, the pure part
// ----------------------------------------------------------------------

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() { job_.counts = {.total = 9, .queued = 5, .leased = 1}; }
  Explanation Get() {
    auto time = [](Instant when) { return fmt::format("+{}s", (when - kThen).ns / 1'000'000'000); };
    return Explain(at_, waits_, {/*on_hub=*/false, kThen, time, ""});
  }
  void Ended(Cause cause, int32_t status, Verdict verdict) {
    auto ended = AttemptOf(1, 0, 1, cause, status, verdict, -2);
    task_.last = AttemptFacts{
        .end = ended.end, .verdict = verdict, .counts = ended.counts, .ended = ended.ended};
    task_.attempts = 1;
    task_.tries = ended.counts ? 1 : 0;
  }
  TaskDetails at_;
  Why waits_;
  TaskFacts& task_ = at_.task;
  JobFacts& job_ = at_.job;
};

TEST_F(ExplainTest, Failures) {
  task_.state = TaskState::kFailed;
  Ended(Cause::kExit, 3, Verdict::kFailed);
  EXPECT_EQ(Get().text, "exit code 3, and no retries were requested (--retries)");
  at_.retry.retries = 3;
  at_.retry.retry_on = CauseBit(Cause::kSignal);
  EXPECT_EQ(Get().reason, "not-retried");
  EXPECT_EQ(Get().text, "exit code 3, and --retry-on does not name exit");
  at_.retry.exits = {{4, 5}};
  EXPECT_EQ(Get().text, "exit code 3, and --retry-on does not name exit:3");
  at_.retry.exits.clear();
  Ended(Cause::kStart, 127, Verdict::kFailed);
  EXPECT_EQ(Get().text, "command not found (127), and --retry-on does not name exit");
  at_.retry.retry_on = kAllCauses;
  Ended(Cause::kNode, 0, Verdict::kFailed);
  EXPECT_EQ(Get().reason, "losses");
  EXPECT_EQ(Get().remedy, Remedy::kRetry);
}

// No --retry-on names the cause: such an attempt is repeated without one.
TEST_F(ExplainTest, ATaskThatOutlivesEveryPilot) {
  task_.state = TaskState::kFailed;
  at_.retry.retry_on = CauseBit(Cause::kSignal);
  Ended(Cause::kStopped, kCutOff, Verdict::kFailed);
  task_.last->counts = false;
  task_.last->end.note =
      "it was cut off 3 times because its nodes ended, after at most 1m00s, and no pool gives a "
      "task more than 1m00s";
  EXPECT_EQ(Get().reason, "cut-off");
  EXPECT_EQ(Get().text,
            task_.last->end.note + "; to let pilots run longer: spate pool set POOL --time-limit");
}

TEST_F(ExplainTest, WaitingInARun) {
  job_.state = JobStanding::kRunning;
  EXPECT_EQ(Get().reason, "slot");
  EXPECT_EQ(Get().text, "it waits for a free slot: 1 task running or about to start, 5 queued");
  at_.min_free_memory = 1 << 30;
  at_.max_load = 2.5;
  EXPECT_EQ(Get().text,
            "it waits for a free slot: 1 task running or about to start, 5 queued; no tasks start "
            "while less than 1.0 GB of memory is free; no tasks start while the load is above 2.5");
  Ended(Cause::kExit, 1, Verdict::kRetry);
  at_.retry.delay = Duration::Seconds(60);
  EXPECT_EQ(Get().reason, "retry-delay");
  EXPECT_EQ(Get().text, "exit code 1; its next try waits for --retry-delay until +59s");
  at_.held = HoldReason::kHaltRule;
  EXPECT_EQ(Get().reason, "held");
  EXPECT_EQ(Get().text, "the run is ending: --halt stopped it, so no more tasks of the job start");
}

TEST_F(ExplainTest, WhatTheRunItselfSays) {
  job_.state = JobStanding::kRunning;
  waits_ = {{ReasonKind::kParents, {1, 2, 0, 3}}};
  EXPECT_EQ(Get().reason, "parents");
  EXPECT_EQ(Get().text, "it waits for 1 of 2 parents: task 3");
  waits_ = {{ReasonKind::kOthersAhead}};
  EXPECT_EQ(Get().text, "it waits for a free slot: 1 task running or about to start, 5 queued");
  waits_ = {{ReasonKind::kJobLimit, {1}}};
  EXPECT_EQ(Get().reason, "limit");
  at_.held = HoldReason::kHaltRule;
  EXPECT_EQ(Get().reason, "held");
  at_.held = HoldReason::kNone;
  task_.state = TaskState::kLeased;
  waits_ = {{ReasonKind::kPartWaits, {}, {}, {"n1"}}};
  EXPECT_EQ(Get().text, "it starts as soon as node n1 has room for its part");
  waits_ = {};
  EXPECT_EQ(Get().reason, "given");
}

TEST_F(ExplainTest, AttemptsThatAreNoTriesWaitForNoDelay) {
  job_.state = JobStanding::kRunning;
  Ended(Cause::kNode, 0, Verdict::kRetry);
  at_.retry.delay = Duration::Seconds(60);
  EXPECT_EQ(Get().reason, "slot");
}

}  // namespace
}  // namespace spate::cli::command
