// A node may name any tasks: what it says costs what it holds, and touches nothing else. In
// proportion to the ranges that are named here these tests would take hours.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "core/engine/engine.h"

namespace spate::engine {
namespace {

constexpr JobId kJob(1);
constexpr NodeId kNode(1);
constexpr uint32_t kTasks = 100'000'000;
constexpr int kTimes = 20'000;

class StrangeNode : public testing::Test {
 protected:
  StrangeNode() {
    JobPlan plan;
    plan.task_count = kTasks;
    plan.requests.resize(1);
    plan.runs = {{0, kTasks, 0}};
    Step({SubmitJob{kJob, plan}, Hello({})});
  }

  NodeJoined Hello(std::vector<HeldTasks> holds) const { return {kNode, offer_, std::move(holds)}; }
  void Step(std::vector<Event> events) {
    out_.Clear();
    engine_.Step({Instant(), events}, out_);
  }
  TaskRange Leased() const {
    return {0, engine_.Counts(kJob)->leased};  // by index, from the first
  }

  Offer offer_{.node_name = "n1", .slots = 4, .milli_cpus = 4000};
  Engine engine_;
  Output out_;
};

TEST_F(StrangeNode, DropsWhatItDoesNotHave) {
  const TaskRange own = Leased();
  ASSERT_GE(own.count, 4u);
  for (int i = 0; i < kTimes; ++i) Step({Hello({{kJob, Attempt(1), {{0, kTasks}}}})});
  EXPECT_EQ(Leased(), own);
  ASSERT_EQ(out_.sends.size(), 1u);
  EXPECT_EQ(std::get<SendDrop>(out_.sends[0]).tasks,
            (std::vector<TaskRange>{{own.count, kTasks - own.count}}));
}

TEST_F(StrangeNode, ReturnsWhatItHas) {
  const TaskRange own = Leased();
  for (int i = 0; i < kTimes; ++i) Step({TasksReturned{kNode, kJob, Attempt(9), {{0, kTasks}}}});
  EXPECT_EQ(Leased(), own);
  Step({DrainNode{kNode}, TasksReturned{kNode, kJob, Attempt(1), {{0, kTasks}, {0, kTasks}}}});
  EXPECT_EQ(Leased().count, 0u);
  bool found = false;
  for (const Record& record : out_.records) {
    const auto* returned = std::get_if<Returned>(&record);
    if (returned == nullptr) continue;
    found = true;
    EXPECT_EQ(returned->tasks, std::vector<TaskRange>{own});
  }
  EXPECT_TRUE(found);
}

// However often a node says that its tasks use too much, and whosever tasks they are.
TEST_F(StrangeNode, SaysOnceOfItsOwnThatTheyExceed) {
  Step({NodeJoined{NodeId(2), offer_}});
  std::vector<Event> events;
  for (NodeId node : {kNode, NodeId(2), NodeId(9)}) {
    for (TaskIndex index : {0u, kTasks + 5}) {
      for (OnExcess done : {OnExcess::kWarn, OnExcess::kWarn, OnExcess::kKill}) {
        const AttemptRef ref{kJob, index, Attempt(1)};
        events.push_back(ExcessTold{node, ref, {Resource::kCpu, done, 2, 1}});
      }
    }
  }
  size_t steered = 0;
  Step(std::move(events));
  for (const Record& record : out_.records) {
    steered += std::holds_alternative<JobSteered>(record);
  }
  EXPECT_EQ(steered, 1u);
}

TEST_F(StrangeNode, HoldsNothingOfAnotherOne) {
  Step({NodeJoined{NodeId(2), offer_, {{kJob, Attempt(1), {{0, 1}}}}}});
  EXPECT_TRUE(engine_.Holds(kNode, {kJob, 0, Attempt(1)}));
  EXPECT_FALSE(engine_.Holds(NodeId(2), {kJob, 0, Attempt(1)}));
  EXPECT_FALSE(engine_.Holds(kNode, {kJob, 0, Attempt(2)}));
  EXPECT_FALSE(engine_.Holds(kNode, {kJob, kTasks, Attempt(1)}));
  EXPECT_FALSE(engine_.Holds(kNode, {JobId(2), 0, Attempt(1)}));
  EXPECT_FALSE(engine_.Holds(NodeId(3), {kJob, 0, Attempt(1)}));
}

}  // namespace
}  // namespace spate::engine
