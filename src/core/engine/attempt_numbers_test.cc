// Numbers of attempts come to an end: a task that was given out for the last time fails instead of
// beginning anew at 1, where late news of old attempts would be taken for its own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/job_state.h"

namespace spate::engine {
namespace {

class AttemptNumbers : public testing::Test {
 protected:
  AttemptNumbers() {
    JobPlan plan;
    plan.task_count = 1;
    plan.requests.resize(1);
    plan.runs = {{0, 1, 0}};
    Step({SubmitJob{JobId(1), plan}, NodeJoined{NodeId(1), offer_, {}}});
  }

  void Step(std::vector<Event> events) {
    out_.Clear();
    engine_.Step({now_, events}, out_);
  }

  Offer offer_{.node_name = "n1", .slots = 1, .milli_cpus = 1000};
  Engine engine_;
  Output out_;
  Instant now_;
};

TEST_F(AttemptNumbers, EndWithTheTask) {
  for (uint32_t number = 1; number < kLastAttempt.value; ++number) {
    Attempt attempt(static_cast<uint16_t>(number));
    Step({TasksReturned{NodeId(1), JobId(1), attempt, {{0, 1}}}});
    ASSERT_EQ(engine_.Counts(JobId(1))->leased, 1u) << number;
  }
  Step({TasksReturned{NodeId(1), JobId(1), kLastAttempt, {{0, 1}}}});
  EXPECT_TRUE(engine_.Finished(JobId(1)));
  EXPECT_EQ(engine_.Counts(JobId(1))->failed, 1u);
  const auto& ended = std::get<AttemptEnded>(out_.records.front());
  EXPECT_NE(ended.end.note.find("it was assigned 65,534 times"), std::string::npos);
  // Nor is it taken up again.
  Step({ReopenTasks{JobId(1), {{0, 1}}}});
  EXPECT_TRUE(engine_.Finished(JobId(1)));
  engine_.CheckInvariants();
}

// A node names the rank that failed first; it can name none of another node.
TEST(GangRunTest, WhoEnded) {
  const GangRun gang{.parts = {{NodeId(1), 2}, {NodeId(2), 3}, {NodeId(3), 1}}};
  const struct {
    uint32_t node;
    Cause cause;
    const char* note;
    const char* who;
  } kTable[] = {
      {2, Cause::kExit, "rank 3 exited with 1", "rank 3"},
      {2, Cause::kSignal, "first\nrank 4 was killed by SIGKILL\nmore", "rank 4"},
      {2, Cause::kExit, "rank 5 exited with 1", "one of ranks 2-4"},
      {2, Cause::kExit, "rank x", "one of ranks 2-4"},
      {2, Cause::kExit, "", "one of ranks 2-4"},
      {2, Cause::kTimeLimit, "", "ranks 2-4"},
      {3, Cause::kExit, "", "rank 5"},
      {9, Cause::kExit, "rank 0 exited with 1", ""},
  };
  for (const auto& row : kTable) {
    AttemptEnd end{.cause = row.cause, .note = row.note};
    EXPECT_EQ(gang.WhoEnded(NodeId(row.node), end), row.who) << row.note;
  }
}

}  // namespace
}  // namespace spate::engine
