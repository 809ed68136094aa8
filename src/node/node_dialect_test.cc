// Ways of a door to extend a node, with a made-up one: a kind of rows of its own, additions to
// its jobs, stderr that stays, and questions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <variant>
#include <vector>

#include "node/node.h"
#include "os/fake_loop.h"
#include "os/file.h"
#include "os/temp_dir.h"
#include "transport/inproc.h"
#include "wire/field_bytes.h"
#include "wire/questions.h"

namespace spate::node {
namespace {

constexpr RowKind kWish = static_cast<RowKind>(200);
constexpr JobId kJob(3);

// A row is a word; its body tells what is known of the run.
class WishReader final : public format::RowReader {
 public:
  Result<TaskBody> Body(std::string_view row, const format::RowRun& run) const override {
    TaskBody body;
    body.steps.emplace_back().commands.emplace_back().argv = {
        std::string(row),
        fmt::format("{} {} {} {}", run.index, run.slot, run.node, run.milli_cpus)};
    body.environment = {"WISH=1"};
    return body;
  }
  std::string CommandText(std::string_view row, const format::RowRun&) const override {
    return std::string(row);
  }
};

class Wishes final : public format::RowDialect {
 public:
  Result<format::CompiledJob> Compile(const JobSettings&, JobId) const override {
    return std::make_shared<WishReader>();
  }
  format::JobAdditions Additions(const JobSettings& settings) const override {
    return {.environment = {"WISHER=" + settings.user},
            .umask = 027,
            .inherits = true,
            .keeps_stderr = true};
  }
};

class Starts final : public Executor {
 public:
  void OpenJob(JobId, std::shared_ptr<const JobSettings> job, bool inherits) override {
    settings = std::move(job);
    inherited = inherits;
  }
  void CloseJob(JobId) override {}
  void Start(StartOrder order) override { orders.push_back(std::move(order)); }
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef&, EndHow, Cause) override {}
  void Pause(bool) override {}

  std::shared_ptr<const JobSettings> settings;
  bool inherited = false;
  std::vector<StartOrder> orders;
};

// A node that knows the dialect, and a hub that is this test.
struct NodeDialectTest : testing::Test {
  NodeDialectTest() { StartNode({}); }
  void StartNode(Doubt doubt) {
    Offer offer;
    offer.node_name = "n1";
    offer.slots = 4;
    offer.milli_cpus = 4 * kMilliCpu;
    Node::Parts parts{loop, starts, nullptr};
    parts.doubt = doubt;
    parts.ask_run = ask_run;
    parts.kept.dir = dir.path();
    parts.kept.name = [](JobId job, TaskIndex task) {
      return fmt::format("{}-{}", job.value, task);
    };
    parts.kept.account = [](const std::string& user) -> Result<os::Account> {
      if (user != "ann") return Fail(ErrorKind::kNotFound, "no such user");
      return os::Account{"ann", os::EffectiveUser(), 0, "/home/ann", "/bin/sh"};
    };
    parts.dialects.Add(kWish, std::make_shared<Wishes>());
    node = std::make_unique<Node>(NodeId(1), offer, std::move(parts));
    link.first->OnMessage([this](wire::ToHub message) { said.push_back(std::move(message)); });
    node->Connect(*link.second);
  }
  void Lease(RowKind kind) {
    JobSettings settings{.cwd = "/", .row_kind = kind};
    settings.user = "ann";
    link.first->Send(wire::OpenJob{kJob, std::make_shared<const JobSettings>(settings)});
    link.first->Send(
        wire::Lease{Epoch(1), kJob, Attempt(1), Needs{.milli_cpus = 500}, {{7, 1}}, {"peace"}});
    loop.RunFor(Duration::Millis(1));
  }
  // The newest of this kind.
  template <typename Message>
  const Message* Said() const {
    const Message* newest = nullptr;
    for (const wire::ToHub& message : said) {
      if (const auto* found = std::get_if<Message>(&message)) newest = found;
    }
    return newest;
  }
  // The whole answer. What came of it is taken once nothing more comes without that.
  wire::AnswerPiece Ask(std::string user) {
    said.clear();
    link.first->Send(wire::Ask{.id = 5,
                               .question = wire::ReadStderr::kNumber,
                               .user = std::move(user),
                               .body = wire::BytesOf(wire::ReadStderr{"n1", kJob, 7})});
    wire::AnswerPiece all;
    while (all.kind == wire::AnswerKind::kMore) {
      loop.RunFor(Duration::Millis(1));
      uint64_t came = 0;
      for (const wire::ToHub& message : std::exchange(said, {})) {
        const auto* piece = std::get_if<wire::AnswerPiece>(&message);
        if (piece == nullptr) continue;
        EXPECT_LE(piece->bytes.size(), wire::kAnswerPiece);
        came += piece->bytes.size();
        all = {piece->id, piece->kind, piece->error, all.bytes + piece->bytes};
      }
      EXPECT_LE(came, wire::kAnswerWindow);
      if (came == 0) break;
      link.first->Send(wire::AnswerTaken{5, came});
    }
    return all;
  }
  std::string TextFor(const std::string& user) {
    const wire::AnswerPiece all = Ask(user);
    EXPECT_EQ(all.id, 5u);
    if (all.kind == wire::AnswerKind::kFailed) return all.bytes;
    EXPECT_EQ(all.kind, wire::AnswerKind::kDone);
    return wire::FromBytes<wire::ReadStderr::Answer>("answer", all.bytes).value().text;
  }

  os::TempDir dir;
  os::FakeLoop loop;
  Starts starts;
  transport::InprocPair<wire::ToNode, wire::ToHub> link =
      transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop);
  std::vector<wire::ToHub> said;
  AskRun ask_run;
  std::unique_ptr<Node> node;
};

TEST_F(NodeDialectTest, RowsRunAsTheirDialectSays) {
  Lease(kWish);
  ASSERT_EQ(starts.orders.size(), 1u);
  const TaskBody& body = starts.orders[0].body;
  EXPECT_EQ(body.steps.at(0).commands.at(0).argv,
            (std::vector<std::string>{"peace", "7 1 n1 500"}));
  EXPECT_EQ(body.environment.front(), "WISH=1");
  EXPECT_EQ(body.stderr_file, dir.Path("3-7"));
  EXPECT_TRUE(body.late_stderr);
  EXPECT_EQ(starts.settings->environment, (std::vector<std::string>{"WISHER=ann"}));
  EXPECT_EQ(starts.settings->umask, 027);
  EXPECT_TRUE(starts.inherited);
}

TEST_F(NodeDialectTest, OtherJobsGetNothingOfIt) {
  Lease(RowKind::kListLine);
  ASSERT_EQ(starts.orders.size(), 1u);
  EXPECT_EQ(starts.orders[0].body.stderr_file, "");
  EXPECT_TRUE(starts.settings->environment.empty());
  EXPECT_EQ(starts.settings->umask, -1);
  EXPECT_FALSE(starts.inherited);
}

TEST_F(NodeDialectTest, AKindThatItDoesNotKnowFailsItsTasks) {
  Lease(static_cast<RowKind>(201));
  EXPECT_TRUE(starts.orders.empty());
  const auto* ends = Said<wire::Ends>();
  ASSERT_NE(ends, nullptr);
  EXPECT_EQ(ends->ends.at(0).cause, Cause::kStart);
  EXPECT_EQ(ends->ends.at(0).note,
            "this program does not know rows of kind 201; it may be too old for the job; use a "
            "newer version");
}

// Running attempts are cut off, with the time that they had. Ended or unstarted ones are not.
TEST_F(NodeDialectTest, ANodeThatEndsTellsWhatItCutOff) {
  Lease(kWish);
  link.first->Send(
      wire::Lease{Epoch(1), kJob, Attempt(2), Needs{.milli_cpus = 4000}, {{8, 2}}, {"a", "b"}});
  loop.RunFor(Duration::Seconds(20));
  ASSERT_EQ(starts.orders.size(), 1u);
  wire::Ends ends = node->CutOff("its life is over");
  ASSERT_EQ(ends.ends.size(), 1u);
  EXPECT_EQ(ends.outputs.size(), 1u);
  EXPECT_GT(ends.number, 0u);
  const AttemptEnd& end = ends.ends[0];
  EXPECT_TRUE(IsCutOff(end));
  EXPECT_EQ(end.ref, (AttemptRef{kJob, 7, Attempt(1)}));
  EXPECT_EQ(end.slot, starts.orders[0].slot);
  EXPECT_GE(end.wall, Duration::Seconds(20));
  EXPECT_EQ(end.start + end.wall, loop.Now());
  EXPECT_EQ(end.note, "its node ended: its life is over");

  const AttemptRef ref = end.ref;
  node->OnEnded({.ref = ref, .slot = end.slot, .start = end.start, .wall = end.wall}, nullptr);
  ends = node->CutOff("again");
  ASSERT_EQ(ends.ends.size(), 1u);
  EXPECT_EQ(ends.ends[0].cause, Cause::kSuccess);
  EXPECT_EQ(starts.orders.size(), 1u);
}

// A batch system signals a pilot's tasks and its node one after another. In between the task may
// end in any way: `sleep 25; echo done` with 0, `sleep 25 || exit 1` with 1.
TEST_F(NodeDialectTest, WhatEndsJustBeforeTheNodeDoesWasCutOff) {
  struct Case {
    const char* what;
    Cause cause;
    int32_t status;
    Duration held;
  };
  const Duration killed = Duration::Seconds(2), other = Duration::Millis(200);
  for (const Case& each :
       {Case{"success", Cause::kSuccess, 0, other}, Case{"exit status", Cause::kExit, 1, other},
        Case{"failed check", Cause::kCheck, 0, other}, Case{"signal", Cause::kSignal, 15, killed},
        Case{"signal, by a shell", Cause::kExit, 143, killed},
        Case{"its shepherd was killed", Cause::kNode, 0, killed}}) {
    const std::string what = each.what;
    SCOPED_TRACE(what);
    auto end = [&] {
      StartNode({.killed = killed, .other = other});
      starts.orders.clear();
      said.clear();
      Lease(kWish);
      EXPECT_EQ(starts.orders.size(), 1u);
      node->OnEnded({.ref = starts.orders.at(0).ref,
                     .cause = each.cause,
                     .slot = starts.orders[0].slot,
                     .status = each.status,
                     .wall = Duration::Seconds(3)},
                    nullptr);
    };
    end();
    loop.RunFor(each.held - Duration::Millis(1));
    EXPECT_EQ(Said<wire::Ends>(), nullptr);
    EXPECT_TRUE(node->HoldsEnds());
    wire::Ends ends = node->CutOff("it was asked to");
    ASSERT_EQ(ends.ends.size(), 1u);
    ASSERT_EQ(ends.outputs.size(), 1u);
    EXPECT_TRUE(IsCutOff(ends.ends[0]));
    EXPECT_EQ(ends.ends[0].wall, Duration::Seconds(3));
    EXPECT_EQ(ends.ends[0].note, "its node ended: it was asked to");

    end();  // and in the same turn of the loop
    ends = node->CutOff("it was asked to");
    ASSERT_EQ(ends.ends.size(), 1u);
    EXPECT_TRUE(IsCutOff(ends.ends[0]));

    end();
    loop.RunFor(each.held + Duration::Millis(11));
    ASSERT_NE(Said<wire::Ends>(), nullptr) << "else it was its own doing";
    EXPECT_EQ(Said<wire::Ends>()->ends.at(0).cause, each.cause);
    EXPECT_FALSE(node->HoldsEnds());
    EXPECT_TRUE(node->CutOff("it was asked to").ends.empty());
  }
}

TEST_F(NodeDialectTest, WhatThePilotEndedItselfIsCertain) {
  for (Cause cause : {Cause::kTimeLimit, Cause::kMemory, Cause::kStart, Cause::kStopped}) {
    StartNode({.killed = Duration::Seconds(2), .other = Duration::Millis(200)});
    starts.orders.clear();
    said.clear();
    Lease(kWish);
    node->OnEnded({.ref = starts.orders.at(0).ref, .cause = cause, .slot = starts.orders[0].slot},
                  nullptr);
    loop.RunFor(Duration::Millis(1));
    ASSERT_NE(Said<wire::Ends>(), nullptr) << WordOf(cause);
  }
}

// A run that is told to end goes on for a moment, and tasks may end in it that were cut off.
TEST_F(NodeDialectTest, WhatARunThatEndsHeldWasCutOff) {
  StartNode({.killed = Duration::Seconds(2), .other = Duration::Millis(200)});
  Lease(kWish);
  link.first->Send(
      wire::Lease{Epoch(1), kJob, Attempt(1), Needs{.milli_cpus = 500}, {{8, 1}}, {"a"}});
  loop.RunFor(Duration::Millis(1));
  ASSERT_EQ(starts.orders.size(), 2u);
  auto end = [&](size_t n) {
    node->OnEnded({.ref = starts.orders[n].ref, .slot = starts.orders[n].slot}, nullptr);
    loop.RunFor(Duration::Millis(1));
  };
  end(0);
  EXPECT_EQ(Said<wire::Ends>(), nullptr);
  node->CutOffHeld("the run was told to end");
  loop.RunFor(Duration::Millis(1));
  ASSERT_NE(Said<wire::Ends>(), nullptr);
  EXPECT_TRUE(IsCutOff(Said<wire::Ends>()->ends.at(0)));
  said.clear();
  end(1);
  ASSERT_NE(Said<wire::Ends>(), nullptr);
  EXPECT_TRUE(IsCutOff(Said<wire::Ends>()->ends.at(0)));
  EXPECT_EQ(Said<wire::Ends>()->ends.at(0).note, "its node ended: the run was told to end");

  // An end that only the hub hears of.
  StartNode({.other = Duration::Millis(200), .stop_is_signal = true});
  starts.orders.clear();
  Lease(kWish);
  end(0);
  said.clear();
  link.first->Send(wire::Stop{Epoch(1), kJob, {}});
  loop.RunFor(Duration::Millis(1));
  ASSERT_NE(Said<wire::Ends>(), nullptr);
  EXPECT_TRUE(IsCutOff(Said<wire::Ends>()->ends.at(0)));
}

// The next task starts at once, the hub hears that the slot is free, and a hub that connects again
// hears what is held.
TEST_F(NodeDialectTest, AHeldEndKeepsNoSlot) {
  StartNode({.killed = Duration::Seconds(2), .other = Duration::Millis(200)});
  Lease(kWish);
  link.first->Send(
      wire::Lease{Epoch(1), kJob, Attempt(1), Needs{.milli_cpus = 4000}, {{8, 1}}, {"a"}});
  loop.RunFor(Duration::Millis(1));
  ASSERT_EQ(starts.orders.size(), 1u);
  node->OnEnded(
      {.ref = starts.orders[0].ref, .slot = starts.orders[0].slot, .wall = Duration::Seconds(1)},
      nullptr);
  loop.RunFor(Duration::Millis(1));
  ASSERT_EQ(starts.orders.size(), 2u);
  EXPECT_EQ(Said<wire::Ends>(), nullptr);
  ASSERT_NE(Said<wire::RoomTaken>(), nullptr);
  EXPECT_EQ(Said<wire::RoomTaken>()->ref, starts.orders[0].ref);

  node->Disconnect();
  node->Connect(*link.second);
  loop.RunFor(Duration::Millis(1));
  ASSERT_NE(Said<wire::Hello>(), nullptr);
  std::vector<TaskRange> held;
  for (const HeldTasks& each : Said<wire::Hello>()->holds) {
    held.insert(held.end(), each.tasks.begin(), each.tasks.end());
  }
  EXPECT_EQ(Normalized(held), (std::vector<TaskRange>{{7, 2}}));
  loop.RunFor(Duration::Millis(210));
  ASSERT_NE(Said<wire::Ends>(), nullptr);
  EXPECT_EQ(Said<wire::Ends>()->ends.size(), 1u);

  // After short tasks the slot has the next task already.
  said.clear();
  node->OnEnded(
      {.ref = starts.orders[1].ref, .slot = starts.orders[1].slot, .wall = Duration::Millis(10)},
      nullptr);
  loop.RunFor(Duration::Millis(210));
  EXPECT_NE(Said<wire::Ends>(), nullptr);
  EXPECT_EQ(Said<wire::RoomTaken>(), nullptr);
}

TEST_F(NodeDialectTest, TellsWhatATaskWroteToStderr) {
  Lease(kWish);
  dir.Write("3-7", "oh");
  EXPECT_EQ(TextFor("ann"), "oh");
  EXPECT_EQ(TextFor("bob"), "no such user");
  // An answer holds a megabyte, and says where the rest is.
  dir.Write("3-7", std::string(1 << 20, 'o'));
  EXPECT_EQ(TextFor("ann"), std::string(1 << 20, 'o'));
  dir.Write("3-7", std::string((1 << 20) + 1, 'o'));
  const std::string text = TextFor("ann");
  EXPECT_EQ(text.size(), size_t{1} << 20);
  EXPECT_TRUE(text.ends_with(
      fmt::format("oo\n... (the rest is on the node n1, in {})\n", dir.Path("3-7"))));
  // Nothing more is sent of an answer that is not wanted any more.
  link.first->Send(wire::Ask{.id = 6,
                             .question = wire::ReadStderr::kNumber,
                             .user = "ann",
                             .body = wire::BytesOf(wire::ReadStderr{"n1", kJob, 7})});
  link.first->Send(wire::AnswerTaken{6, 0});
  loop.RunFor(Duration::Millis(1));
  said.clear();
  link.first->Send(wire::AnswerTaken{6, 1});
  loop.RunFor(Duration::Millis(1));
  EXPECT_TRUE(said.empty());
}

TEST_F(NodeDialectTest, SaysWhatItDoesNotKnow) {
  auto kind = [&](const wire::Ask& ask) {
    said.clear();
    link.first->Send(ask);
    loop.RunFor(Duration::Millis(1));
    const auto* piece = Said<wire::AnswerPiece>();
    if (piece == nullptr) return std::string("nothing");
    return fmt::format("{} {} {}", piece->id, WordOf(piece->kind), piece->bytes);
  };
  EXPECT_EQ(kind({.id = 1, .question = 9999}), "1 unknown ");
  EXPECT_EQ(kind({}), "0 unknown ") << "a sign of life";
  EXPECT_EQ(kind({.id = 2, .ref = {kJob, 7, Attempt(1)}, .question = 9999}),
            "2 failed tasks on node n1 run inside its program, such as a master-worker slave, and "
            "what they write is in that program's own output");
  EXPECT_EQ(kind({.id = 3, .question = wire::ReadStderr::kNumber, .body = "x"}),
            "3 failed the question: the message is cut off");
}

// The shepherd of an attempt tells these.
struct AskedRunTest : NodeDialectTest {
  AskedRunTest() {
    ask_run = [this](wire::Ask, auto told) { tell.push_back(std::move(told)); };
    StartNode({});
  }
  void Ask(uint64_t id) {
    link.first->Send(wire::Ask{.id = id, .ref = {kJob, 7, Attempt(1)}, .question = 9999});
    loop.RunFor(Duration::Millis(1));
  }
  void Tell(size_t nth, wire::AnswerKind kind, std::string bytes) {
    tell.at(nth)({.kind = kind, .bytes = std::move(bytes)});
    loop.RunFor(Duration::Millis(1));
  }
  std::vector<std::function<void(wire::AnswerPiece)>> tell;
};

TEST_F(AskedRunTest, AHubIsToldNothingThatTheOneBeforeAsked) {
  Ask(1);
  node->Disconnect();
  node->Connect(*link.second);
  Ask(1);
  Tell(0, wire::AnswerKind::kDone, "of another user");
  EXPECT_EQ(Said<wire::AnswerPiece>(), nullptr);
  Tell(1, wire::AnswerKind::kDone, "his own");
  ASSERT_NE(Said<wire::AnswerPiece>(), nullptr);
  EXPECT_EQ(Said<wire::AnswerPiece>()->bytes, "his own");
}

TEST_F(AskedRunTest, AnAnswerWithoutEndFails) {
  Ask(1);
  for (size_t sent = 0; sent <= 2 * wire::kMostAnswer; sent += wire::kAnswerPiece) {
    Tell(0, wire::AnswerKind::kMore, std::string(wire::kAnswerPiece, 'x'));
  }
  EXPECT_EQ(Said<wire::AnswerPiece>()->kind, wire::AnswerKind::kMore);
  link.first->Send(wire::AnswerTaken{1, wire::kAnswerWindow});
  loop.RunFor(Duration::Millis(1));
  EXPECT_EQ(Said<wire::AnswerPiece>()->kind, wire::AnswerKind::kFailed);
  EXPECT_EQ(Said<wire::AnswerPiece>()->bytes, "the answer is too long");
}

}  // namespace
}  // namespace spate::node
