#include "doors/pmc/run/workflow.h"

#include <gtest/gtest.h>

namespace spate::pmc {
namespace {

using Bits = std::vector<bool>;

constexpr const char* kDiamond =
    "TASK A a\nTASK B -m 10 b\nTASK C -m 10 -c 2 c\nTASK D -m 10 d\n"
    "EDGE A B\nEDGE A C\nEDGE B D\nEDGE C D\n";

TEST(Workflow, TasksOfEqualNeedsShareARequest) {
  auto flow = ReadWorkflow(kDiamond, "d.dag");
  ASSERT_TRUE(flow) << flow.error().message;
  ASSERT_EQ(flow->requests.size(), 3u);
  EXPECT_EQ(flow->tasks[1].request, flow->tasks[3].request);
  EXPECT_EQ(flow->requests[flow->tasks[1].request].needs.memory, 10u << 20);
  EXPECT_EQ(flow->requests[flow->tasks[2].request].needs.milli_cpus, 2000u);
  EXPECT_EQ(flow->first_places[2], "d.dag:3");
}

TEST(Workflow, ErrorsHaveTheOriginalsTextAndTheirPlaceBehindIt) {
  auto flow = ReadWorkflow("TASK A a\nTASK A a\njob\n", "d.dag");
  ASSERT_FALSE(flow);
  EXPECT_EQ(flow.error().message, "Duplicate task: A\nd.dag:2\nInvalid DAG record: job\nd.dag:3");
  EXPECT_FALSE(ReadWorkflow("TASK A a\nEDGE A A\n", "d.dag"));
}

// The rescue file may say that a child is done whose parent is not: then both run.
TEST(Workflow, WhatIsDoneCountsOnlyBehindParentsThatAreDone) {
  auto flow = ReadWorkflow(kDiamond, "d.dag");
  ASSERT_TRUE(flow);
  EXPECT_EQ(DoneTasks(*flow, {}), Bits({0, 0, 0, 0}));
  EXPECT_EQ(DoneTasks(*flow, {"A", "C"}), Bits({1, 0, 1, 0}));
  EXPECT_EQ(DoneTasks(*flow, {"A", "B", "D"}), Bits({1, 1, 0, 0}));
  EXPECT_EQ(DoneTasks(*flow, {"B", "C", "D"}), Bits({0, 0, 0, 0}));
  EXPECT_EQ(DoneTasks(*flow, {"A", "B", "C", "D"}), Bits({1, 1, 1, 1}));
}

TEST(Workflow, WhatIsLeftIsAJobOfItsOwn) {
  auto flow = ReadWorkflow(kDiamond, "d.dag");
  ASSERT_TRUE(flow);
  Remaining left = WithoutDone(*flow, {true, false, true, false});
  EXPECT_EQ(left.left, (std::vector<TaskIndex>{1, 3}));
  EXPECT_EQ(left.edges, (std::vector<Edge>{{0, 1}}));
  EXPECT_EQ(left.plan.task_count, 2u);
  ASSERT_EQ(left.plan.runs.size(), 1u);
  EXPECT_EQ(left.plan.runs[0].count, 2u);
  EXPECT_TRUE(WithoutDone(*flow, {true, true, true, true}).left.empty());
}

}  // namespace
}  // namespace spate::pmc
