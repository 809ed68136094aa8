#include "doors/simulate/job_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace spate::cli {
namespace {

constexpr Instant kThen{1'600'000'000'000'000'000};

Instant After(int64_t seconds) { return kThen + Duration::Seconds(seconds); }

// From and to: seconds after kThen.
engine::AttemptEnded EndOf(uint32_t job, TaskIndex index, uint16_t attempt, int64_t from,
                           int64_t to, Verdict verdict = Verdict::kSucceeded) {
  engine::AttemptEnded ended;
  ended.end.ref = {JobId(job), index, Attempt(attempt)};
  ended.end.start = After(from);
  ended.end.wall = Duration::Seconds(to - from);
  ended.verdict = verdict;
  ended.ended = After(to);
  return ended;
}

engine::JobAccepted Accepted(uint32_t job, std::vector<TaskClass> requests,
                             std::vector<RequestRun> runs) {
  JobPlan plan;
  for (const RequestRun& run : runs) plan.task_count += run.count;
  plan.requests = std::move(requests);
  plan.runs = std::move(runs);
  return {JobId(job), std::move(plan)};
}

TaskClass Cpus(uint32_t milli, int64_t time = 0) {
  Needs needs;
  needs.milli_cpus = milli;
  needs.time = Duration::Seconds(time);
  return needs;
}

TaskClass GangOf(GangShape shape, uint32_t milli = kMilliCpu) {
  TaskClass made = Cpus(milli);
  made.gang = shape;
  return made;
}

// "1.2 at 0 for 10 on 1, asks 10", in seconds, in their order.
std::string TextOf(const format::Workload& workload) {
  std::string text;
  auto seconds = [&](int64_t time) {
    return static_cast<double>(time) / static_cast<double>(workload.second);
  };
  for (const format::RigidJob& job : workload.jobs) {
    text += fmt::format("{}.{} at {} for {} on {}, asks {}\n", job.number >> kTaskBits,
                        job.number & 0xFFFFFFFF, seconds(job.submit), seconds(job.run),
                        job.processors, seconds(job.estimate));
  }
  return text;
}

std::string Told(JobHistory& history, HistoryMachine machine) {
  auto workload = history.WorkloadOn(machine);
  return workload ? TextOf(*workload) : workload.error().message;
}

TEST(JobHistory, TasksOfTwoJobs) {
  JobHistory history;
  history.AddJob(JobId(7), "ann", After(5));
  history.AddJob(JobId(3), "ben", After(0));
  EXPECT_TRUE(history.Apply(Accepted(3, {Cpus(500), Cpus(2500, 60)}, {{0, 3, 0}, {3, 1, 1}})));
  EXPECT_TRUE(history.Apply(Accepted(7, {Cpus(1000)}, {{0, 2, 0}})));
  // Records of another folder, or damaged ones: nothing is known of their job.
  EXPECT_TRUE(history.Apply(Accepted(9, {Cpus(1000)}, {{0, 2, 0}})));
  EXPECT_TRUE(history.AcceptEnd(EndOf(9, 0, 1, 1, 2)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(3, 99, 1, 1, 2)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(3, 0, 1, 10, 14)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(3, 1, 1, 10, 12)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(3, 2, 1, 10, 40, Verdict::kFailed)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(3, 3, 1, 10, 20)));
  auto ended = EndOf(7, 0, 1, 12, 13);
  ended.end.wall = Duration::Millis(1250);
  EXPECT_TRUE(history.AcceptEnd(ended));
  auto workload = history.WorkloadOn({4, 4});
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(TextOf(*workload),
            "3.1 at 0 for 4 on 1, asks 4\n3.2 at 0 for 2 on 1, asks 4\n"
            "3.3 at 0 for 30 on 1, asks 4\n3.4 at 0 for 10 on 3, asks 60\n"
            "7.1 at 5 for 1.25 on 1, asks 2\n");
  EXPECT_EQ(workload->processors, 16u);
  EXPECT_NE(workload->jobs.front().user, workload->jobs.back().user);
  // The one that has not ended.
  EXPECT_EQ(workload->dropped[static_cast<size_t>(format::SwfDrop::kNoRunTime)], 1u);
}

TEST(JobHistory, ATaskCountsOnceWithItsLastAttempt) {
  JobHistory history;
  history.AddJob(JobId(1), "", After(0));
  EXPECT_TRUE(history.Apply(Accepted(1, {Cpus(1000)}, {{0, 4, 0}})));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 1, 1, 9, Verdict::kRetry)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 2, 20, 25)));
  // A lost one that never started takes nobody's time.
  auto lost = EndOf(1, 1, 1, 0, 0, Verdict::kRetry);
  lost.end.start = Instant();
  EXPECT_TRUE(history.AcceptEnd(lost));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 1, 2, 30, 35)));
  auto never = EndOf(1, 2, 1, 0, 0, Verdict::kCancelled);
  never.end.start = Instant();
  EXPECT_TRUE(history.AcceptEnd(never));
  // Not yet at its end.
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 3, 1, 1, 9, Verdict::kRetry)));
  EXPECT_EQ(Told(history, {1, 1}), "1.2 at 0 for 5 on 1, asks 5\n1.1 at 9 for 5 on 1, asks 5\n");
}

TEST(JobHistory, WhoWaitsOrComesLaterIsSubmittedLater) {
  JobHistory history;
  history.AddJob(JobId(1), "", After(0));
  EXPECT_TRUE(history.Apply(Accepted(1, {Cpus(1000)}, {{0, 2, 0}})));
  EXPECT_TRUE(history.Apply(engine::TasksLinked{JobId(1), {{0, 1}}}));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 1, 2, 10)));
  EXPECT_TRUE(history.Apply(engine::JobGrown{JobId(1), 1, {Cpus(2000)}, {{2, 1, 1}}}));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 2, 1, 12, 13)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 1, 1, 15, 20)));
  EXPECT_EQ(Told(history, {1, 2}),
            "1.1 at 0 for 8 on 1, asks 8\n1.2 at 10 for 5 on 1, asks 8\n"
            "1.3 at 10 for 1 on 2, asks 1\n");
}

TEST(JobHistory, AGangIsAllItsParts) {
  JobHistory history;
  history.AddJob(JobId(1), "", After(0));
  EXPECT_TRUE(history.Apply(Accepted(1, {GangOf({.procs = 4})}, {{0, 1, 0}})));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 1, 3, 9, Verdict::kPart)));
  EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 1, 2, 8)));
  EXPECT_EQ(Told(history, {2, 2}), "1.1 at 0 for 7 on 4, asks 7\n");
}

TEST(JobHistory, ShapesAndMachines) {
  struct Case {
    TaskClass request;
    HistoryMachine machine;
    uint32_t processors;  // 0: it is too large
  };
  const Case cases[] = {
      {Cpus(1), {1, 1}, 1},
      {Cpus(4000), {1, 4}, 4},
      {Cpus(4001), {2, 4}, 0},  // a task has but one node
      {GangOf({.procs = 8}), {2, 4}, 8},
      {GangOf({.procs = 9}), {2, 4}, 0},
      {GangOf({.procs = 2}, 3000), {2, 4}, 6},
      {GangOf({.procs = 3}, 3000), {2, 4}, 0},  // one on each node, though there are 8 cpus
      {GangOf({.procs = 4, .nodes = 2}), {2, 4}, 4},
      {GangOf({.procs = 4, .nodes = 2, .whole = true}), {3, 4}, 8},
      {GangOf({.procs = 4, .nodes = 4}), {3, 4}, 0},
      {GangOf({.procs = 10, .nodes = 2}), {3, 4}, 0},
  };
  for (const Case& c : cases) {
    JobHistory history;
    history.AddJob(JobId(1), "", After(0));
    EXPECT_TRUE(history.Apply(Accepted(1, {c.request}, {{0, 1, 0}})));
    EXPECT_TRUE(history.AcceptEnd(EndOf(1, 0, 1, 0, 5)));
    auto workload = history.WorkloadOn(c.machine);
    EXPECT_EQ(workload ? workload->jobs.front().processors : 0, c.processors) << (&c - cases);
  }
}

TEST(JobHistory, NothingToSimulate) {
  JobHistory history;
  history.AddJob(JobId(1), "", After(0));
  EXPECT_TRUE(history.Apply(Accepted(1, {Cpus(8000)}, {{0, 2, 0}})));
  EXPECT_EQ(Told(history, {1, 4}), "no task has ended yet");
  JobHistory large;
  large.AddJob(JobId(1), "", After(0));
  EXPECT_TRUE(large.Apply(Accepted(1, {Cpus(8000)}, {{0, 2, 0}})));
  EXPECT_TRUE(large.AcceptEnd(EndOf(1, 0, 1, 0, 5)));
  EXPECT_EQ(Told(large, {2, 4}),
            "no task fits 2 nodes with 4 cpus each: the task that ended is larger");
}

}  // namespace
}  // namespace spate::cli
