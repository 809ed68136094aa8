// Which nodes may come in, under which name, and what is remembered of them.
#include "hub/nodes.h"

#include <gtest/gtest.h>

#include "os/fake_loop.h"
#include "store/memory_store.h"

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

// A connection, as seen from the node's end.
struct Line {
  std::function<void(wire::ToHub)> say;
  std::string refused;
};

class LinePort final : public NodePort {
 public:
  explicit LinePort(Line& line) : line_(line) {}
  void Send(wire::ToNode) override {}
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    line_.say = std::move(receiver);
  }
  void Refuse(const wire::Refusal& why) override { line_.refused = why.reason; }
  void Close() override {}

 private:
  Line& line_;
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
  NodeId Come(const std::string& name, const std::string& user, Line& at,
              const std::vector<std::string>& features = {}) {
    auto id = Admit(name, user);
    if (!id) return NodeId();
    nodes.Arrived(*id, {std::make_unique<LinePort>(at), "10.0.0.1", "1.0", features},
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
  Line line, other;
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
  nodes.Gone(*Admit("n", "ann"), "cut");
  EXPECT_FALSE(Admit("n", "bob"));
  EXPECT_TRUE(Admit("n", "ann", "another process"));
  for (const char* name : {"", "a b", "a,b"}) EXPECT_FALSE(Admit(name, "ann")) << name;
  // A pool of any name may come.
  for (const char* name : {"short.1", "a.b.22"}) EXPECT_FALSE(Admit(name, "ann")) << name;
  for (const char* name : {"short.1", "10.0.0.1"}) EXPECT_TRUE(Admit(name, "*")) << name;
  for (const char* name : {"n1.site.org", "n-1", ".1", "a."})
    EXPECT_TRUE(Admit(name, "ann")) << name;
}

// A node refused for its protocol keeps its tasks; another machine with its name does not.
TEST_F(NodesTest, ANodeThatKnocksIsAlive) {
  const Duration patience = kLimits.node_patience;
  NodeId id = Come("n", "ann", line);
  nodes.Gone(id, "the hub was upgraded");
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

TEST_F(NodesTest, ANodeThatComesAndGoesFillsNoLog) {
  for (int i = 0; i < 500; ++i) {
    const NodeId id = Come("n", "ann", line);
    ASSERT_NE(id, NodeId());
    nodes.Gone(id, "the connection was lost");
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
    nodes.Gone(node, "it ended", {}, engine::LastNodes::kEnded);
  }
  EXPECT_EQ(logged, 1000);
  Come("m", "bob", other);
  EXPECT_EQ(logged, 1001);
  loop.RunFor(Duration::Seconds(601));
  Come("n", "ada", line);
  EXPECT_EQ(logged, 1003) << "how many were not told, and this one";
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

// A row that is on its way to the disk counts, not the older one that is there.
TEST_F(NodesTest, ANodeComesBackWhileItIsBeingForgotten) {
  NodeId id = Come("n", "ann", line);
  nodes.Remove(id, Nodes::Removal::kEnds);
  nodes.Gone(id, "cut");
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

// What jobs that have ended said of it is the journal's, and goes by a record before the node does.
TEST_F(NodesTest, ABlamedNodeIsForgottenByARecord) {
  NodeId id = Come("n", "ann", line);
  nodes.Gone(id, "cut");
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
  nodes.Gone(first, "cut");
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
