// Reports of a node on the tasks that it has: which of them run, and why others wait there.
#include <gtest/gtest.h>

#include <memory>
#include <variant>
#include <vector>

#include "node/node.h"
#include "os/fake_loop.h"
#include "transport/inproc.h"

namespace spate::node {
namespace {

constexpr JobId kJob(3);
constexpr Duration kTellEvery = Duration::Seconds(1);
constexpr Duration kMoment = Duration::Millis(1);

class Starts final : public Executor {
 public:
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(StartOrder order) override { refs.push_back(order.ref); }
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef&, EndHow, Cause) override {}
  void Pause(bool) override {}

  std::vector<AttemptRef> refs;
};

// A node of one slot, and a hub that is this test.
struct NodeStateTest : testing::Test {
  NodeStateTest() {
    Offer offer{.node_name = "n1"};
    offer.slots = 1;
    offer.milli_cpus = kMilliCpu;
    Node::Parts parts{loop, starts, nullptr};
    parts.tell_every = kTellEvery;
    node = std::make_unique<Node>(NodeId(1), offer, std::move(parts));
    link.first->OnMessage([this](wire::ToHub message) {
      const auto* state = std::get_if<wire::NodeState>(&message);
      if (state != nullptr) states.push_back(*state);
      if (std::holds_alternative<wire::Running>(message)) ++starts_told;
    });
    node->Connect(*link.second);
    link.first->Send(wire::OpenJob{
        kJob, std::make_shared<const JobSettings>(JobSettings{.cwd = "/", .row_kind = kKind})});
  }
  void Lease(TaskRange tasks) {
    link.first->Send(wire::Lease{Epoch(1),
                                 kJob,
                                 Attempt(1),
                                 Needs{.milli_cpus = 500},
                                 {tasks},
                                 std::vector<std::string>(tasks.count, "true")});
    loop.RunFor(kMoment);
  }
  void End(TaskIndex index, Duration wall) {
    AttemptEnd end;
    end.ref = {kJob, index, Attempt(1)};
    end.slot = 1;
    end.start = loop.Now() - wall;
    end.wall = wall;
    node->OnEnded(std::move(end), nullptr);
    loop.RunFor(kMoment);
  }

  static constexpr RowKind kKind = RowKind::kListLine;
  os::FakeLoop loop;
  Starts starts;
  transport::InprocPair<wire::ToNode, wire::ToHub> link =
      transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
  std::vector<wire::NodeState> states;
  size_t starts_told = 0;
  std::unique_ptr<Node> node;
};

TEST_F(NodeStateTest, TasksThatStartWithinASecondAreNotReportedToWait) {
  Lease({0, 8});
  for (TaskIndex i = 0; i < 8; ++i) {
    loop.RunFor(Duration::Millis(100));
    End(i, Duration::Millis(100));
  }
  loop.RunFor(Duration::Seconds(5));
  EXPECT_EQ(starts_told, 8u);
  EXPECT_LE(states.size(), 3u) << "after Hello, in the first second, and when all have ended";
  for (const wire::NodeState& state : states) EXPECT_TRUE(state.waits.empty());
}

TEST_F(NodeStateTest, ATaskThatWaitsIsReportedOnceWithItsReason) {
  Lease({0, 2});
  loop.RunFor(Duration::Millis(900));
  for (const wire::NodeState& state : states) EXPECT_TRUE(state.waits.empty());
  loop.RunFor(Duration::Seconds(5));
  ASSERT_FALSE(states.empty());
  ASSERT_EQ(states.back().runs.size(), 1u);
  EXPECT_EQ(states.back().runs[0].ref, (AttemptRef{kJob, 0, Attempt(1)}));
  ASSERT_EQ(states.back().waits.size(), 1u);
  EXPECT_EQ(states.back().waits[0].first, (AttemptRef{kJob, 1, Attempt(1)}));
  EXPECT_EQ(states.back().waits[0].tasks, 1u);
  EXPECT_EQ(states.back().waits[0].why, (Reason{ReasonKind::kSlotsTaken, {1, kJob.value, 1}}));
  EXPECT_LE(states.size(), 3u);
  // From then on the processes that the first command has left running are the reason.
  node->OnLeftRunning({kJob, 0, Attempt(1)}, "sort (pid 12)");
  loop.RunFor(Duration::Seconds(2));
  ASSERT_EQ(states.back().waits.size(), 1u);
  EXPECT_EQ(states.back().waits[0].why,
            (Reason{ReasonKind::kSlotKept, {kJob.value, 1}, {}, {"sort (pid 12)"}}));
}

// The order for a slot that is busy is reported as a start.
TEST_F(NodeStateTest, AStartThatWaitsForItsSlotIsCorrected) {
  Lease({0, 2});
  End(0, kMoment);
  loop.RunFor(Duration::Seconds(3));
  states.clear();
  Lease({5, 1});
  ASSERT_EQ(starts.refs.back().index, 5u) << "it is held ahead, behind short tasks";
  loop.RunFor(kTellEvery);
  ASSERT_EQ(states.size(), 1u);
  ASSERT_EQ(states[0].runs.size(), 1u);
  EXPECT_EQ(states[0].runs[0].ref.index, 1u);
  loop.RunFor(kTellEvery * 2);
  ASSERT_EQ(states.back().waits.size(), 1u);
  EXPECT_EQ(states.back().waits[0].first.index, 5u);
  EXPECT_EQ(states.back().waits[0].why, (Reason{ReasonKind::kSlotsTaken, {1, kJob.value, 2}}));
}

}  // namespace
}  // namespace spate::node
