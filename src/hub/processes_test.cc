// Lists of processes, from the client's question to the nodes and back: who is asked of what, and
// what of the answers is passed on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hub/testing_node.h"
#include "hub/testing_service.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

class ProcessesTest : public ServiceTest {
 protected:
  NodeEnd& Node(const std::string& name, uint32_t slots) {
    NodeEnd& node = nodes_.emplace_back();
    node.keeps_sent = true;
    const Caller every{.user = "*", .is_admin = true};
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = name;
    auto id = service_->AdmitNode(greeting, every);
    EXPECT_TRUE(id.has_value());
    ids_.push_back(*id);
    service_->NodeArrived(
        *id, {std::make_unique<NodeEndPort>(node), "here", "9.9", wire::OwnFeatures()}, every);
    wire::Hello hello;
    hello.offer.slots = slots;
    hello.offer.milli_cpus = 1000 * slots;
    node.say(std::move(hello));
    loop_.RunFor(Duration::Seconds(1));
    return node;
  }
  // It tells that it runs what it was given.
  void TellRuns(NodeEnd& node) {
    wire::NodeState state;
    for (const wire::Lease& lease : node.All<wire::Lease>()) {
      for (const TaskRange& range : lease.tasks) {
        for (uint32_t i = 0; i < range.count; ++i) {
          state.runs.push_back({{lease.job, range.first + i, lease.attempt}, loop_.Now()});
        }
      }
    }
    node.say(std::move(state));
    loop_.RunFor(Duration::Millis(10));
  }
  void List(Dialogue& who, wire::ListProcesses question = {}) {
    who.replies.clear();
    who.Ask(wire::Query{std::move(question)});
    loop_.RunFor(Duration::Millis(10));
  }
  static std::vector<ReadProcesses> AsksTo(const NodeEnd& node) {
    std::vector<ReadProcesses> asks;
    for (const wire::Ask& ask : node.All<wire::Ask>()) {
      EXPECT_EQ(ask.question, ReadProcesses::kNumber);
      asks.push_back(wire::FromBytes<ReadProcesses>("ask", ask.body).value());
    }
    return asks;
  }
  void Answer(NodeEnd& node, const NodeProcesses& answer) {
    node.say(wire::AnswerPiece{node.All<wire::Ask>().back().id, wire::AnswerKind::kDone, 0,
                               wire::BytesOf(answer)});
    loop_.RunFor(Duration::Millis(10));
  }
  static AttemptProcesses Of(JobId job, uint32_t task, uint32_t pid) {
    return {.job = job, .task = task, .attempt = 1, .user = "liar", .processes = {{.pid = pid}}};
  }
  // Answers by node.
  static std::map<std::string, NodeProcesses> Given(const Dialogue& who) {
    std::map<std::string, NodeProcesses> given;
    for (const wire::Reply& reply : who.replies) {
      const auto* answer = std::get_if<wire::QueryAnswer>(&reply);
      if (answer == nullptr) continue;
      auto one = wire::FromBytes<NodeProcesses>("answer", answer->bytes).value();
      EXPECT_TRUE(given.emplace(one.node, one).second) << one.node << " twice";
    }
    return given;
  }
  static std::string Refusal(const Dialogue& who) {
    const auto* failed =
        who.replies.empty() ? nullptr : std::get_if<wire::Failed>(&who.replies.back());
    return failed == nullptr ? "" : failed->text;
  }

  std::deque<NodeEnd> nodes_;
  std::vector<NodeId> ids_;
};

TEST_F(ProcessesTest, NodesThatRunTheTasksAreAskedAndAnswerForThemselves) {
  NodeEnd& n1 = Node("n1", 1);
  NodeEnd& n2 = Node("n2", 1);
  Dialogue& ann = Come("ann", 1);
  Dialogue& bob = Come("bob", 2);
  const JobId of_ann = Submit(ann, 1), of_bob = Submit(bob, 1);
  const bool first = !n1.All<wire::Lease>().empty() && n1.All<wire::Lease>()[0].job == of_ann;
  NodeEnd& hers = first ? n1 : n2;
  NodeEnd& his = first ? n2 : n1;
  List(ann);  // no node has told yet
  EXPECT_EQ(AsksTo(hers).size(), 1u);
  EXPECT_TRUE(AsksTo(his).empty());
  Answer(hers, {});
  EXPECT_TRUE(ann.Done());
  TellRuns(n1);
  TellRuns(n2);
  List(ann);
  EXPECT_FALSE(ann.Done());
  ASSERT_EQ(AsksTo(hers).size(), 2u);
  EXPECT_TRUE(AsksTo(his).empty());
  EXPECT_EQ(AsksTo(hers)[1].jobs.at(0).job, of_ann);
  EXPECT_EQ(AsksTo(hers)[1].jobs.size(), 1u);
  EXPECT_TRUE(hers.All<wire::Ask>().back().admin) << "else anybody could ask by AskNode";
  // It names what is not its own, and what was not asked for.
  NodeProcesses told{.node = "another", .why = "none", .left_out = 3};
  told.attempts = {Of(of_ann, 1, 11), Of(of_bob, 1, 12), Of(of_ann, 2, 13), Of(of_ann, 0, 14)};
  told.attempts.push_back(Of(of_ann, 1, 15));
  told.attempts.back().attempt = 2;
  Answer(hers, told);
  EXPECT_TRUE(ann.Done());
  const auto given = Given(ann);
  ASSERT_EQ(given.size(), 1u);
  const NodeProcesses& one = given.begin()->second;
  EXPECT_EQ(one.node, first ? "n1" : "n2");
  EXPECT_EQ(one.why, "");
  EXPECT_EQ(one.left_out, 3u);
  ASSERT_EQ(one.attempts.size(), 1u);
  EXPECT_EQ(one.attempts[0].user, "ann");
  EXPECT_EQ(one.attempts[0].processes.at(0).pid, 11u);
}

TEST_F(ProcessesTest, OthersAreForAdministratorsWhoWantThem) {
  NodeEnd& node = Node("n1", 2);
  Dialogue& ann = Come("ann", 1);
  Dialogue& bob = Come("bob", 2);
  const JobId of_ann = Submit(ann, 1), of_bob = Submit(bob, 1);
  TellRuns(node);
  wire::TaskPick hers{.jobs = {.ranges = {{of_ann.value, of_ann.value, 1}}}, .tasks = {}};
  List(bob, {.tasks = {hers}});
  EXPECT_NE(Refusal(bob).find("belongs to ann"), std::string::npos) << Refusal(bob);
  List(bob, {.tasks = {{.jobs = {}, .tasks = {{.job = of_ann.value, .all = true}}}}});
  EXPECT_NE(Refusal(bob).find("belongs to ann"), std::string::npos) << Refusal(bob);
  List(bob, {.everybody = true});
  EXPECT_NE(Refusal(bob).find("only the hub's administrators"), std::string::npos);
  // The node's question, past the hub's checks: it is passed on without the right to it.
  bob.replies.clear();
  bob.Ask(wire::Query{wire::AskNode{"n1", ReadProcesses::kNumber,
                                    wire::BytesOf(ReadProcesses{.jobs = {{of_ann, {}}}})}});
  loop_.RunFor(Duration::Millis(10));
  ASSERT_EQ(node.All<wire::Ask>().size(), 1u);
  EXPECT_FALSE(node.All<wire::Ask>().back().admin);
  Dialogue& admin = Come("root", 0);
  List(admin, {.everybody = true, .pid = 7});
  ASSERT_EQ(node.All<wire::Ask>().size(), 2u);
  const ReadProcesses asked = AsksTo(node)[1];
  EXPECT_EQ(asked.jobs.size(), 2u);
  EXPECT_EQ(asked.pid, 7u);
  Answer(node, {.attempts = {Of(of_ann, 1, 7), Of(of_bob, 1, 7)}});
  EXPECT_EQ(Given(admin).at("n1").attempts.size(), 2u);
}

TEST_F(ProcessesTest, SomeTasksAlone) {
  NodeEnd& node = Node("n1", 4);
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 4);
  TellRuns(node);
  List(ann, {.tasks = {{.jobs = {},
                        .tasks = {{.job = job.value, .ranges = {{2, 2, 1}}},
                                  {.job = job.value, .ranges = {{4, 4, 1}}}}}}});
  const ReadProcesses asked = AsksTo(node).at(0);
  ASSERT_EQ(asked.jobs.size(), 1u);
  EXPECT_EQ(asked.jobs[0].tasks, (std::vector<NumberRange>{{2, 2, 1}, {4, 4, 1}}));
  Answer(node, {.attempts = {Of(job, 1, 1), Of(job, 2, 2), Of(job, 4, 4)}});
  ASSERT_EQ(Given(ann).at("n1").attempts.size(), 2u);
  List(ann, {.tasks = {{.jobs = {.ranges = {{99, 99, 1}}}, .tasks = {}}}});
  EXPECT_NE(Refusal(ann).find("no job 99"), std::string::npos);
}

TEST_F(ProcessesTest, ANodeThatDoesNotAnswerIsNamedAndTheOthersAreNotHeldUp) {
  NodeEnd& n1 = Node("n1", 1);
  NodeEnd& n2 = Node("n2", 1);
  NodeEnd& n3 = Node("n3", 1);
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  for (NodeEnd* node : {&n1, &n2, &n3}) TellRuns(*node);
  const uint32_t task = n2.All<wire::Lease>().at(0).tasks.at(0).first + 1;
  service_->NodeGone(ids_[2], "a cut", {});
  List(ann);
  EXPECT_EQ(Given(ann).at("n3").why, "the node n3 is not connected");
  EXPECT_FALSE(ann.Done());
  Answer(n2, {.attempts = {Of(job, task, 5)}});
  EXPECT_EQ(Given(ann).at("n2").attempts.size(), 1u);
  loop_.RunFor(Duration::Millis(1900));
  EXPECT_FALSE(ann.Done());
  loop_.RunFor(Duration::Millis(200));
  EXPECT_TRUE(ann.Done());
  EXPECT_EQ(Given(ann).at("n1").why, "the node n1 does not answer");
  Answer(n1, {.attempts = {Of(job, 1, 5)}});  // too late
  EXPECT_EQ(Given(ann).at("n1").attempts.size(), 0u);
  // Nonsense is told, too.
  List(ann);
  n1.say(wire::AnswerPiece{n1.All<wire::Ask>().back().id, wire::AnswerKind::kDone, 0, "\x7f\xff"});
  n2.say(wire::AnswerPiece{n2.All<wire::Ask>().back().id, wire::AnswerKind::kUnknown});
  loop_.RunFor(Duration::Millis(10));
  EXPECT_TRUE(ann.Done());
  EXPECT_NE(Given(ann).at("n1").why, "");
  EXPECT_NE(Given(ann).at("n2").why.find("another release"), std::string::npos);
}

TEST_F(ProcessesTest, AHubThatHasNoTaskAsksNobody) {
  NodeEnd& node = Node("n1", 1);
  Dialogue& ann = Come("ann", 1);
  List(ann);
  EXPECT_TRUE(ann.Done());
  EXPECT_TRUE(node.All<wire::Ask>().empty());
}

}  // namespace
}  // namespace spate::hub
