// Admission of nodes, their names, and what is remembered of them.
#include "hub/nodes.h"

#include <gtest/gtest.h>

#include <ctime>
#include <deque>
#include <string>
#include <vector>

#include "hub/testing_node.h"
#include "os/fake_loop.h"
#include "store/testing_memory_store.h"

namespace spate::hub {
namespace {

constexpr Duration kCommit = Duration::Millis(5);

class Deaf final : public Watcher {
 public:
  void OnEnded(const engine::NoticeEnded&, const TaskOutputPtr&) override {}
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error&) override {}
};

struct NodesTest : testing::Test {
  NodesTest() {
    EXPECT_TRUE(hub.Replay());
    EXPECT_TRUE(nodes.Load());
    hub.Resume(engine::LastNodes::kMayReturn);
  }
  std::expected<NodeId, wire::Refusal> Admit(const std::string& name, const std::string& user,
                                             const std::string& instance = "1") {
    return nodes.Admit(name, instance, {.user = user});
  }
  NodeId Come(const std::string& name, const std::string& user, NodeEnd& at,
              const std::vector<std::string>& features = {}) {
    auto id = Admit(name, user);
    if (!id) return NodeId();
    nodes.Arrived(*id, {std::make_unique<NodeEndPort>(at), "10.0.0.1", "1.0", features},
                  {.user = user});
    Offer offer;
    offer.features = {"whatever it says"};
    offer.slots = 1;
    offer.milli_cpus = kMilliCpu;
    offer.user = "whoever it says";
    at.say(wire::Hello{NodeId(77), offer});
    loop.RunUntilIdle();
    return *id;
  }

  os::FakeLoop loop;
  std::shared_ptr<store::MemoryDisk> disk = std::make_shared<store::MemoryDisk>();
  store::MemoryStore store{loop, disk, {kCommit, kCommit, 1, /*is_hub=*/true}};
  Deaf watcher;
  Hub hub{loop, store, watcher, Epoch(1)};
  int logged = 0;  // lines
  Nodes nodes{loop, store, hub, [this](const LogText&) { ++logged; }};
  NodeEnd line, other;
};

TEST_F(NodesTest, WhatANodesProgramKnowsIsInItsGreetingOnly) {
  Needs linked;
  linked.labels = {"@links"};
  ASSERT_NE(Come("old", "ann", line), NodeId());
  ASSERT_NE(Come("new", "ann", other, {"links", "what comes later"}), NodeId());
  for (const engine::NodeInfo& info : hub.engine().Nodes()) {
    EXPECT_EQ(FitCount(info.offer, linked), info.offer.node_name == "new" ? 1u : 0u);
    EXPECT_EQ(FitCount(info.offer, Needs()), 1u);
  }
}

TEST_F(NodesTest, TheHubKnowsWhoANodeIs) {
  NodeId id = Come("n", "ann", line);
  ASSERT_NE(id, NodeId());
  ASSERT_EQ(hub.engine().Nodes().size(), 1u);
  engine::NodeInfo info = hub.engine().Nodes().front();
  EXPECT_EQ(info.node, id);
  EXPECT_EQ(info.offer.node_name, "n");
  EXPECT_EQ(info.offer.user, "ann");
}

TEST_F(NodesTest, ANameIsItsFirstUsers) {
  Come("n", "ann", line);
  EXPECT_FALSE(Admit("n", "ann", "another process"));
  nodes.Disconnected(*Admit("n", "ann"), "cut");
  EXPECT_FALSE(Admit("n", "bob"));
  EXPECT_TRUE(Admit("n", "ann", "another process"));
  for (const char* name : {"", "a b", "a,b", ".1", "a/b", "../b", "evil$(touch${IFS}/x)x"}) {
    EXPECT_FALSE(Admit(name, "ann")) << name;
  }
  // A pool of any name may come.
  for (const char* name : {"short.1", "short.1.host", "short.22."}) {
    EXPECT_FALSE(Admit(name, "ann")) << name;
  }
  for (const char* name : {"short.1", "short.2.host", "10.0.0.1"}) {
    EXPECT_TRUE(Admit(name, "*")) << name;
  }
  // A pool's name begins with a letter, and has no dot.
  for (const char* name : {"n1.site.org", "10.0.0.2", "n-1", "1", "a.", "a.b.22", "short.1a.host"})
    EXPECT_TRUE(Admit(name, "ann")) << name;
}

// A node refused for its protocol keeps its tasks; another machine with its name does not.
TEST_F(NodesTest, ANodeThatKnocksIsAlive) {
  const Duration patience = kLimits.node_patience;
  NodeId id = Come("n", "ann", line);
  nodes.Disconnected(id, "the hub was upgraded");
  loop.RunUntilIdle();
  auto standing = [&] { return hub.engine().Nodes().front().standing; };
  wire::Greeting old;
  old.node_name = "n";
  old.instance = "1";
  old.product = "0.0.9";
  old.protocol = 1;
  for (int i = 0; i < 10; ++i) {
    loop.RunFor(patience / 2);
    nodes.Knocked(old, {.user = "ann"});
    loop.RunFor(Duration::Millis(1));
    ASSERT_EQ(standing(), engine::NodeStanding::kSilent) << i;
  }
  EXPECT_EQ(nodes.FindByName("n")->speaks, 1u);
  EXPECT_EQ(nodes.FindByName("n")->product, "0.0.9");
  old.instance = "another machine";
  for (int i = 0; i < 3; ++i) {
    loop.RunFor(patience / 2);
    nodes.Knocked(old, {.user = "ann"});
    nodes.Knocked(old, {.user = "bob"});
  }
  loop.RunFor(Duration::Seconds(1));
  EXPECT_EQ(standing(), engine::NodeStanding::kUnknown);
  Come("n", "ann", other);
  EXPECT_EQ(nodes.FindByName("n")->speaks, 0u);
}

TEST_F(NodesTest, ReasonsNameNodesThatAreAway) {
  const NodeId id = Come("n", "ann", line);
  ASSERT_NE(Come("m", "ann", other), NodeId());
  nodes.Disconnected(id, "its machine is off");
  loop.RunFor(Duration::Seconds(7));
  const Reason of_one{ReasonKind::kOnOtherNode, {}, {}, {"n", "m"}};
  Why why = nodes.Complete({{ReasonKind::kNoNodeFits}, of_one});
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why.front().kind, ReasonKind::kNodesTakeNone);
  EXPECT_EQ(why.front().names, (std::vector<std::string>{"n", ""}));
  EXPECT_GE(why.front().times.front(), Duration::Seconds(7));
  // One that the hub does not know.
  why = {{ReasonKind::kNoNodeFits}, {ReasonKind::kOnOtherNode, {}, {}, {"x", "m"}}};
  EXPECT_EQ(nodes.Complete(why), why);
  why = nodes.Complete({{ReasonKind::kSomeCannotRun, {3}}, {ReasonKind::kTooFewNodes, {2, 1, 1}}});
  ASSERT_EQ(why.size(), 3u);
  EXPECT_EQ(why.back().kind, ReasonKind::kNodesMissing);
  EXPECT_EQ(nodes.Complete({{ReasonKind::kNoNodeJoined}}).front().kind, ReasonKind::kNoNodeJoined);
  nodes.Disconnected(nodes.FindByName("m")->row.id, "its machine is off");
  why = nodes.Complete({{ReasonKind::kNoNodeJoined}});
  EXPECT_EQ(why.front().kind, ReasonKind::kNodesAway);
  EXPECT_EQ(why.front().names, (std::vector<std::string>{"n", "m", "", ""}));
}

TEST_F(NodesTest, ReasonsNameNodesThatAreRefused) {
  const NodeId id = Come("n", "ann", line);
  nodes.Disconnected(id, "the hub was upgraded");
  wire::Greeting old;
  old.node_name = "n";
  old.instance = "1";
  old.product = "0.0.9";
  old.protocol = 1;
  nodes.Knocked(old, {.user = "ann"});
  const Reason silent{ReasonKind::kSilentNodes, {1, 0, 0, id.value}, {Duration::Seconds(9)}};
  const Reason named = nodes.Complete({silent}).front();
  EXPECT_EQ(named.names, std::vector<std::string>{"n"});
  EXPECT_EQ(named.numbers[2], static_cast<int64_t>(SilentFate::kKept));
  const Reason away = nodes.Complete({{ReasonKind::kNoNodeJoined}}).front();
  EXPECT_EQ(away.numbers.front(), static_cast<int64_t>(NodeTrouble::kRefused));
  EXPECT_EQ(away.names, (std::vector<std::string>{"n", "0.0.9"}));
}

TEST_F(NodesTest, ANodeThatComesAndGoesFillsNoLog) {
  for (int i = 0; i < 500; ++i) {
    const NodeId id = Come("n", "ann", line);
    ASSERT_NE(id, NodeId());
    nodes.Disconnected(id, "the connection was lost");
    loop.RunFor(Duration::Seconds(1));
  }
  EXPECT_EQ(logged, 6);
  // Then it is told how often, and all of it again.
  loop.RunFor(Duration::Seconds(600));
  Come("n", "ann", line);
  EXPECT_EQ(logged, 8);
}

// Pilots have new names each time. Other users' nodes are told as before.
TEST_F(NodesTest, NodesThatComeAndGoUnderManyNamesFillNoLog) {
  for (int i = 0; i < 700; ++i) {
    const NodeId node = Come("n" + std::to_string(i), "ada", line);
    nodes.Disconnected(node, "it ended", {}, engine::LastNodes::kEnded);
  }
  EXPECT_EQ(logged, 1000);
  Come("m", "bob", other);
  EXPECT_EQ(logged, 1001);
  loop.RunFor(Duration::Seconds(601));
  Come("n", "ada", line);
  EXPECT_EQ(logged, 1003) << "how many were not told, and this one";
}

TEST_F(NodesTest, AUserHasAThousandNodesAndTheHubsOwnerAsManyAsThereAre) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(Admit("n" + std::to_string(i), "ann"));
  EXPECT_FALSE(Admit("more", "ann"));
  EXPECT_TRUE(Admit("n0", "ann")) << "it is known";
  EXPECT_TRUE(Admit("b", "bob"));
  EXPECT_TRUE(nodes.Admit("more", "1", {.user = "ann", .is_owner = true}));
}

// After a restart of the hub all nodes report for the first time.
TEST_F(NodesTest, TheFirstReportsOfManyNodesCostLessThanTheirArrivals) {
  constexpr int kNodes = 8'000;
  std::deque<NodeEnd> ends;
  std::vector<NodeId> ids;
  const std::clock_t begin = std::clock();
  for (int i = 0; i < kNodes; ++i) {
    ids.push_back(Come("n" + std::to_string(i), "*", ends.emplace_back()));
  }
  const std::clock_t arrived = std::clock();
  for (NodeId id : ids) nodes.StoreState(id, {});
  EXPECT_LT(std::clock() - arrived, arrived - begin);
}

TEST_F(NodesTest, ARemovedNodeStaysOut) {
  NodeId id = Come("n", "ann", line);
  nodes.Remove(id, Nodes::Removal::kEnds);
  EXPECT_NE(line.refused, "");
  EXPECT_FALSE(Admit("n", "ann"));
  loop.RunFor(kCommit * 4);
  Nodes next(loop, store, hub, [](const LogText&) {});
  EXPECT_TRUE(next.Load());
  EXPECT_FALSE(next.Admit("n", "1", {.user = "ann"})) << "after a restart, too";
  nodes.Remove(id, Nodes::Removal::kNone);
  EXPECT_TRUE(Admit("n", "bob")) << "whose name it is was forgotten";
}

TEST_F(NodesTest, ANameThatAnEarlierReleaseAcceptedStaysUsable) {
  store::NodeRow row{.id = NodeId(1), .name = "a/$(b)", .instance = "1", .user = "ann"};
  disk->nodes[row.id] = row;
  Nodes next(loop, store, hub, [](const LogText&) {});
  ASSERT_TRUE(next.Load());
  ASSERT_NE(next.FindByName(row.name), nullptr);
  EXPECT_TRUE(next.Admit(row.name, "1", {.user = "ann"}));
  next.Remove(row.id, Nodes::Removal::kEnds);
  EXPECT_FALSE(next.Admit(row.name, "1", {.user = "ann"}));
}

// A row that is on its way to the disk counts, not the older one that is there.
TEST_F(NodesTest, ANodeComesBackWhileItIsBeingForgotten) {
  NodeId id = Come("n", "ann", line);
  nodes.Remove(id, Nodes::Removal::kEnds);
  nodes.Disconnected(id, "cut");
  loop.RunFor(kCommit * 4);
  ASSERT_TRUE(disk->nodes.at(id).removed);
  nodes.Remove(id, Nodes::Removal::kNone);
  nodes.ForgetAway(loop.Now() + Duration::Seconds(1), Instant());
  ASSERT_EQ(nodes.FindByName("n"), nullptr);
  auto again = Admit("n", "ann");
  ASSERT_TRUE(again) << again.error().reason;
  EXPECT_EQ(*again, id);
  loop.RunFor(kCommit * 6);
  EXPECT_FALSE(disk->nodes.at(id).removed);
  EXPECT_FALSE(disk->nodes.at(id).forgotten);
}

// Blame by ended jobs is the journal's, and a record removes it before the node is forgotten.
TEST_F(NodesTest, ABlamedNodeIsForgottenByARecord) {
  NodeId id = Come("n", "ann", line);
  nodes.Disconnected(id, "cut");
  loop.RunFor(Duration::Seconds(120));
  store.Append({.records = {engine::NodeBlamed{id, {{JobId(9), "ann"}}}}}, nullptr);
  loop.RunFor(kCommit * 4);
  store::MemoryStore again{loop, disk, {kCommit, kCommit, 1, /*is_hub=*/true}};
  Hub next(loop, again, watcher, Epoch(2));
  ASSERT_TRUE(next.Replay());
  next.Resume(engine::LastNodes::kMayReturn);
  loop.RunFor(Duration::Seconds(120));  // it does not come back
  Nodes known(loop, again, next, [](const LogText&) {});
  ASSERT_TRUE(known.Load());
  ASSERT_TRUE(next.engine().IsBlamed(id));
  known.ForgetAway(loop.Now() + Duration::Seconds(1), Instant());
  EXPECT_NE(known.FindByName("n"), nullptr) << "its record is not durable yet";
  loop.RunFor(kCommit * 4);
  EXPECT_FALSE(next.engine().IsBlamed(id));
  known.ForgetAway(loop.Now() + Duration::Seconds(1), Instant());
  EXPECT_EQ(known.FindByName("n"), nullptr);
  store::MemoryStore last{loop, disk, {kCommit, kCommit, 1, /*is_hub=*/true}};
  Hub third(loop, last, watcher, Epoch(3));
  ASSERT_TRUE(third.Replay());
  EXPECT_FALSE(third.engine().IsBlamed(id));
  EXPECT_TRUE(third.engine().Nodes().empty());
}

TEST_F(NodesTest, ForgottenNodesKeepTheirNumbers) {
  NodeId first = Come("n", "ann", line);
  NodeId second = Come("m", "ann", other);
  nodes.Disconnected(first, "cut");
  loop.RunFor(Duration::Seconds(120));  // what it had is lost by then
  nodes.ForgetAway(loop.Now(), Instant());
  loop.RunFor(kCommit * 4);
  EXPECT_EQ(nodes.FindByName("n"), nullptr);
  EXPECT_NE(nodes.FindByName("m"), nullptr) << "it is there";
  EXPECT_EQ(*Admit("n", "ann"), first);
  EXPECT_EQ(Admit("k", "ann")->value, second.value + 1);
}

}  // namespace
}  // namespace spate::hub
