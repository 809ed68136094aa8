#include "core/engine/remains.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/engine/durable.h"

namespace spate::engine {
namespace {

constexpr JobId kJob{7};
constexpr NodeId kNode{3};

Record Ended(TaskIndex index, uint16_t attempt, Verdict verdict) {
  AttemptEnded ended{.node = kNode, .verdict = verdict};
  ended.end.ref = {kJob, index, Attempt(attempt)};
  ended.end.cause = verdict == Verdict::kSucceeded ? Cause::kSuccess : Cause::kExit;
  return ended;
}

// A job of five tasks and then seven, the last of which waits for the first.
std::vector<Record> Whole() {
  JobPlan plan;
  plan.task_count = 5;
  plan.open = true;
  plan.user = "ann";
  plan.requests.resize(1);
  plan.runs = {{.first = 0, .count = 5, .request = 0}};
  return {JobAccepted{kJob, plan},
          Leased{kNode, kJob, Attempt(1), {{0, 3}}},
          Ended(0, 1, Verdict::kSucceeded),
          JobGrown{kJob, 2, {}, {{.first = 5, .count = 2, .request = 0}}},
          TasksLinked{kJob, {{.parent = 0, .child = 6}}},
          Ended(1, 1, Verdict::kFailed),
          Returned{kNode, kJob, Attempt(1), {{2, 1}}},
          Leased{kNode, kJob, Attempt(2), {{2, 2}}},
          TasksWithdrawn{kJob, {{4, 1}}, ""},
          TasksReopened{kJob, {{1, 1}}},
          Ended(2, 2, Verdict::kCancelled),
          JobSealed{kJob}};
}

// The state that an engine has of the history.
Durable Replayed(const Remains::History& history) {
  Durable durable;
  for (const Record& record : history.records) {
    EXPECT_TRUE(durable.Admits(record)) << "record of kind " << record.index();
    if (!durable.Admits(record)) break;
    Changes changes;
    durable.Apply(record, changes);
  }
  durable.CheckInvariants();
  return durable;
}

TEST(Remains, OfAllRecordsAreTheirState) {
  Remains remains;
  for (const Record& record : Whole()) remains.Apply(record);
  EXPECT_FALSE(remains.open);
  ASSERT_EQ(remains.tasks.size(), 7u);
  EXPECT_TRUE(remains.tasks[0].end && remains.tasks[2].end);
  EXPECT_FALSE(remains.tasks[1].end);  // reopened
  EXPECT_TRUE(remains.tasks[3].leased);
  EXPECT_TRUE(remains.tasks[4].withdrawn);
  const Instant held = Instant{5};
  auto history = remains.Rewrite(kJob, held);
  EXPECT_TRUE(history.goes_on);
  EXPECT_EQ(history.counts, (JobCounts{.total = 7, .queued = 3, .succeeded = 1, .cancelled = 3}));
  const Durable durable = Replayed(history);
  const JobState* job = durable.FindJob(kJob);
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->counts(), history.counts);
  EXPECT_EQ(job->held(), HoldReason::kDamaged);
}

TEST(Remains, OfAnyRecordsMakeAHistoryThatAnEngineCanReplay) {
  const std::vector<Record> whole = Whole();
  for (uint32_t lost = 0; lost < 1u << (whole.size() - 1); ++lost) {
    Remains remains;
    for (size_t i = 0; i < whole.size(); ++i) {
      if (i == 0 || (lost >> (i - 1) & 1) == 0) remains.Apply(whole[i]);
    }
    if (lost % 3 == 0) remains.tasks[lost % remains.tasks.size()].no_text = true;
    auto history = remains.Rewrite(kJob, {});
    const Durable durable = Replayed(history);
    const JobState* job = durable.FindJob(kJob);
    ASSERT_NE(job, nullptr) << lost;
    ASSERT_EQ(job->counts(), history.counts) << lost;
    ASSERT_EQ(history.goes_on, std::holds_alternative<JobHeld>(history.records.back())) << lost;
  }
}

TEST(Remains, WithoutItsFirstRecordNobodyKnowsTheJob) {
  std::vector<Record> whole = Whole();
  Remains remains;
  for (size_t i = 1; i < whole.size(); ++i) remains.Apply(whole[i]);
  EXPECT_FALSE(remains.plan);
  EXPECT_TRUE(remains.tasks.empty());
}

}  // namespace
}  // namespace spate::engine
