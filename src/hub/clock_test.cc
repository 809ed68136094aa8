// The hub's wall clock is set, its machine sleeps, and nodes have wrong clocks.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hub/testing_node.h"
#include "hub/testing_service.h"

namespace spate::hub {
namespace {

constexpr Duration kSecond = Duration::Seconds(1);
constexpr Duration kHour = Duration::Seconds(3600);

class HubClockTest : public ServiceTest {
 protected:
  // Its Hello comes `late` after the node is let in.
  NodeId Node(NodeEnd& node, Instant clock, Instant end_of_life = Instant::Never(),
              Duration late = {}) {
    const Caller every{.user = "*", .is_admin = true};
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = "n1";
    auto id = service_->AdmitNode(greeting, every);
    EXPECT_TRUE(id.has_value());
    service_->NodeArrived(
        *id, {std::make_unique<NodeEndPort>(node), "here", "9.9", wire::OwnFeatures()}, every);
    loop_.RunFor(late);
    wire::Hello hello;
    hello.offer.end_of_life = end_of_life;
    hello.offer.slots = 1;
    hello.offer.milli_cpus = 1000;
    hello.clock = clock;
    node.say(std::move(hello));
    loop_.RunFor(kSecond);
    return *id;
  }
  template <typename T>
  std::vector<T> Stored() const {
    std::vector<T> found;
    EXPECT_TRUE(disk_->Visit([&](const engine::Record& record) {
      if (const auto* one = std::get_if<T>(&record)) found.push_back(*one);
    }));
    return found;
  }
  // Checks times that a node reports whose clock is `ahead`.
  void CheckNode(Duration ahead) {
    NodeEnd node;
    const NodeId id = Node(node, loop_.Now() + ahead);
    const JobId job = Submit(Come("ann", 1), 1);
    loop_.RunFor(kSecond * 5);
    const AttemptRef ref{job, 0, Attempt(1)};
    const Instant began = loop_.Now() - kSecond * 3;
    wire::NodeState state;
    state.clock = loop_.Now() + ahead;
    state.runs.push_back({ref, began + ahead});
    node.say(std::move(state));
    loop_.RunFor(kSecond);
    const auto& told = service_->nodes().all().at(id).state;
    ASSERT_TRUE(told && told->runs.size() == 1);
    EXPECT_EQ(told->runs[0].since, began);
    AttemptEnd end;
    end.ref = ref;
    end.slot = 1;
    end.start = began + ahead;
    end.wall = kSecond * 4;
    node.say(wire::Ends{1, {end}, {nullptr}});
    loop_.RunFor(kSecond);
    auto ends = Stored<engine::AttemptEnded>();
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].end.start, began);
    service_->NodeGone(id, "the test ends", {});
  }
  Instant EndOf(NodeId id) const {
    for (const engine::NodeInfo& info : service_->engine().Nodes()) {
      if (info.node == id) return info.offer.end_of_life;
    }
    return {};
  }
  // Checks the life of a node that reports its end while its clock is `ahead`.
  void CheckLife(Duration ahead, Duration late = {}) {
    NodeEnd node;
    const Instant end = loop_.Now() + kHour * 2;
    const NodeId id = Node(node, loop_.Now() + ahead, end + ahead, late);
    EXPECT_EQ(EndOf(id), end);
    service_->NodeGone(id, "the test ends", {});
  }
  const store::JobRow& Row(JobId job) const { return disk_->jobs.at(job); }
};

TEST_F(HubClockTest, ANodeWhoseClockIsAhead) { CheckNode(kHour); }
TEST_F(HubClockTest, ANodeWhoseClockIsBehind) { CheckNode(Duration() - kHour); }

TEST_F(HubClockTest, ALifeEndsByOurClock) { CheckLife({}); }
TEST_F(HubClockTest, ALifeByAClockThatIsAhead) { CheckLife(kHour); }
TEST_F(HubClockTest, ALifeByAClockThatIsBehind) { CheckLife(Duration() - kHour); }
TEST_F(HubClockTest, ALateHelloMakesNoLifeLonger) { CheckLife({}, kSecond * 60); }

TEST_F(HubClockTest, ALifeThatCannotBeTranslated) {
  NodeEnd node;
  const Instant end = loop_.Now() + kHour * 2;
  const NodeId id = Node(node, Instant(), end);
  EXPECT_EQ(EndOf(id), end) << "an older node tells no clock";
  service_->NodeGone(id, "it comes again", {});
  const Instant last{Instant::Never().ns - 1};
  NodeEnd again;
  EXPECT_EQ(Node(again, loop_.Now() - kHour, last), id);
  EXPECT_EQ(EndOf(id), Instant::Never()) << "later than any time that is told";
  service_->NodeGone(id, "the test ends", {});
}

TEST_F(HubClockTest, NodesLiveOnWhileOurMachineSleeps) {
  const Instant end = loop_.Now() + kHour * 10;
  NodeEnd node;
  const NodeId id = Node(node, loop_.Now(), end);
  EXPECT_EQ(EndOf(id), end);
  loop_.Sleep(kHour * 8);
  loop_.RunFor(kSecond);
  EXPECT_EQ(EndOf(id), end - kHour * 8);
  service_->NodeGone(id, "it comes again", {});
  NodeEnd again;
  EXPECT_EQ(Node(again, loop_.Wall(), end), id);
  EXPECT_EQ(EndOf(id), end - kHour * 8);
  service_->NodeGone(id, "the test ends", {});
}

TEST_F(HubClockTest, AStepChangesNoRunningTime) {
  const JobId job = Submit(Come("ann", 1), 1);
  const Instant began = Row(job).created;
  EXPECT_EQ(Row(job).started, began);
  loop_.RunFor(kSecond * 10);
  loop_.SetClock(Duration() - kHour * 2);
  loop_.RunFor(kSecond);
  EXPECT_EQ(Row(job).created, began) << "as the clock said then";
  EXPECT_EQ(Row(job).started, began - kHour * 2);
  const HubFacts facts = service_->Facts();
  ASSERT_TRUE(facts.clock.has_value());
  EXPECT_EQ(facts.clock->from - facts.clock->to, kHour * 2);
  EXPECT_LE(facts.since, Row(job).started);
  EXPECT_EQ(Stored<engine::ClockStepped>().size(), 1u);
  service_->hub().Post(engine::CancelJob{job});
  loop_.RunFor(kSecond);
  ASSERT_TRUE(Row(job).ended.has_value());
  EXPECT_GE(*Row(job).ended - Row(job).started, kSecond * 11);
  EXPECT_LE(*Row(job).ended - Row(job).started, kSecond * 20);
}

TEST_F(HubClockTest, ASuspendMovesNoStart) {
  const JobId job = Submit(Come("ann", 1), 1);
  const Instant began = Row(job).started;
  loop_.Sleep(kHour * 8);
  loop_.RunFor(kSecond);
  EXPECT_EQ(Row(job).started, began);
  EXPECT_FALSE(service_->Facts().clock.has_value());
  EXPECT_EQ(loop_.Wall() - loop_.Now(), kHour * 8);
  EXPECT_EQ(loop_.ToWall(began), began);
}

TEST_F(HubClockTest, AHoldIsByTheClockOfNow) {
  const JobId job = Submit(Come("ann", 1), 1);
  loop_.SetClock(kHour);
  service_->hub().Post(engine::HoldJob{job});
  loop_.RunFor(kSecond);
  auto holds = Stored<engine::JobHeld>();
  ASSERT_EQ(holds.size(), 1u);
  EXPECT_GE(holds[0].at, loop_.Wall() - kSecond * 2);
}

TEST_F(HubClockTest, DeadlinesFollowTheClock) {
  auto submit = [&](const std::string& key, Instant deadline) {
    Dialogue& ann = Come("ann", 1);
    ann.Ask(Head(key));
    ann.Ask(wire::Rows{{"true"}});
    wire::SubmitEnd end = End(1);
    end.requests.front().deadline = deadline;
    ann.Ask(end);
    loop_.RunFor(kSecond);
    const auto* accepted = std::get_if<wire::Accepted>(&ann.replies.back());
    EXPECT_NE(accepted, nullptr) << key;
    return accepted == nullptr ? JobId() : accepted->job;
  };
  auto cancelled = [&](JobId job) { return service_->engine().Counts(job)->cancelled; };
  const JobId first = submit("one", loop_.Wall() + kHour);
  loop_.SetClock(kHour * 2);
  loop_.RunFor(kSecond);
  EXPECT_EQ(cancelled(first), 1u);
  loop_.SetClock(Duration() - kHour * 4);
  const JobId second = submit("two", loop_.Wall() + kSecond * 60);
  ASSERT_NE(second, JobId());
  loop_.RunFor(kSecond * 50);
  EXPECT_EQ(cancelled(second), 0u);
  loop_.RunFor(kSecond * 20);
  EXPECT_EQ(cancelled(second), 1u);
}

TEST(Credentials, ExpireByTheWallClock) {
  os::FakeLoop loop;
  store::MemoryStore store(loop, std::make_shared<store::MemoryDisk>(),
                           {kCommitTime, kCommitTime, 1, /*is_hub=*/true});
  std::vector<uint64_t> ended;
  Credentials credentials(loop, store, 1000,
                          [&](uint64_t serial, const std::string&) { ended.push_back(serial); });
  ASSERT_TRUE(credentials.Load());
  access::Access access;
  access.user = "ann";
  access.expires = loop.Wall() + kHour;
  credentials.Add(access, nullptr);
  loop.SetClock(Duration() - kHour * 2);
  credentials.AwaitExpiry();
  loop.RunFor(kHour * 2);
  EXPECT_TRUE(ended.empty());
  loop.SetClock(kHour * 2);
  credentials.AwaitExpiry();
  EXPECT_EQ(ended, (std::vector<uint64_t>{1}));
  credentials.AwaitExpiry();
  EXPECT_EQ(ended.size(), 1u) << "once";
}

}  // namespace
}  // namespace spate::hub
