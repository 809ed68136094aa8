#include "doors/pmc/formats/messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/lines.h"

namespace spate::pmc {
namespace {

TEST(PmcMessagesTest, Lines) {
  struct Case {
    LogLevel level;
    std::string_view line;
  };
  for (const Case& c : {Case{LogLevel::kFatal, "[fatal] x\n"},
                        {LogLevel::kError, "[error] x\n"},
                        {LogLevel::kWarn, "[warn] x\n"},
                        {LogLevel::kInfo, "[info] x\n"},
                        {LogLevel::kDebug, "[debug] x\n"},
                        {LogLevel::kTrace, "[trace] x\n"}}) {
    EXPECT_EQ(LogLine(c.level, "x"), c.line);
  }
  // The numbers that -v and -q count.
  EXPECT_EQ(static_cast<int>(LogLevel::kFatal), 0);
  EXPECT_EQ(static_cast<int>(LogLevel::kInfo), 3);
  EXPECT_EQ(static_cast<int>(LogLevel::kTrace), 5);
  EXPECT_EQ(LogLine(LogLevel::kWarn, "a\nb"), "[warn] a\\nb\n");
  EXPECT_EQ(AbortLine("a\nb"), "ABORT: a\\nb\n");
}

TEST(PmcMessagesTest, Banner) {
  EXPECT_EQ(BannerLines({.version = "1.2", .compiled = "today", .compiler = "g++", .mpi = "none"}),
            "Version: 1.2\nCompiled: today\nCompiler: g++\nMPI: none\n");
  EXPECT_EQ(BannerLines({.version = "1.2"}), "Version: 1.2\n");
}

// Others match on these.
TEST(PmcMessagesTest, Texts) {
  EXPECT_EQ(kNoWorker, "At least one worker process is required");
  EXPECT_EQ(kAborting, "Aborting workflow");
  EXPECT_EQ(kWallTimeOver, "Workflow wall time exceeded!");
  EXPECT_EQ(kFailed, "Workflow failed");
  EXPECT_EQ(LogLine(LogLevel::kTrace, SchedulingText("X")), "[trace] Scheduling task X\n");
  EXPECT_EQ(HostText("n1", 3, 2000, 4), "Host n1: workers: 3, memory: 2000 MB, CPUs: 4");
  EXPECT_EQ(WorkflowText(4, 3, 1), "Workflow: tasks: 4, edges: 3, done before: 1");
  EXPECT_EQ(TaskStartText("X", 2, "n1"), "Task X runs in worker 2 on host n1");
  EXPECT_EQ(TaskEndText("X", 768, Duration::Millis(1500)),
            "Task X ended with status 768 after 1.500000 seconds");
  EXPECT_EQ(LogLine(LogLevel::kError, TaskFailedText("X", 768)),
            "[error] Task X failed with exitcode 768\n");
  EXPECT_EQ(ForwardFailedText("A"), "Task A failed due to collective I/O errors");
  EXPECT_EQ(NoHostText("A"), "FATAL ERROR: No host is capable of running task A");
  EXPECT_EQ(DagLockedText("/d"), "DAG file is already locked by another process: /d");
  EXPECT_EQ(HostScriptStartText(1, "/s"), "Worker 1: Launching host script /s");
  EXPECT_EQ(HostScriptEndText(0), "Host script exited with status 0");
  EXPECT_EQ(HostScriptEndText(256), "Host script failed with status 256");
  EXPECT_EQ(HostScriptTimeoutText(Duration::Seconds(60)), "Host script timed out after 60 seconds");
  EXPECT_EQ(MasterText(3), "Master starting with 3 workers");
  EXPECT_EQ(MaxFilesText(256), "Max cached files: 256");
  EXPECT_EQ(MaxWallTimeText(Duration::Seconds(90)), "Max walltime: 1.500000 minutes");
}

TEST(PmcMessagesTest, Statistics) {
  EXPECT_EQ(StatisticsTexts({.runtime = Duration::Seconds(30),
                             .wall = Duration::Millis(12500),
                             .makespan = Duration::Seconds(10),
                             .workers = 3,
                             .succeeded = 5,
                             .bytes_sent = 340,
                             .bytes_received = 170,
                             .file_hits = 3,
                             .file_misses = 1}),
            (std::vector<std::string>{
                "Resource utilization (with master): 0.600000",
                "Resource utilization (without master): 0.800000",
                "Total runtime of tasks: 30.000000 seconds (0.500000 minutes)",
                "Wall time: 12.500000 seconds (0.208333 minutes)",
                "Makespan: 10.000000 seconds (0.166667 minutes)",
                "Throughput: 0.500000 tasks/second",
                "Bytes sent to workers: 340",
                "Bytes received from workers: 170",
                "File descriptor cache hit rate: 0.750000",
            }));
  // Nothing was done, in no time.
  auto none = StatisticsTexts({});
  EXPECT_EQ(none[0], "Resource utilization (with master): 0.000000");
  EXPECT_EQ(none[1], "Resource utilization (without master): 0.000000");
  EXPECT_EQ(none[5], "Throughput: 0.000000 tasks/second");
  EXPECT_EQ(none[8], "File descriptor cache hit rate: 1.000000");
}

TEST(PmcMessagesTest, TheSecondsOfTheWallTimeAreTheFourthWord) {
  std::string line =
      LogLine(LogLevel::kInfo, StatisticsTexts({.wall = Duration::Seconds(60)}).at(3));
  std::string_view rest = line;
  std::string_view word;
  for (int i = 0; i < 4; ++i) word = format::NextWord(&rest);
  EXPECT_EQ(word, "60.000000");
  EXPECT_EQ(rest, " seconds (1.000000 minutes)\n");
}

}  // namespace
}  // namespace spate::pmc
