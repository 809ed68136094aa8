#include <gtest/gtest.h>

#include "command/testing_history.h"
#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

// Two of three tasks are given out, the second one has processes.
class JobTopHere : public testing::Test {
 protected:
  JobTopHere() {
    JobText text;
    text.rows = {"a", "b", "c"};
    job_ = world_.AddJob(text);
    job_->Record(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{0, 2}}});
    world_.AddRunningTask(2);
  }
  HistoryWorld world_;
  std::unique_ptr<HistoryWorld::OpenJob> job_;
};

TEST_F(JobTopHere, ShowsWhatRunsOfARun) {
  auto ran = world_.Run("job top", {});
  EXPECT_EQ(ran.code, kExitSuccess) << ran.err;
  EXPECT_EQ(ran.out,
            "job 1  align  running: 0 of 3 done, 1 running\n"
            "TASK  RUNS FOR  TRY  COMMAND\n"
            "   2    7.00 s    1  b\n");
}

TEST_F(JobTopHere, ForPrograms) {
  EXPECT_EQ(world_.Run("job top", {"-q"}).out, "1.2\n");
  std::string lines = world_.Run("job top", {"--json"}).out;
  EXPECT_TRUE(lines.starts_with("{\"type\":\"job\"")) << lines;
  EXPECT_NE(lines.find("{\"type\":\"running_task\""), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"job\":1,\"task\":2,\"since\":1600000593"), std::string::npos) << lines;
}

TEST(JobTop, AJobThatHasEndedRunsNothing) {
  HistoryWorld world;
  WriteSix(*world.AddJob(SixTasks()));
  EXPECT_EQ(world.Run("job top", {"1"}).out,
            "job 1  align  failed: 2 of 5 done, 3 failed, 0 running\n");
  EXPECT_EQ(world.Run("job top", {"7"}).code, kExitUsage);
}

NodeFacts NodeWith(std::string name, std::vector<RunFacts> runs) {
  NodeFacts node;
  node.name = std::move(name);
  node.runs = std::move(runs);
  return node;
}

TaskFacts Running(TaskIndex index, uint32_t tries, std::string command) {
  TaskFacts task;
  task.index = index;
  task.state = TaskState::kLeased;
  task.tries = tries;
  task.command = std::move(command);
  return task;
}

// The longest first; a task that no node says it runs is only given out; -n cuts.
TEST(JobTopOfAHub, AsksTheNodesSinceWhenTasksRun) {
  HistoryWorld world;
  FakeHub hub;
  JobDetails details;
  details.job.job = JobId(12);
  details.job.name = "sim";
  details.job.state = JobStanding::kRunning;
  details.job.counts = {.total = 9, .queued = 5, .leased = 4};
  hub.Answers<wire::DescribeJobs>({details});
  TaskFacts next = Running(7, 0, "d");
  next.is_next = true;
  hub.Answers<wire::ListTasks>(
      {{.job = JobId(12),
        .name = "sim",
        .tasks = {Running(0, 0, "a"), Running(1, 1, "b"), Running(2, 0, "c"), next}}});
  const Instant now = world.now;
  hub.Answers<wire::ListNodes>({NodeWith("n1", {{JobId(12), 1, now - Duration::Seconds(5), ""},
                                                {JobId(13), 2, now - Duration::Seconds(99), ""}}),
                                NodeWith("n2", {{JobId(12), 2, now - Duration::Seconds(60), ""}})});
  world.environment().hub = &hub;
  EXPECT_EQ(world.Run("job top", {"12"}).out,
            "job 12  sim  running: 0 of 9 done, 2 running\n"
            "TASK  RUNS FOR  NODE  TRY  COMMAND\n"
            "   2     1m00s  n2      2  b\n"
            "   1    5.00 s  n1      1  a\n");
  EXPECT_EQ(hub.Asked<wire::ListTasks>().at(0).states,
            1u << static_cast<unsigned>(TaskState::kLeased));
  std::string cut = world.Run("job top", {"12", "-n", "1"}).out;
  EXPECT_TRUE(cut.ends_with("  b\nand 1 more\n")) << cut;
}

}  // namespace
}  // namespace spate::cli::command
