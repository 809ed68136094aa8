// Looks at running tasks, from the client's question to the node that has the task and back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "hub/testing_node.h"
#include "hub/testing_service.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

using Shown = wire::LookAtRun::Answer;
using Standing = RunLook::Standing;

wire::AnswerPiece Answer(const wire::Ask& ask, const RunLook& look) {
  return {ask.id, wire::AnswerKind::kDone, 0, wire::BytesOf(look)};
}

class LookTest : public ServiceTest {
 protected:
  // It joins, and takes so many tasks.
  NodeEnd& Node(const std::string& name, uint32_t slots,
                std::vector<std::string> features = wire::OwnFeatures()) {
    NodeEnd& node = nodes_.emplace_back();
    node.keeps_sent = true;
    const Caller every{.user = "*", .is_admin = true};
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = name;
    auto id = service_->AdmitNode(greeting, every);
    EXPECT_TRUE(id.has_value());
    service_->NodeArrived(*id, {std::make_unique<NodeEndPort>(node), "here", "9.9", features},
                          every);
    wire::Hello hello;
    hello.offer.slots = slots;
    hello.offer.milli_cpus = 1000 * slots;
    node.say(std::move(hello));
    loop_.RunFor(Duration::Seconds(1));
    ids_.push_back(*id);
    return node;
  }
  void Look(Dialogue& who, JobId job, uint32_t task, RunWish wish = {.most = 100},
            uint32_t rank = 0) {
    who.replies.clear();
    who.Ask(wire::Query{
        wire::LookAtRun{{.job = job.value, .ranges = {{task, task, 1}}}, std::move(wish), rank}});
    loop_.RunFor(Duration::Millis(50));
  }
  static Shown AnswerTo(const Dialogue& who) {
    EXPECT_TRUE(who.Done());
    if (!who.Done() || who.replies.size() != 2) return {};
    const auto& answer = std::get<wire::QueryAnswer>(who.replies.front());
    return wire::FromBytes<Shown>("shown", answer.bytes).value_or(Shown());
  }
  static std::string Refusal(const Dialogue& who) {
    const auto* failed =
        who.replies.empty() ? nullptr : std::get_if<wire::Failed>(&who.replies.back());
    return failed == nullptr ? "" : failed->text;
  }

  std::deque<NodeEnd> nodes_;
  std::vector<NodeId> ids_;
};

TEST_F(LookTest, TheNodeThatHasTheTaskIsAsked) {
  NodeEnd& idle = Node("n0", 1, {});  // of an older release; gets no task because it is drained
  Dialogue& ann = Come("ann", 1);
  service_->hub().Post(engine::DrainNode{ids_[0], "not this one"});
  NodeEnd& node = Node("n1", 2);
  const JobId job = Submit(ann, 2);
  ASSERT_FALSE(node.All<wire::Lease>().empty());
  Look(ann, job, 2, {.out_from = 7, .most = 100, .use = true});
  EXPECT_FALSE(ann.Done()) << "it waits for the node";
  auto asked = node.All<wire::Ask>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].ref, (AttemptRef{job, 1, Attempt(1)}));
  EXPECT_EQ(wire::FromBytes<RunWish>("wish", asked[0].body),
            (RunWish{.out_from = 7, .most = 100, .use = true}));
  RunLook look{.standing = Standing::kRunning};
  look.out = {.from = 7, .bytes = "more", .total = 11};
  // Nobody else may answer.
  idle.say(wire::AnswerPiece{asked[0].id, wire::AnswerKind::kEnded});
  node.say(Answer(asked[0], look));
  loop_.RunFor(Duration::Millis(50));
  const Shown shown = AnswerTo(ann);
  EXPECT_EQ(shown.state, TaskState::kLeased);
  EXPECT_EQ(shown.task, 2u);
  EXPECT_EQ(shown.attempt, 1u);
  EXPECT_EQ(shown.node, "n1");
  EXPECT_EQ(shown.ranks, 0u);
  EXPECT_EQ(shown.look, look);
  node.say(Answer(asked[0], look));  // again: of no call
  EXPECT_TRUE(idle.All<wire::Ask>().empty());
}

TEST_F(LookTest, ATaskThatWaitsAndOneThatHasEnded) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 1);
  Look(ann, job, 1);
  Shown shown = AnswerTo(ann);
  EXPECT_EQ(shown.state, TaskState::kQueued);
  EXPECT_EQ(shown.attempt, 0u);
  EXPECT_FALSE(shown.why.empty());
  NodeEnd& node = Node("n1", 1);
  AttemptEnd end;
  end.ref = {job, 0, Attempt(1)};
  node.say(wire::Ends{1, {end}, {nullptr}});
  loop_.RunFor(Duration::Millis(1));  // it is not durable yet
  ann.replies.clear();
  ann.Ask(wire::Query{wire::LookAtRun{{.job = job.value, .ranges = {{1, 1, 1}}}, {}}});
  EXPECT_FALSE(ann.Done()) << "the journal does not have its end";
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(AnswerTo(ann).state, TaskState::kSucceeded);
  Look(ann, job, 2);
  EXPECT_EQ(Refusal(ann), "the journal tells of this task");
}

TEST_F(LookTest, ANodeThatCannotAnswerIsNamed) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& older = Node("n1", 1);
  const JobId job = Submit(ann, 1);
  Look(ann, job, 1);
  older.say(wire::AnswerPiece{older.All<wire::Ask>().at(0).id, wire::AnswerKind::kUnknown});
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(
      AnswerTo(ann).look.why,
      "node n1 (9.9) cannot show what runs there: it runs another release than the hub, or is not "
      "a node of Spate; update the older one");
  service_->NodeGone(ids_[0], "a cut", {});
  Look(ann, job, 1);
  EXPECT_EQ(AnswerTo(ann).look.why, "the node n1 is not connected");
}

TEST_F(LookTest, ANodeThatSaysTooMuchIsNotPassedOn) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& node = Node("n1", 1);
  const JobId job = Submit(ann, 1);
  auto shown_after = [&](RunLook look) {
    Look(ann, job, 1);
    node.say(Answer(node.All<wire::Ask>().back(), look));
    loop_.RunFor(Duration::Millis(50));
    return AnswerTo(ann).look;
  };
  RunLook look{.standing = Standing::kRunning};
  look.out.bytes = std::string(kLookPiece, 'x');
  EXPECT_EQ(shown_after(look), look);
  look.out.bytes += 'x';
  EXPECT_EQ(shown_after(look), (RunLook{.why = "a damaged message: look.out.bytes is too long"}));
}

TEST_F(LookTest, ANodeThatIsSilentOrGoesIsToldOf) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& node = Node("n1", 1);
  const JobId job = Submit(ann, 1);
  Look(ann, job, 1);
  loop_.RunFor(NodeCalls::kLookPatience - Duration::Millis(100));
  EXPECT_FALSE(ann.Done());
  loop_.RunFor(Duration::Millis(200));
  Shown shown = AnswerTo(ann);
  EXPECT_EQ(shown.look.standing, Standing::kUnknown);
  EXPECT_EQ(shown.look.why, "the node n1 does not answer");
  EXPECT_EQ(shown.attempt, 1u);
  // Late, it answers nothing.
  node.say(Answer(node.All<wire::Ask>().front(), {}));
  Look(ann, job, 1);
  EXPECT_FALSE(ann.Done());
  service_->NodeGone(ids_[0], "a cut", {});
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(AnswerTo(ann).look.why, "the node n1 is not connected") << "at once";
}

TEST_F(LookTest, OthersMayNotLookAndManyMayNotLookAtOnce) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& node = Node("n1", 1);
  const JobId job = Submit(ann, 1);
  Dialogue& bob = Come("bob", 2);
  Look(bob, job, 1);
  EXPECT_NE(Refusal(bob).find("belongs to ann"), std::string::npos) << Refusal(bob);
  EXPECT_TRUE(node.All<wire::Ask>().empty());
  std::vector<Dialogue*> all;
  for (size_t n = 0; n <= NodeCalls::kMostAsks; ++n) {
    all.push_back(&Come("root", 0));
    all.back()->Ask(wire::Query{wire::LookAtRun{{.job = job.value, .ranges = {{1, 1, 1}}}, {}}});
  }
  loop_.RunFor(Duration::Millis(50));
  EXPECT_EQ(node.All<wire::Ask>().size(), NodeCalls::kMostAsks);
  EXPECT_EQ(AnswerTo(*all.back()).look.why,
            "user root looks at 16 tasks of node n1 at once, the limit for one user; try again");
  Look(ann, job, 1);
  EXPECT_EQ(node.All<wire::Ask>().size(), NodeCalls::kMostAsks + 1) << "another user's look";
  for (const wire::Ask& ask : node.All<wire::Ask>()) {
    node.say(Answer(ask, {.standing = Standing::kRunning}));
  }
  Look(*all.front(), job, 1);
  EXPECT_EQ(node.All<wire::Ask>().size(), NodeCalls::kMostAsks + 2) << "there is room again";
}

TEST_F(LookTest, LongAnswersComeInPiecesOfWhichEachIsTaken) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& node = Node("n1", 1);
  const JobId job = Submit(ann, 1);
  Look(ann, job, 1);
  const uint64_t id = node.All<wire::Ask>().at(0).id;
  const RunLook look{.standing = Standing::kRunning, .out = {.bytes = std::string(900, 'o')}};
  const std::string bytes = wire::BytesOf(look);
  node.say(wire::AnswerPiece{id, wire::AnswerKind::kMore, 0, bytes.substr(0, 500)});
  EXPECT_EQ(node.All<wire::AnswerTaken>(), (std::vector<wire::AnswerTaken>{{id, 500}}));
  EXPECT_FALSE(ann.Done());
  node.say(wire::AnswerPiece{id, wire::AnswerKind::kDone, 0, bytes.substr(500)});
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(AnswerTo(ann).look, look);
  // Late answers and endless ones are not wanted.
  node.say(wire::AnswerPiece{id, wire::AnswerKind::kMore, 0, "late"});
  EXPECT_EQ(node.All<wire::AnswerTaken>().back(), (wire::AnswerTaken{id, 0}));
  Look(ann, job, 1);
  const std::string piece(wire::kAnswerPiece, 'x');
  for (size_t sent = 0; sent <= wire::kMostAnswer; sent += piece.size()) {
    node.say(wire::AnswerPiece{id + 1, wire::AnswerKind::kMore, 0, piece});
  }
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(AnswerTo(ann).look.why, "the node n1 answers too much");
  EXPECT_EQ(node.All<wire::AnswerTaken>().back(), (wire::AnswerTaken{id + 1, 0}));
}

TEST_F(LookTest, ANodesOwnQuestionsArePassedOnUnread) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& node = Node("n1", 1);
  auto ask = [&](const std::string& name) {
    ann.replies.clear();
    ann.Ask(wire::Query{wire::AskNode{name, 9999, "body"}});
    loop_.RunFor(Duration::Millis(1));
  };
  ask("n2");
  EXPECT_EQ(Refusal(ann), "the hub knows no node 'n2'");
  ask("n1");
  const wire::Ask asked = node.All<wire::Ask>().at(0);
  EXPECT_EQ(asked, (wire::Ask{.id = asked.id, .question = 9999, .user = "ann", .body = "body"}));
  node.say(wire::AnswerPiece{asked.id, wire::AnswerKind::kDone, 0, "answer"});
  loop_.RunFor(Duration::Millis(1));
  ASSERT_TRUE(ann.Done());
  EXPECT_EQ(std::get<wire::QueryAnswer>(ann.replies.front()).bytes, "answer");
  const Error why{ErrorKind::kPermission, "not you"};
  ask("n1");
  wire::AnswerPiece refusal = wire::AnswerPiece::Failed(why);
  refusal.id = node.All<wire::Ask>().back().id;
  node.say(refusal);
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(Refusal(ann), "not you");
  EXPECT_EQ(std::get<wire::Failed>(ann.replies.back()).kind, ErrorKind::kPermission);
  using enum wire::AnswerKind;
  for (const wire::AnswerKind kind : {kUnknown, kEnded, kNotStarted}) {
    ask("n1");
    node.say(wire::AnswerPiece{node.All<wire::Ask>().back().id, kind});
    loop_.RunFor(Duration::Millis(1));
    EXPECT_EQ(Refusal(ann),
              "node n1 (9.9) cannot tell that: it runs another release than the hub, or is not a "
              "node of Spate; update the older one")
        << static_cast<int>(kind);
  }
}

TEST_F(LookTest, AUsersLongAnswersLeaveRoomForOthers) {
  std::vector<NodeEnd*> nodes = {&Node("n1", 1), &Node("n2", 1)};
  auto ask = [&](Dialogue& who, NodeEnd& node, const std::string& name, size_t bytes) {
    who.Ask(wire::Query{wire::AskNode{name, 9999, "body"}});
    loop_.RunFor(Duration::Millis(1));
    const uint64_t id = node.All<wire::Ask>().back().id;
    const std::string piece(wire::kAnswerPiece, 'x');
    for (size_t sent = 0; sent < bytes; sent += piece.size()) {
      node.say(wire::AnswerPiece{id, wire::AnswerKind::kMore, 0, piece});
    }
    return id;
  };
  constexpr size_t kFull = NodeCalls::kMostOfUser / wire::kMostAnswer;
  std::vector<uint64_t> ids;
  Dialogue& first = Come("ann", 1);
  ids.push_back(ask(first, *nodes[0], "n1", wire::kMostAnswer));
  for (size_t n = 1; n < kFull; ++n) {
    ids.push_back(ask(Come("ann", 1), *nodes[n % 2], n % 2 == 0 ? "n1" : "n2", wire::kMostAnswer));
  }
  Dialogue& over = Come("ann", 1);
  const uint64_t refused = ask(over, *nodes[1], "n2", 1);
  EXPECT_EQ(Refusal(over), "the hub waits for too many long answers of nodes at once; try again");
  EXPECT_EQ(std::get<wire::Failed>(over.replies.back()).kind, ErrorKind::kBusy);
  EXPECT_EQ(nodes[1]->All<wire::AnswerTaken>().back(), (wire::AnswerTaken{refused, 0}));
  Dialogue& bob = Come("bob", 2);
  const uint64_t bobs = ask(bob, *nodes[1], "n2", 1);
  nodes[1]->say(wire::AnswerPiece{bobs, wire::AnswerKind::kDone, 0, ""});
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(Refusal(bob), "");
  // A whole answer gives its share back.
  nodes[0]->say(wire::AnswerPiece{ids.front(), wire::AnswerKind::kDone, 0, ""});
  loop_.RunFor(Duration::Millis(1));
  EXPECT_EQ(Refusal(first), "");
  Dialogue& again = Come("ann", 1);
  ask(again, *nodes[0], "n1", 1);
  EXPECT_FALSE(again.Done());
}

TEST_F(LookTest, TheNodeOfARankIsAsked) {
  Dialogue& ann = Come("ann", 1);
  NodeEnd& first = Node("n1", 2);
  NodeEnd& second = Node("n2", 2);
  wire::Submit head = Head("gang");
  head.open = false;
  ann.Ask(head);
  ann.Ask(wire::Rows{{"true"}});
  TaskClass of_gang{Needs()};
  of_gang.gang = {.procs = 4, .nodes = 2};
  ann.Ask(wire::SubmitEnd{1, {of_gang}, {{0, 1, 0}}, {}});
  loop_.RunFor(Duration::Seconds(1));
  const JobId job = std::get<wire::Accepted>(ann.replies.back()).job;
  for (uint32_t rank : {1u, 2u}) {
    Look(ann, job, 1, {}, rank);
    NodeEnd& has = rank < 2 ? first : second;
    ASSERT_EQ(has.All<wire::Ask>().size(), 1u) << rank;
    EXPECT_EQ(has.All<wire::Ask>()[0].rank, rank);
    has.say(Answer(has.All<wire::Ask>()[0], {.standing = Standing::kRunning}));
    loop_.RunFor(Duration::Millis(1));
    EXPECT_EQ(AnswerTo(ann).node, rank < 2 ? "n1" : "n2");
    EXPECT_EQ(AnswerTo(ann).ranks, 4u);
  }
  Look(ann, job, 1, {}, 4);
  EXPECT_EQ(Refusal(ann), fmt::format("--rank 4: task {}.1 has ranks 0 to 3", job.value));
}

TEST_F(LookTest, NodesWithoutRoomAreNamed) {
  NodeEnd& node = Node("n1", 1);
  Node("n2", 1);
  wire::NodeState state;
  for (const std::string_view no_room : {"", "its disk is full", ""}) {
    state.no_room = no_room;
    node.say(state);
    loop_.RunFor(Duration::Seconds(1));
    EXPECT_EQ(service_->Facts().full_nodes,
              std::vector<std::string>(no_room.empty() ? 0 : 1, "n1"));
  }
}

// ---- What runs, and what waits on its node -----------------------------------------------------

TEST_F(LookTest, WhatANodeHasNotStartedIsQueued) {
  NodeEnd& node = Node("n1", 1);
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 2);
  ASSERT_EQ(service_->engine().Counts(job)->leased, 2u) << "one is held ahead";
  auto running = [&] {
    const JobCounts counts = service_->known().Counts(job).value_or(JobCounts());
    const HubFacts hub = service_->Facts();
    EXPECT_EQ(counts.leased, hub.running);
    EXPECT_EQ(counts.queued, hub.queued);
    return counts.leased;
  };
  EXPECT_EQ(running(), 2u) << "the node does not tell";
  node.say(wire::NodeState());
  EXPECT_EQ(running(), 0u);
  const AttemptRef first{job, 0, Attempt(1)}, second{job, 1, Attempt(1)};
  node.say(wire::Running{first, 1});
  EXPECT_EQ(running(), 1u) << "at once";
  loop_.RunFor(KnownJobs::kTellEvery * 2);
  EXPECT_TRUE(service_->known().Find(job)->started);
  wire::NodeState state;
  state.runs = {{first, loop_.Now()}};
  state.waits = {{second, 1, "", {ReasonKind::kSlotsTaken, {1, job.value, 1}}}};
  node.say(state);
  EXPECT_EQ(running(), 1u);
  ann.replies.clear();
  ann.Ask(wire::Query{wire::ExplainTasks{{{.job = job.value, .ranges = {{2, 2}}}}}});
  loop_.RunFor(Duration::Millis(50));
  ASSERT_TRUE(ann.Done());
  auto why =
      wire::FromBytes<TaskWhy>("why", std::get<wire::QueryAnswer>(ann.replies.front()).bytes);
  ASSERT_TRUE(why);
  ASSERT_EQ(why->why.size(), 1u);
  EXPECT_EQ(why->why[0].kind, ReasonKind::kSlotsTaken);
  ASSERT_FALSE(why->why[0].names.empty());
  // The first ends: the second waits until the node begins it.
  AttemptEnd end;
  end.ref = first;
  node.say(wire::Ends{1, {end}, {nullptr}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(running(), 0u);
  node.say(wire::Running{second, 1});
  EXPECT_EQ(running(), 1u);
  // While the node is away, what it ran counts as running.
  service_->NodeGone(ids_[0], "cut", {});
  loop_.RunFor(Duration::Millis(50));
  EXPECT_EQ(running(), 1u);
}

// After a restart of the hub, a node that is not back yet may still run its tasks.
TEST_F(LookTest, WhatANodeHasThatHasNotToldCountsAsRunning) {
  NodeEnd& told = Node("n1", 1);
  NodeEnd& untold = Node("n2", 1);
  told.say(wire::NodeState());
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 2);
  ASSERT_EQ(service_->engine().Leased(ids_[1], job), 1u) << "each has one";
  const uint32_t leased = service_->engine().Counts(job)->leased;
  EXPECT_EQ(service_->known().Counts(job)->leased, leased);
  EXPECT_FALSE(service_->nodes().RunningTasks(job));
  untold.say(wire::NodeState());
  EXPECT_EQ(service_->known().Counts(job)->leased, 0u);
  EXPECT_EQ(service_->known().Counts(job)->queued, 2u);
  EXPECT_EQ(service_->nodes().RunningTasks(job), std::vector<TaskRange>());
}

TEST_F(LookTest, ANodeThatStartsManyIsNotFollowedOneByOne) {
  NodeEnd& node = Node("n1", 100);
  node.say(wire::NodeState());
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 100);
  for (TaskIndex i = 0; i < 100; ++i) node.say(wire::Running{{job, i, Attempt(1)}, 1});
  EXPECT_EQ(service_->known().Counts(job)->leased, 50u);
  wire::NodeState state;
  for (TaskIndex i = 0; i < 100; ++i) state.runs.push_back({{job, i, Attempt(1)}, loop_.Now()});
  node.say(state);
  EXPECT_EQ(service_->known().Counts(job)->leased, 100u);
  EXPECT_EQ(service_->known().Counts(job)->queued, 0u);
}

// A node whose report would be as the one before sends none.
TEST_F(LookTest, WhatHasEndedIsNotShownToRun) {
  NodeEnd& node = Node("n1", 1);
  node.say(wire::NodeState());
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 2);
  auto look = [&] {
    ann.replies.clear();
    ann.Ask(wire::Query{wire::ListNodes()});
    loop_.RunFor(Duration::Millis(50));
    if (!ann.Done() || ann.replies.size() != 2) return NodeFacts();
    const auto& answer = std::get<wire::QueryAnswer>(ann.replies.front());
    return wire::FromBytes<NodeFacts>("node", answer.bytes).value_or(NodeFacts());
  };
  AttemptEnd end;
  end.ref = {job, 0, Attempt(1)};
  node.say(wire::Running{end.ref, 1});
  NodeFacts facts = look();
  EXPECT_EQ(facts.tasks, 1u);
  EXPECT_EQ(facts.runs.size(), 1u);
  node.say(wire::Ends{1, {end}, {nullptr}});
  loop_.RunFor(Duration::Seconds(1));
  facts = look();
  EXPECT_EQ(facts.tasks, 0u);
  EXPECT_EQ(facts.next, 1u);
  EXPECT_TRUE(facts.runs.empty());
}

TEST_F(LookTest, AJobHasStartedWhenOneOfItsTasksRunsForCertain) {
  NodeEnd& node = Node("n1", 1);
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 1);
  EXPECT_EQ(service_->known().Counts(job)->leased, 1u) << "it may run";
  EXPECT_FALSE(service_->known().Find(job)->started);
  node.say(wire::NodeState());
  service_->hub().Post(engine::HoldJob{job});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(service_->known().Counts(job)->leased, 1u) << "it may still start";
  EXPECT_FALSE(service_->known().Find(job)->started);
  node.say(wire::Running{{job, 0, Attempt(1)}, 1});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_TRUE(service_->known().Find(job)->started);
}

}  // namespace
}  // namespace spate::hub
