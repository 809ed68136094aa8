#include "doors/pmc/formats/event_logs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::pmc {
namespace {

constexpr Instant kWhen = {1795287370'000'012'999};  // 2026-11-21T18:56:10Z

TaskEvent Event(TaskStage stage, int status = 0, std::string_view task = "A") {
  return {.when = kWhen, .offset = 60, .stage = stage, .task = task, .number = 7, .status = status};
}

TEST(PmcEventLogsTest, Tasks) {
  struct Case {
    TaskEvent event;
    std::string_view jobstate, dagman;
  };
  for (const Case& c : std::vector<Case>{
           {Event(TaskStage::kSubmitted), "1795287370.000012 A SUBMIT 7.0 - - 7\n",
            "11/21/26 19:56:10 Submitting Condor Node A job(s)...\n"
            "11/21/26 19:56:10 Event: ULOG_SUBMIT for Condor Node A (7.0)\n"},
           {Event(TaskStage::kStarted), "1795287370.000012 A EXECUTE 7.0 - - 7\n",
            "11/21/26 19:56:10 Event: ULOG_EXECUTE for Condor Node A (7.0)\n"},
           {Event(TaskStage::kEnded),
            "1795287370.000012 A JOB_TERMINATED 7.0 - - 7\n"
            "1795287370.000012 A JOB_SUCCESS 0 - - 7\n",
            "11/21/26 19:56:10 Event: ULOG_JOB_TERMINATED for Condor Node A (7.0)\n"
            "11/21/26 19:56:10 Node A job proc (7.0) completed successfully.\n"},
           {Event(TaskStage::kEnded, 768, "a\rb"),
            "1795287370.000012 a%0Db JOB_TERMINATED 7.0 - - 7\n"
            "1795287370.000012 a%0Db JOB_FAILURE 768 - - 7\n",
            "11/21/26 19:56:10 Event: ULOG_JOB_TERMINATED for Condor Node a%0Db (7.0)\n"
            "11/21/26 19:56:10 Node a%0Db job proc (7.0) failed with status 768.\n"}}) {
    EXPECT_EQ(JobstateLines(c.event), c.jobstate);
    EXPECT_EQ(DagmanLines(c.event), c.dagman);
  }
}

TEST(PmcEventLogsTest, JobstateFrame) {
  EXPECT_EQ(JobstateStart(kWhen), "1795287370.000012 INTERNAL *** PMC_STARTED ***\n");
  EXPECT_EQ(JobstateEnd(kWhen, true), "1795287370.000012 INTERNAL *** PMC_FINISHED 0 ***\n");
  EXPECT_EQ(JobstateEnd(kWhen, false), "1795287370.000012 INTERNAL *** PMC_FINISHED 1 ***\n");
}

TEST(PmcEventLogsTest, DagmanFrame) {
  EXPECT_EQ(DagmanStart(kWhen, -1200, 42, "x.dag"),
            "11/20/26 22:56:10 This log is made up for pegasus-monitord: no DAGMan runs here\n"
            "11/20/26 22:56:10 ** condor_scheduniv_exec.0.0 (CONDOR_DAGMAN) STARTING UP\n"
            "11/20/26 22:56:10 ** PID = 42\n"
            "11/20/26 22:56:10 Parsing x.dag ...\n");
  EXPECT_EQ(DagmanEnd(kWhen, 0, 42, true),
            "11/21/26 18:56:10 **** condor_scheduniv_exec.0.0 (condor_DAGMAN) pid 42 EXITING WITH "
            "STATUS 0\n");
  EXPECT_TRUE(DagmanEnd(kWhen, 0, 42, false).ends_with(" EXITING WITH STATUS 1\n"));
}

TEST(PmcEventLogsTest, Resources) {
  EXPECT_EQ(ResourceLine(kWhen, {.host = "n1", .slots = 1, .cpus = 2, .memory_mb = 3}),
            "1795287370.000012,1,2,3,n1\n");
  EXPECT_EQ(ResourceLine({1'000'000'000}, {.host = "a,b\n"}), "1.000000,0,0,0,a%2Cb%0A\n");
}

}  // namespace
}  // namespace spate::pmc
