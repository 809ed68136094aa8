// Looks at running attempts through real shepherds: what they have written and used so far.
#include "node/part_body.h"
#include "node/testing_executor.h"

namespace spate::node {
namespace {

using Standing = RunLook::Standing;

struct LookTest : ProcessExecutorTest {
  RunLook Look(const AttemptRef& ref, const RunWish& wish = {.most = kLookPiece},
               uint32_t rank = 0) {
    std::optional<RunLook> told;
    LookAt(*executor_, ref, rank, wish, [&](RunLook look) {
      told = std::move(look);
      Look();
    });
    RunUntil([&] { return told.has_value(); });
    return told.value_or(RunLook());
  }
  using ProcessExecutorTest::Look;
  void AwaitFile(const std::string& name) {
    RunUntil([&] { return os::Exists(dir_.Path(name)); });
  }
  // It writes this, and runs until `end` is there.
  AttemptRef StartThat(const std::string& writes, uint16_t slot = 1) {
    AttemptRef ref = Start(
        Shell(writes + "; touch wrote; until test -e end; do sleep 0.01; done; echo last"), slot);
    AwaitFile("wrote");
    return ref;
  }
};

TEST_F(LookTest, WhatWasWrittenSoFarIsReadInPieces) {
  AttemptRef ref = StartThat("echo out; echo err >&2");
  RunLook all = Look(ref);
  EXPECT_EQ(all.standing, Standing::kRunning);
  EXPECT_EQ(all.out, (StreamSoFar{.from = 0, .bytes = "out\n", .total = 4}));
  EXPECT_EQ(all.err, (StreamSoFar{.from = 0, .bytes = "err\n", .total = 4}));
  EXPECT_FALSE(all.use.has_value());
  RunLook piece = Look(ref, {.out_from = 1, .err_from = 9, .most = 2});
  EXPECT_EQ(piece.out, (StreamSoFar{.from = 1, .bytes = "ut", .total = 4}));
  EXPECT_EQ(piece.err, (StreamSoFar{.from = 4, .bytes = "", .total = 4}));
  EXPECT_EQ(Look(ref, {}).out, (StreamSoFar{.from = 0, .bytes = "", .total = 4}));
  dir_.Write("end", "");
  EXPECT_EQ(Await(ref).output->out.bytes, "out\nlast\n");  // the end still has all of it
  EXPECT_EQ(Look(ref).standing, Standing::kEnded);
}

TEST_F(LookTest, LongOutputIsReadFromItsSpoolFile) {
  AttemptRef ref = StartThat("seq 1 100000");
  EXPECT_EQ(Look(ref, {}).out.total, 588'895u);
  RunLook piece = Look(ref, {.out_from = 588'888, .most = kLookPiece});
  EXPECT_EQ(piece.out.bytes, "100000\n");
  // However much is wanted, an answer is small.
  EXPECT_EQ(Look(ref, {.most = 1 << 30}).out.bytes.size(), size_t{kLookPiece});
  dir_.Write("end", "");
  EXPECT_EQ(Await(ref).output->out.total, 588'895u + 5);
}

TEST_F(LookTest, AnOrderBehindAnotherHasNotStarted) {
  AttemptRef first = StartThat("true");
  AttemptRef second = Start(Shell("echo second"));
  EXPECT_EQ(Look(second).standing, Standing::kNotStarted);
  dir_.Write("end", "");
  Await(first);
  Await(second);
  EXPECT_EQ(Look({JobId(1), 99, Attempt(1)}).standing, Standing::kEnded);
}

TEST_F(LookTest, AShepherdSaysWhatItDoesNotKnow) {
  AttemptRef ref = StartThat("true");
  std::optional<wire::AnswerPiece> told;
  executor_->Query({.ref = ref, .question = 9999}, [&](wire::AnswerPiece piece) {
    told = std::move(piece);
    Look();
  });
  RunUntil([&] { return told.has_value(); });
  EXPECT_EQ(told.value().kind, wire::AnswerKind::kUnknown);
  dir_.Write("end", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(LookTest, AFileIsNamed) {
  TaskBody body = Shell("echo in file; echo err >&2; touch wrote; until test -e end; do :; done");
  body.stdout_file = dir_.Path("out.txt");
  AttemptRef ref = Start(std::move(body));
  AwaitFile("wrote");
  RunLook look = Look(ref);
  EXPECT_EQ(look.out, StreamSoFar{.file = dir_.Path("out.txt")});
  EXPECT_EQ(look.err.bytes, "err\n");
  dir_.Write("end", "");
  Await(ref);
}

TEST_F(LookTest, RanksAreReadOneByOne) {
  TaskBody body =
      Shell("echo rank $SPATE_RANK; touch rank$SPATE_RANK; until test -e end; do sleep 0.01; done");
  GangPart part{1, {{"m", 3, ""}, {"n", 2, ""}}, GangShape::Start::kEach, "secret"};
  ASSERT_TRUE(MakePart(body, part, {}, ""));
  StartOrder order;
  order.body = std::move(body);
  order.part = std::make_shared<const GangPart>(part);
  AttemptRef ref = StartOf(std::move(order));
  for (const char* file : {"rank3", "rank4"}) AwaitFile(file);
  EXPECT_EQ(Look(ref, {.most = 100}, 3).out.bytes, "rank 3\n");
  EXPECT_EQ(Look(ref, {.out_from = 5, .most = 100}, 4).out.bytes, "4\n");
  RunLook none = Look(ref, {.most = 100}, 5);
  EXPECT_EQ(none.standing, Standing::kUnknown);
  EXPECT_EQ(none.why, "rank 5 was not started by Spate, but by another rank of the gang");
  dir_.Write("end", "");
  EXPECT_EQ(Await(ref).output->out.bytes, "rank 3\nrank 4\n");
}

TEST_F(LookTest, UseSoFarGrowsToThatOfTheEnd) {
  AttemptRef ref = StartThat("i=0; while test $i -lt 100000; do i=$((i+1)); done");
  RunLook look = Look(ref, {.use = true});
  ASSERT_TRUE(look.use.has_value());
  EXPECT_GT(look.use->user.ns + look.use->system.ns, 0);
  EXPECT_GT(look.use->memory, 0u);
  EXPECT_GE(look.use->peak, look.use->memory);
  EXPECT_NE(look.use->source, MemorySource::kNone);
  dir_.Write("end", "");
  const AttemptEnd& end = Await(ref).end;
  // /proc counts in hundredths of a second.
  EXPECT_GE(end.user.ns + end.system.ns + Duration::Millis(30).ns,
            look.use->user.ns + look.use->system.ns);
}

TEST_F(LookTest, LooksAtOneTaskAreBounded) {
  AttemptRef ref = StartThat("echo out");
  std::vector<RunLook> told;
  for (int i = 0; i < 6; ++i) {
    LookAt(*executor_, ref, 0, {.most = 10}, [&](RunLook look) {
      told.push_back(std::move(look));
      Look();
    });
  }
  RunUntil([&] { return told.size() == 6; });
  auto is_refused = [](const RunLook& look) {
    return look.why == "too many look at the task now; try again";
  };
  EXPECT_EQ(std::ranges::count_if(told, is_refused), 2);
  EXPECT_EQ(told.back().out.bytes, "out\n");
  EXPECT_EQ(Look(ref).out.bytes, "out\n");  // they are over
  dir_.Write("end", "");
  Await(ref);
}

TEST_F(LookTest, AKilledShepherdLeavesNoLookOpen) {
  AttemptRef ref = StartThat("echo out");
  kill(executor_->ShepherdPids().front(), SIGSTOP);
  std::optional<RunLook> told;
  LookAt(*executor_, ref, 0, {.most = 10}, [&](RunLook look) { told = std::move(look); });
  kill(executor_->ShepherdPids().front(), SIGKILL);
  EXPECT_EQ(Await(ref).end.cause, Cause::kNode);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->standing, Standing::kEnded);
}

}  // namespace
}  // namespace spate::node
