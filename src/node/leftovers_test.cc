// Results of attempts whose commands end well and leave processes running.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "node/testing_executor.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

class LeftoversTest : public ProcessExecutorTest {
 protected:
  LeftoversTest() {
    settings_.leftovers = Leftovers::kWait;
    settings_.leftovers_wait = Duration::Seconds(60);
    // A leftover that reads it stays until the test writes.
    EXPECT_EQ(mkfifo(dir_.Path("go").c_str(), 0600), 0);
  }
  void OnLeftRunning(const AttemptRef& ref, const std::string& processes) override {
    EXPECT_FALSE(ended_.contains(ref.index));
    left_running_[ref.index] = processes;
    Look();
  }
  // Until what the commands have left is all that is waited for.
  std::string AwaitNews(const AttemptRef& ref) {
    RunUntil([&] { return left_running_.contains(ref.index) || ended_.contains(ref.index); });
    EXPECT_FALSE(ended_.contains(ref.index)) << ended_[ref.index].end.note;
    return left_running_[ref.index];
  }
  void Go() {
    os::Fd fifo(open(dir_.Path("go").c_str(), O_WRONLY));  // once somebody reads
    EXPECT_EQ(write(fifo.get(), "x\n", 2), 2);
  }
  // "sleep (pid 12)" of what begins a note's line after `before`.
  static std::string WithoutPids(std::string note) {
    for (size_t at = 0; (at = note.find("(pid ", at)) != note.npos; at += 5) {
      size_t end = note.find(')', at);
      note.replace(at + 5, end - at - 5, "N");
    }
    return note;
  }

  std::map<uint32_t, std::string> left_running_;
};

constexpr const char* kWaits = "end the command with `wait`, or use --leftovers";

TEST_F(LeftoversTest, AreWaitedFor) {
  AttemptRef ref = Start(Shell("sh -c 'read x < go; echo late; echo $x > got' & exit 0"));
  EXPECT_EQ(WithoutPids(AwaitNews(ref)), "sh (pid N)");
  Go();
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(ended.end.note, "");
  EXPECT_EQ(ended.end.left_behind, 0u);
  EXPECT_EQ(ended.output->out.bytes, "late\n");
  EXPECT_GE(ended.end.wall, Duration::Seconds(1));  // it counts until the last has ended
  EXPECT_TRUE(FileHas("got", "x\n"));
}

TEST_F(LeftoversTest, OfAllStepsAreWaitedFor) {
  TaskBody body = Shell("sh -c 'read x < go; echo first' & exit 0");
  body.steps.push_back(Shell("echo second").steps[0]);
  AttemptRef ref = Start(body);
  AwaitNews(ref);
  Go();
  EXPECT_EQ(Await(ref).output->out.bytes, "second\nfirst\n");
  EXPECT_EQ(ended_[ref.index].end.cause, Cause::kSuccess);
}

TEST_F(LeftoversTest, TheirStatusesCount) {
  struct {
    const char* end;
    Cause cause;
    int status;
    std::string note;
  } cases[] = {
      {"exit 3", Cause::kExit, 3, "left running: sh (pid N) exited with 3"},
      {"kill -SEGV $$", Cause::kSignal, SIGSEGV, "left running: sh (pid N) was killed by SIGSEGV"},
      {"kill -KILL $$", Cause::kSignal, SIGKILL, "left running: sh (pid N) was killed by SIGKILL"},
      // `server & client; kill $!`, and `head -1 <(zcat FILE)`
      {"kill -TERM $$", Cause::kSuccess, 0, ""},
      {"kill -PIPE $$", Cause::kSuccess, 0, ""},
      {"exit 143", Cause::kSuccess, 0, ""},
      {"exit 0", Cause::kSuccess, 0, ""},
  };
  for (const auto& c : cases) {
    AttemptRef ref = Start(Shell(fmt::format("sh -c 'read x < go; {}' & exit 0", c.end)));
    AwaitNews(ref);
    Go();
    const Ended& ended = Await(ref);
    EXPECT_EQ(ended.end.cause, c.cause) << c.end;
    EXPECT_EQ(ended.end.status, c.status) << c.end;
    EXPECT_EQ(WithoutPids(ended.end.note), c.note) << c.end;
  }
  // One that has ended before, without that its parent asked how, and one whose parent did ask.
  const Ended& zombie = Run("sh -c 'exit 3' & exec sleep 0.1");
  EXPECT_EQ(zombie.end.cause, Cause::kExit) << zombie.end.note;
  EXPECT_EQ(zombie.end.status, 3);
  EXPECT_EQ(Run("sh -c 'exit 3' & wait $!; exit 0").end.cause, Cause::kSuccess);
  EXPECT_EQ(Run("sh -c 'exit 3' & wait $!; exit 2").end.status, 2);
}

TEST_F(LeftoversTest, AreEndedWhenTheWaitIsOver) {
  settings_.leftovers_wait = Duration::Millis(100);
  const Ended& ended = Run(Shell(WithMark("echo out; sleep 9999.MARK & exit 0", mark_)));
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.status, 0);
  EXPECT_EQ(WithoutPids(ended.end.note),
            fmt::format("left processes running: sleep (pid N); {}", kWaits));
  EXPECT_EQ(ended.end.left_behind, 1u);
  EXPECT_EQ(ended.output->out.bytes, "out\n");
  EXPECT_GE(ended.end.wall, Duration::Millis(100));
  // The next attempt begins anew.
  EXPECT_EQ(Run("echo next").end.note, "");
}

TEST_F(LeftoversTest, MayFailAtOnce) {
  settings_.leftovers = Leftovers::kFail;
  settings_.leftovers_wait = {};
  const Ended& ended = Run(Shell(WithMark("sleep 9999.MARK & exit 0", mark_)));
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(WithoutPids(ended.end.note),
            fmt::format("left processes running: sleep (pid N); {}", kWaits));
  EXPECT_EQ(Run("exit 0").end.cause, Cause::kSuccess);
}

TEST_F(LeftoversTest, MayBeEnded) {
  settings_.leftovers = Leftovers::kEnd;
  settings_.leftovers_wait = {};
  const Ended& ended = Run(Shell(WithMark("sleep 9999.MARK & exit 0", mark_)));
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(WithoutPids(ended.end.note), "leftover processes: sleep (pid N), ended");
  EXPECT_EQ(ended.end.left_behind, 1u);
}

TEST_F(LeftoversTest, AreEndedAsBeforeWhenTheCommandFails) {
  const Ended& ended = Run(Shell(WithMark("sleep 9999.MARK & exit 2", mark_)));
  EXPECT_EQ(ended.end.cause, Cause::kExit);
  EXPECT_EQ(ended.end.status, 2);
  EXPECT_EQ(WithoutPids(ended.end.note), "leftover processes: sleep (pid N), ended");
}

TEST_F(LeftoversTest, DaemonsAreEndedAndNamed) {
  const Ended& ended = Run(Shell(WithMark(
      "setsid sleep 9999.MARK & until [ $(ps -o sid= -p $!) = $! ]; do :; done; exit 0", mark_)));
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(WithoutPids(ended.end.note), "leftover processes: sleep (pid N), ended");
  EXPECT_EQ(ended.end.left_behind, 1u);
  // They are not waited for, but what is no daemon is.
  AttemptRef ref = Start(
      Shell(WithMark("setsid sleep 9999.MARK & until [ $(ps -o sid= -p $!) = $! ]; do :; done; "
                     "sh -c 'read x < go; echo late' & exit 0",
                     mark_)));
  EXPECT_EQ(WithoutPids(AwaitNews(ref)), "sh (pid N)");
  Go();
  const Ended& both = Await(ref);
  EXPECT_EQ(both.end.cause, Cause::kSuccess);
  EXPECT_EQ(both.output->out.bytes, "late\n");
  EXPECT_EQ(WithoutPids(both.end.note), "leftover processes: sleep (pid N), ended");
  // A leftover that is a daemon's child: nobody is told when it ends.
  ref =
      Start(Shell(WithMark("sh -c 'sh -c \"read x < go\" & exec setsid sleep 9999.MARK' & "
                           "until [ $(ps -o sid= -p $!) = $! ]; do :; done; exit 0",
                           mark_)));
  EXPECT_EQ(WithoutPids(AwaitNews(ref)), "sh (pid N)");
  Go();
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(LeftoversTest, AnOrderToEndHoldsMeanwhile) {
  AttemptRef soft = Start(Shell(WithMark("sleep 9999.MARK & exit 0", mark_)));
  AwaitNews(soft);
  executor_->End(soft, EndHow::kTerm, Cause::kTimeLimit);
  EXPECT_EQ(Await(soft).end.cause, Cause::kTimeLimit);
  EXPECT_EQ(ended_[soft.index].end.note, "");
  EXPECT_EQ(ended_[soft.index].end.left_behind, 0u);

  // One that does not hear TERM says so in a file and goes on.
  AttemptRef hard =
      Start(Shell(WithMark("sh -c 'trap \"echo > heard\" TERM; while :; do sleep 0.01; done; "
                           ": 9999.MARK' & exit 0",
                           mark_)));
  AwaitNews(hard);
  executor_->End(hard, EndHow::kTerm, Cause::kStopped);
  RunUntil([&] { return os::Exists(dir_.Path("heard")); });
  EXPECT_FALSE(ended_.contains(hard.index));
  executor_->End(hard, EndHow::kKill, Cause::kStopped);
  EXPECT_EQ(Await(hard).end.cause, Cause::kStopped);
}

TEST_F(LeftoversTest, TheMemoryLimitHoldsMeanwhile) {
  StartOrder order;
  order.needs.memory = 50'000'000;
  order.body =
      Shell(WithMark("sh -c 'read x < go; head -c 100000000 /dev/zero | tail -c 100000000 | "
                     "sleep 9999.MARK' & exit 0",
                     mark_));
  AttemptRef ref = StartOf(order);
  AwaitNews(ref);
  Go();
  EXPECT_EQ(Await(ref).end.cause, Cause::kMemory) << ended_[ref.index].end.note;
}

TEST_F(LeftoversTest, TimeInWhichTheyAreFrozenDoesNotCount) {
  settings_.leftovers_wait = Duration::Millis(1500);
  AttemptRef ref = Start(Shell(WithMark("sleep 9999.MARK & exit 0", mark_)));
  AwaitNews(ref);
  executor_->Freeze(ref, true, Instant{1});
  EXPECT_FALSE(Until(Duration::Millis(1000), [&] {
    loop_->At(loop_->Now() + Duration::Millis(5), [this] { loop_->Stop(); });
    loop_->Run();
    return ended_.contains(ref.index);
  }));
  executor_->Freeze(ref, false, Instant{1});
  EXPECT_EQ(Await(ref).end.cause, Cause::kCheck);
}

// Each forks and ends: whoever looks may find nobody at home.
TEST_F(LeftoversTest, AChainIsWaitedForToItsEnd) {
  dir_.Write("chain.sh",
             "[ $1 -gt 0 ] && { sh ./chain.sh $(($1 - 1)) & exit 0; }\necho end > end\n");
  EXPECT_EQ(Run("sh ./chain.sh 300 & exit 0").end.cause, Cause::kSuccess);
  EXPECT_TRUE(FileHas("end", "end\n"));
}

TEST_F(LeftoversTest, AResidentProcessIsNone) {
  EXPECT_EQ(Run(Given("answer 0 fine")).end.cause, Cause::kSuccess);
  EXPECT_EQ(Run(Given("answer 0 fine")).output->out.bytes, "fine");
}

class WarnSignalTest : public ProcessExecutorTest {
 protected:
  WarnSignalTest() {
    settings_.warn_signal = SIGUSR1;
    settings_.time_limit = Duration::Seconds(1000);
    settings_.warn_before = settings_.time_limit - kReady;
  }
  static constexpr Duration kReady = Duration::Seconds(1);  // in which a shell sets its trap
};

TEST_F(WarnSignalTest, ComesBeforeTheTimeLimit) {
  const Ended& ended = Run("trap 'echo warned; exit 7' USR1; while :; do sleep 0.01; done");
  EXPECT_EQ(ended.output->out.bytes, "warned\n");
  EXPECT_EQ(ended.end.cause, Cause::kExit);
  EXPECT_EQ(ended.end.status, 7);
  EXPECT_GE(ended.end.wall, kReady);
}

TEST_F(WarnSignalTest, GoesToTheFirstProcessAlone) {
  const Ended& ended =
      Run("trap 'echo warned; exit 0' USR1; sh -c \"trap 'echo wrong' USR1; "
          "until test -e go; do sleep 0.01; done\" & "
          "trap 'echo warned; > go; wait; exit 0' USR1; while :; do sleep 0.01; done");
  EXPECT_EQ(ended.output->out.bytes, "warned\n");
}

TEST_F(WarnSignalTest, GoesToEachCommandOfAPipeOnce) {
  TaskBody body = Shell(
      "trap 'n=$((n+1))' USR1; while [ ! $n ]; do sleep 0.01; done; "
      "i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done; echo $n");
  body.steps[0].commands.push_back(body.steps[0].commands[0]);
  EXPECT_EQ(Run(body).output->out.bytes, "1\n1\n");
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
