// Parts of gangs through real shepherds: ranks with their environments, their output in order, and
// what becomes of all when one of them fails. The body is made as Node makes it.
#include <signal.h>
#include <sys/resource.h>

#include "node/part_body.h"
#include "node/testing_executor.h"
#include "remote/entry.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

GangPart PartOf(std::vector<GangHost> hosts, uint32_t index = 0,
                GangShape::Start start = GangShape::Start::kEach) {
  return {index, std::move(hosts), start, "secret"};
}

struct GangPartTest : ProcessExecutorTest {
  AttemptRef StartPart(TaskBody body, const GangPart& part, std::vector<NamedOffer> given = {}) {
    auto made = MakePart(body, part, given, "ROCR_VISIBLE_DEVICES");
    EXPECT_TRUE(made.has_value()) << made.error().message;
    StartOrder order;
    order.body = std::move(body);
    order.part = std::make_shared<const GangPart>(part);
    order.given = std::move(given);
    // A waiting part has a slot of its own, as on a node.
    if (part.start == GangShape::Start::kFirst && part.index > 0) order.slot = 2;
    return StartOf(std::move(order));
  }
  Ended& RunPart(TaskBody body, const GangPart& part, std::vector<NamedOffer> given = {}) {
    return Await(StartPart(std::move(body), part, std::move(given)));
  }
  Ended& RunRanks(const std::string& text, uint32_t procs) {
    return RunPart(Shell(text), PartOf({{"n", procs, ""}}));
  }
  // "3=7:12/0": rank 3 ended with 7, and has 12 bytes of stdout and none of stderr.
  static std::string Ranks(const AttemptEnd& end) {
    std::string text;
    for (const ProcessEnd& one : end.processes) {
      text += fmt::format("{}{}={}:{}/{}", text.empty() ? "" : " ", one.rank, one.status,
                          one.stdout_bytes, one.stderr_bytes);
    }
    return text;
  }
  void AwaitFile(const std::string& name) {
    RunUntil([&] { return os::Exists(dir_.Path(name)); });
  }
};

TEST_F(GangPartTest, EachRankHasItsEnvironmentAndItsShare) {
  TaskBody body = Shell(
      "echo $SPATE_RANK/$SPATE_RANKS $SPATE_LOCAL_RANK/$SPATE_LOCAL_RANKS $SPATE_PART/$SPATE_PARTS "
      "$SPATE_NODE_LIST $SPATE_GPUS $ROCR_VISIBLE_DEVICES $CUDA_VISIBLE_DEVICES "
      "$SPATE_RESOURCE_DISK_A; "
      "test $SPATE_LOCAL_RANK = 1 || exit 0; cat $SPATE_HOSTS $SPATE_MACHINES >&2; "
      "ls -l $SPATE_HOSTS | cut -c 1-10 >&2");
  GangPart part = PartOf({{"one", 3, ""}, {"two", 2, ""}, {"three", 1, ""}}, 1);
  const Ended& ended =
      RunPart(body, part, {{"disk-a", {"x", "y"}}, {"gpus", {"4", "5", "6", "7"}}});
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_EQ(ended.output->out.bytes,
            "3/6 0/2 1/3 one,two,three 4,5 4,5 x\n4/6 1/2 1/3 one,two,three 6,7 6,7 y\n");
  EXPECT_EQ(ended.output->err.bytes,
            "one slots=3\ntwo slots=2\nthree slots=1\none:3\ntwo:2\nthree:1\n-rw-r--r--\n");
  EXPECT_EQ(Ranks(ended.end), fmt::format("3=0:36/0 4=0:36/{}", ended.output->err.total));
  auto left = os::ListDir(dir_.path());
  ASSERT_TRUE(left.has_value());
  for (const os::DirEntry& entry : *left) EXPECT_FALSE(entry.name.ends_with(".hosts"));
}

// Whatever the order in which they write and end, and whoever they write through.
TEST_F(GangPartTest, OutputIsInOrderOfRank) {
  const Ended& ended = RunRanks(
      "test $SPATE_RANK = 3 || until test -e done$((SPATE_RANK + 1)); do sleep 0.01; done; "
      "echo out $SPATE_RANK; (echo err $SPATE_RANK > /dev/stderr) & wait; touch done$SPATE_RANK",
      4);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_EQ(ended.output->out.bytes, "out 0\nout 1\nout 2\nout 3\n");
  EXPECT_EQ(ended.output->err.bytes, "err 0\nerr 1\nerr 2\nerr 3\n");
  EXPECT_EQ(Ranks(ended.end), "0=0:6/6 1=0:6/6 2=0:6/6 3=0:6/6");
  EXPECT_EQ(ended.end.stdout_total, 24u);
}

TEST_F(GangPartTest, LargeOutputIsWhole) {
  const Ended& ended = RunRanks("test $SPATE_RANK = 1 || seq 1 100000; echo end", 3);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_EQ(Ranks(ended.end), "0=0:588899/0 1=0:4/0 2=0:588899/0");
  EXPECT_EQ(ended.output->out.total, 2u * 588899 + 4);
  auto text = os::ReadFile(ended.output->out.spool, 1 << 24);
  ASSERT_TRUE(text.has_value());
  ASSERT_EQ(text->size(), ended.output->out.total);
  EXPECT_EQ(text->substr(588888, 20), "100000\nend\nend\n1\n2\n3");
}

// Output that cannot be collected is reported; the lengths are those of the collected part.
TEST_F(GangPartTest, AFullDiskIsSaid) {
  dir_.Write("1-0-1.out/in-the-way", "");
  const Ended& ended = RunRanks("seq 1 10000; echo complaint >&2", 2);
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_TRUE(ended.end.note.starts_with("output beyond the first 64 KB is lost: cannot write "))
      << ended.end.note;
  EXPECT_EQ(Ranks(ended.end), "0=0:48894/10 1=0:16642/10");
  EXPECT_EQ(ended.output->out.total, 65536u);
}

TEST_F(GangPartTest, WithoutAPlaceForItsFilesItIsNotStarted) {
  options_.spool_folder = "/proc/nowhere";
  const Ended& ended = RunRanks("echo out", 2);
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_TRUE(ended.end.note.starts_with("cannot open '/proc/nowhere/1-0-1.hosts'"))
      << ended.end.note;
  EXPECT_EQ(Ranks(ended.end), "");
}

TEST_F(GangPartTest, OneRankIsToldOf) {
  const Ended& good = RunPart(Shell("echo hello"), PartOf({{"n", 1, ""}}));
  EXPECT_EQ(Ranks(good.end), "0=0:6/0");
  EXPECT_EQ(good.output->out.bytes, "hello\n");
  const Ended& bad = RunPart(Shell("exit 7"), PartOf({{"m", 2, ""}, {"n", 1, ""}}, 1));
  EXPECT_EQ(bad.end.cause, Cause::kExit);
  EXPECT_EQ(bad.end.status, 7);
  EXPECT_EQ(bad.end.note, "rank 2 exited with 7");
  EXPECT_EQ(Ranks(bad.end), "2=7:0/0");
}

TEST_F(GangPartTest, TheFirstThatFailsEndsTheOthersAndIsNamed) {
  const Ended& ended = RunRanks(
      "exec 2>/dev/null; trap 'echo ended; exit 9' TERM; touch up$SPATE_RANK; "
      "if test $SPATE_RANK = 1; then until test -e up0 && test -e up2; do sleep 0.01; done; "
      "exit 7; fi; while :; do sleep 0.01; done",
      3);
  EXPECT_EQ(ended.end.cause, Cause::kExit);
  EXPECT_EQ(ended.end.status, 7);
  EXPECT_EQ(ended.end.note, "rank 1 exited with 7");
  EXPECT_EQ(Ranks(ended.end), "0=9:6/0 1=7:0/0 2=9:6/0");
}

TEST_F(GangPartTest, WhoDoesNotHearTermIsKilledAfterTheGrace) {
  settings_.kill_grace = Duration::Millis(100);
  const Ended& ended = RunRanks(
      "trap '' TERM; touch up$SPATE_RANK; "
      "if test $SPATE_RANK = 1; then until test -e up0; do sleep 0.01; done; kill -9 $$; fi; "
      "sleep 9999." +
          mark_ + " & while :; do sleep 0.01; done",
      2);
  EXPECT_EQ(ended.end.cause, Cause::kSignal);
  EXPECT_EQ(ended.end.status, SIGKILL);
  EXPECT_EQ(ended.end.note, "rank 1 was killed by SIGKILL");
  EXPECT_EQ(Ranks(ended.end), "0=137:0/0 1=137:0/0");
  EXPECT_GE(ended.end.wall, settings_.kill_grace);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(GangPartTest, ACommandThatIsNotThereIsStartedOnce) {
  const Ended& ended = RunPart(Plain({"frobnicate"}), PartOf({{"n", 3, ""}}));
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_EQ(ended.end.status, 127);
  EXPECT_EQ(ended.end.note, "frobnicate: command not found");
  EXPECT_EQ(Ranks(ended.end), "0=127:0/0");
}

// Killed in the middle: the others end, what ran before is told.
TEST_F(GangPartTest, APartIsStoppedAsAWhole) {
  AttemptRef ref =
      StartPart(Shell("echo up $SPATE_RANK; touch up$SPATE_RANK; exec sleep 9999." + mark_),
                PartOf({{"n", 2, ""}}));
  AwaitFile("up0");
  AwaitFile("up1");
  executor_->End(ref, EndHow::kTerm, Cause::kStopped);
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kStopped);
  EXPECT_EQ(ended.end.note, "");
  EXPECT_EQ(ended.output->out.bytes, "up 0\nup 1\n");
  EXPECT_EQ(Ranks(ended.end), "0=143:5/0 1=143:5/0");
}

TEST_F(GangPartTest, AKilledShepherdLeavesNothing) {
  AttemptRef ref =
      StartPart(Shell("touch up$SPATE_RANK; exec sleep 9999." + mark_), PartOf({{"n", 2, ""}}));
  AwaitFile("up0");
  AwaitFile("up1");
  kill(executor_->ShepherdPids().at(0), SIGKILL);
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kNode);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  auto left = os::ListDir(dir_.path());
  ASSERT_TRUE(left.has_value());
  for (const os::DirEntry& entry : *left) {
    EXPECT_TRUE(entry.name.starts_with("up")) << entry.name;
  }
}

TEST_F(GangPartTest, CommandsAreStartedOnceForANodeOrForTheGang) {
  std::vector<GangHost> hosts = {{"one", 2, ""}, {"two", 3, ""}};
  TaskBody body = Shell("echo $SPATE_RANK $SPATE_LOCAL_RANKS $SPATE_GPUS");
  std::vector<NamedOffer> given = {{"gpus", {"0", "1", "2"}}};
  const Ended& node = RunPart(body, PartOf(hosts, 1, GangShape::Start::kNode), given);
  EXPECT_EQ(node.output->out.bytes, "2 3 0,1,2\n");
  EXPECT_EQ(Ranks(node.end), "2=0:10/0");
  const Ended& first = RunPart(body, PartOf(hosts, 0, GangShape::Start::kFirst));
  EXPECT_EQ(first.output->out.bytes, "0 2\n");
  AttemptRef waits = StartPart(body, PartOf(hosts, 1, GangShape::Start::kFirst));
  RunUntil([&] { return !Marked("2147483647").empty(); });
  executor_->End(waits, EndHow::kTerm, Cause::kStopped);
  EXPECT_EQ(Await(waits).end.cause, Cause::kStopped);
  EXPECT_EQ(Await(waits).output->out.bytes, "");
}

TEST_F(GangPartTest, PartsOfOneMachineHaveFoldersForTemporaryFiles) {
  auto part = [](const char* second) {
    GangPart made =
        PartOf({{"one", 2, "10.0.0.1:7"}, {"two", 1, second}}, 0, GangShape::Start::kFirst);
    made.secret = std::string(32, 's');
    return made;
  };
  TaskBody body = Shell("echo $TMPDIR; touch $TMPDIR/file; stat -c %a $TMPDIR");
  const std::string own = RunPart(body, part("10.0.0.1:8")).output->out.bytes;
  EXPECT_TRUE(own.ends_with(".tmp\n700\n")) << own;
  RunUntil([&] { return !os::Exists(own.substr(0, own.find('\n'))); });
  EXPECT_EQ(RunPart(Shell("echo $TMPDIR"), part("10.0.0.2:8")).output->out.bytes.find(".tmp"),
            std::string::npos);
}

TEST_F(GangPartTest, PartsOfOneMachineKeepTheJobsTransports) {
  GangPart part =
      PartOf({{"one", 2, "10.0.0.1:7"}, {"two", 1, "10.0.0.1:8"}}, 0, GangShape::Start::kFirst);
  part.secret = std::string(32, 's');
  TaskBody body = Shell("echo $OMPI_MCA_btl");
  EXPECT_EQ(RunPart(body, part).output->out.bytes, "^vader,sm\n");
  body.environment = {"OMPI_MCA_btl=self"};
  EXPECT_EQ(RunPart(body, part).output->out.bytes, "self\n");
  body.environment.clear();
  settings_.environment = {"OMPI_MCA_btl=self,tcp"};
  executor_->OpenJob(JobId(1), std::make_shared<const JobSettings>(settings_), false);
  EXPECT_EQ(RunPart(body, part).output->out.bytes, "self,tcp\n");
}

TEST_F(GangPartTest, MembersStartCommandsInEachOthersParts) {
  std::vector<GangHost> hosts = {{"one", 2, ""}, {"two", 1, ""}};
  auto part = [&](uint32_t index) {
    GangPart made = PartOf(hosts, index, GangShape::Start::kFirst);
    made.secret = std::string(16, static_cast<char>(getpid())) + std::string(16, 's');
    return made;
  };
  AttemptRef waits = StartPart(Shell("false"), part(1));
  // There and back; and from the second part nobody's own rank is seen.
  const Ended& first = RunPart(
      Shell(
          "$SPATE_RSH two 'echo $SPATE_PART of $SPATE_PARTS, rank $SPATE_RANK; "
          "$SPATE_RSH one \"echo \\$SPATE_PART\"; exit 7'; echo $?; "
          "$SPATE_RSH three true; echo $?; stat -c %a $SPATE_REMOTE; cat $HYDRA_HOST_FILE; exit 9"),
      part(0));
  EXPECT_EQ(first.output->out.bytes, "1 of 2, rank\n0\n7\n255\n600\none:2\ntwo:1\n");
  EXPECT_EQ(first.end.status, 9) << first.end.note;
  EXPECT_TRUE(first.output->err.bytes.starts_with(
      "spate remote: three is not a node of this gang; its nodes are one, two"))
      << first.output->err.bytes;
  executor_->End(waits, EndHow::kTerm, Cause::kStopped);
  EXPECT_EQ(Await(waits).end.cause, Cause::kStopped);
}

TEST_F(GangPartTest, WhatAMemberStartedEndsWithThePart) {
  GangPart one = PartOf({{"one", 2, ""}}, 0, GangShape::Start::kFirst);
  one.secret = std::string(16, static_cast<char>(getpid())) + std::string(16, 't');
  const Ended& ended = RunPart(
      Shell("$SPATE_RSH -n one 'sleep 9999." + mark_ + " >/dev/null 2>&1 & echo $!'; kill -9 $$"),
      one);
  EXPECT_EQ(ended.end.cause, Cause::kSignal) << ended.end.note;
  EXPECT_EQ(ended.end.status, SIGKILL);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(GangPartTest, InputIsTheFirstRanksAndFilesAreShared) {
  dir_.Write("in", "input\n");
  dir_.Write("out", "of another part\n");
  TaskBody body = Shell("cat; echo $SPATE_RANK; echo complaint >&2");
  body.stdin_file = dir_.Path("in");
  body.stdout_file = dir_.Path("out");
  const Ended& first = RunPart(body, PartOf({{"one", 2, ""}, {"two", 1, ""}}));
  EXPECT_EQ(first.end.cause, Cause::kSuccess) << first.end.note;
  auto text = os::ReadFile(dir_.Path("out"), 1 << 16);
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(text->starts_with("of another part\n")) << *text;
  EXPECT_NE(text->find("input\n"), text->npos);
  EXPECT_EQ(text->size(), 26u);
  EXPECT_EQ(first.output->err.bytes, "complaint\ncomplaint\n");
  EXPECT_EQ(Ranks(first.end), "0=0:0/10 1=0:0/10");
  RunPart(body, PartOf({{"one", 2, ""}, {"two", 1, ""}}, 1));
  text = os::ReadFile(dir_.Path("out"), 1 << 16);
  EXPECT_TRUE(text->ends_with("2\n")) << *text;
  EXPECT_EQ(text->size(), 28u);
  // A gang of one part has the file for itself.
  RunPart(body, PartOf({{"one", 1, ""}}));
  EXPECT_TRUE(FileHas("out", "input\n0\n"));
}

// Two files for each rank, and the ranks have the limit that they would have had.
TEST_F(GangPartTest, ManyRanksHaveFilesEnough) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = {80, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Make();
  const Ended& ended = RunRanks("ulimit -n", 40);
  const Ended& after = Run("ulimit -n");
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  std::string all;
  for (int i = 0; i < 40; ++i) all += "80\n";
  EXPECT_EQ(ended.output->out.bytes, all);
  EXPECT_EQ(after.output->out.bytes, "80\n");
}

TEST_F(GangPartTest, NothingIsPassedOnLiveButOfASingleRank) {
  settings_.live_output = true;
  AttemptRef two = StartPart(Shell("echo $SPATE_RANK"), PartOf({{"n", 2, ""}}));
  EXPECT_EQ(Await(two).output->out.bytes, "0\n1\n");
  EXPECT_EQ(live_[two.index][0], "");
  AttemptRef one = StartPart(Shell("echo $SPATE_RANK"), PartOf({{"n", 1, ""}}));
  Await(one);
  EXPECT_EQ(live_[one.index][0], "0\n");
}

TEST(PartBody, ProcessesThatMeetHaveAProcessOfOursInFront) {
  auto words = [](GangPart::Meets meets, uint32_t index) {
    GangPart part = PartOf({{"one", 2, ""}, {"two", 1, ""}}, index);
    part.secret = std::string(32, 's');
    part.meets = meets;
    TaskBody body = Plain({"prog", "x"});
    EXPECT_TRUE(MakePart(body, part, {}, "").has_value());
    std::string text;
    for (const Command& each : body.steps.front().commands) {
      text += fmt::format("{}; ", fmt::join(each.argv, " "));
    }
    return text;
  };
  using enum GangPart::Meets;
  EXPECT_EQ(words(kNot, 0), "prog x; prog x; ");
  EXPECT_EQ(words(kPmi, 0),
            "/proc/self/exe __remote -- /proc/self/exe __meet -- prog x; "
            "/proc/self/exe __meet -- prog x; ");
  EXPECT_EQ(words(kPmix, 0),
            "/proc/self/exe __remote -- /proc/self/exe __meet-pmix -- prog x; "
            "/proc/self/exe __meet-pmix -- prog x; ");
  EXPECT_EQ(words(kPmix, 1), "/proc/self/exe __meet-pmix -- prog x; ");
}

TEST(PartBody, IsOneCommand) {
  GangPart part = PartOf({{"n", 2, ""}});
  auto why = [&](TaskBody body) {
    auto made = MakePart(body, part, {}, "");
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(why(Plain({"true"})), "");
  TaskBody piped;
  piped.steps = {{{{{"true"}}, {{"cat"}}}}};
  EXPECT_TRUE(why(piped).starts_with("a gang's task must be a single command")) << why(piped);
  EXPECT_NE(why(Given("x")), "");
  TaskBody forwards = Plain({"true"});
  ForwardFile(forwards, "f", "to");
  EXPECT_NE(why(forwards), "");
  part.hosts[0].procs = 0;
  EXPECT_EQ(why(Plain({"true"})), "a node runs 1 to 65535 processes of a gang, not 0");
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (auto status = spate::remote::RemoteEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
