// Files of a task that do not answer: named pipes without another end, and shepherds that hang.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <functional>

#include "node/testing_executor.h"
#include "os/process.h"

namespace spate::node {
namespace {

constexpr int kRounds = 21;

class BlockingTest : public ProcessExecutorTest {
 protected:
  BlockingTest() { EXPECT_EQ(mkfifo(pipe().c_str(), 0600), 0); }
  std::string pipe() const { return dir_.Path("pipe"); }
  // The process that opens files, when it waits; 0: none does.
  pid_t Opener() const {
    pid_t found = 0;
    for (pid_t shepherd : executor_->ShepherdPids()) {
      shepherd::ProcessTree(shepherd).Each([&](pid_t pid) {
        auto name = os::ReadFile(fmt::format("/proc/{}/comm", pid), 64);
        if (!name || *name != "spate-opener\n") return;
        auto info = os::InfoOf(pid);
        if (info && info->state == 'S') found = pid;
      });
    }
    return found;
  }
  AttemptRef StartTimed(TaskBody body) {
    StartOrder order;
    order.body = std::move(body);
    order.tell_start = true;
    return StartOf(std::move(order));
  }
};

TEST_F(BlockingTest, ATaskThatWaitsForAPipeIsEndedAndItsSlotServesOthers) {
  struct {
    std::string TaskBody::* file;
    std::string as;
  } cases[] = {{&TaskBody::stdin_file, "stdin"},
               {&TaskBody::stdout_file, "stdout"},
               {&TaskBody::stderr_file, "stderr"}};
  Run("true");
  const std::vector<pid_t> shepherds = executor_->ShepherdPids();
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& c : cases) {
      TaskBody body = Shell("echo ran > ran");
      body.*c.file = pipe();
      AttemptRef ref = StartTimed(body);
      AttemptRef next = Start(Plain({"true"}));
      AttemptRef neighbour = Start(Plain({"true"}), 2);
      // Its time counts from then on.
      RunUntil([&] { return started_.contains(ref.index) && Opener() != 0; });
      EXPECT_EQ(Await(neighbour).end.cause, Cause::kSuccess);
      EXPECT_FALSE(ended_.contains(ref.index) || ended_.contains(next.index));
      bool kill = round % 2 == 1;
      executor_->End(ref, kill ? EndHow::kKill : EndHow::kTerm,
                     kill ? Cause::kStopped : Cause::kTimeLimit);
      const Ended& ended = Await(ref);
      EXPECT_EQ(ended.end.cause, kill ? Cause::kStopped : Cause::kTimeLimit);
      EXPECT_EQ(ended.end.note,
                fmt::format("still waiting to open '{}' as {}: no process has opened the other end "
                            "of this named pipe",
                            pipe(), c.as));
      EXPECT_EQ(ended.end.left_behind, 0u);
      EXPECT_EQ(Await(next).end.cause, Cause::kSuccess);
      EXPECT_EQ(Opener(), 0);
    }
  }
  EXPECT_FALSE(os::Exists(dir_.Path("ran")));
  EXPECT_EQ(executor_->ShepherdPids().front(), shepherds.front());
}

TEST_F(BlockingTest, APipeThatIsOpenedLaterPassesWhatIsWritten) {
  TaskBody reads = Plain({"cat"});
  reads.stdin_file = pipe();
  TaskBody writes = Shell("seq 3; echo err >&2");
  writes.stdout_file = pipe();
  writes.stderr_file = dir_.Path("new/err");
  AttemptRef reader = Start(reads, 1);
  RunUntil([&] { return Opener() != 0; });
  AttemptRef writer = Start(writes, 2);
  EXPECT_EQ(Await(reader).output->out.bytes, "1\n2\n3\n");
  EXPECT_EQ(Await(writer).end.cause, Cause::kSuccess);
  EXPECT_TRUE(FileHas("new/err", "err\n"));
}

TEST_F(BlockingTest, AFileThatLinksCommandsMayBeAPipe) {
  TaskBody body;
  body.steps = {{{{{"echo", "first"}}}}, {{{{"cat"}}}}};
  body.links = {{LinkKind::kFile, {}, {{1, 0, 0}}, pipe()}};
  AttemptRef ref = Start(body);
  RunUntil([&] { return Opener() != 0; });
  executor_->End(ref, EndHow::kTerm, Cause::kStopped);
  EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
  EXPECT_EQ(ended_[ref.index].output->out.bytes, "first\n");
}

TEST_F(BlockingTest, WhatWaitsForAPipeCanBeTakenBack) {
  TaskBody body = Plain({"cat"});
  body.stdin_file = pipe();
  for (int round = 0; round < kRounds; ++round) {
    AttemptRef ref = Start(body);
    if (round % 2 == 0) RunUntil([&] { return Opener() != 0; });
    executor_->Withdraw(ref);
    RunUntil([&] { return taken_back_.contains(ref.index); });
    EXPECT_EQ(Run("true").end.cause, Cause::kSuccess);
  }
}

TEST_F(BlockingTest, AnOpenerThatSomebodyKillsFailsItsTask) {
  TaskBody body = Plain({"cat"});
  body.stdin_file = pipe();
  AttemptRef ref = Start(body);
  RunUntil([&] { return Opener() != 0; });
  EXPECT_EQ(kill(Opener(), SIGKILL), 0);
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_TRUE(ended.end.note.starts_with("the process that opens the task's files was killed"))
      << ended.end.note;
  EXPECT_EQ(Run("true").end.cause, Cause::kSuccess);
}

// The opener's errors are those of the shepherd itself, the first time and later.
TEST_F(BlockingTest, FilesThatCannotBeOpenedFailAsEver) {
  settings_.cwd = dir_.path();
  dir_.Write("plain", "");
  for (int round = 0; round < 2; ++round) {
    TaskBody body = Shell("echo out");
    body.stdin_file = "none";
    const Ended& missing = Run(body);
    EXPECT_EQ(missing.end.cause, Cause::kStart);
    EXPECT_EQ(missing.end.status, 126);
    EXPECT_EQ(missing.end.note, "cannot open 'none' as stdin: No such file or directory");
    body.stdin_file = "";
    body.stdout_file = dir_.Path("plain/out");
    EXPECT_EQ(Run(body).end.note,
              fmt::format("cannot open '{}' as stdout: Not a directory", body.stdout_file));
    body.stdout_file = fmt::format("new{}/deep/out", round);
    EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
    EXPECT_TRUE(FileHas(body.stdout_file, "out\n"));
    body.stdout_file = "/dev/null";
    body.cwd = dir_.Path("nowhere");
    const Ended& nowhere = Run(body);
    EXPECT_EQ(nowhere.end.note, fmt::format("cannot enter the job's folder '{}': No such file or "
                                            "directory",
                                            body.cwd));
    EXPECT_EQ(nowhere.end.cause, Cause::kStart);
  }
}

// A check follows links, which may lead anywhere.
TEST_F(BlockingTest, ChecksLookThroughLinks) {
  dir_.Write("whole", "text\n");
  ASSERT_EQ(symlink("whole", dir_.Path("link").c_str()), 0);
  ASSERT_EQ(symlink("nothing", dir_.Path("dangling").c_str()), 0);
  TaskBody body = Shell("true");
  body.output_checks = {{CheckWhen::kOut, CheckKind::kLinePlus, "link"}};
  EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
  body.output_checks.push_back({CheckWhen::kOut, CheckKind::kExists, "dangling"});
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.note, "dangling does not exist");
  EXPECT_EQ(Run("true").end.cause, Cause::kSuccess);
}

// Additions of the shepherd to a task's stderr must not block the shepherd.
TEST_F(BlockingTest, AFullPipeGetsNoLastWords) {
  os::Fd reader(open(pipe().c_str(), O_RDONLY | O_NONBLOCK));
  StartOrder order;
  order.body = Shell("touch there; exec cat /dev/zero >&2");
  order.body.stderr_file = pipe();
  order.needs.memory = 1'000'000'000;
  AttemptRef ref = StartOf(std::move(order));
  auto is_full = [&] {
    struct stat info{};
    int waits = 0;
    return fstat(reader.get(), &info) == 0 && ioctl(reader.get(), FIONREAD, &waits) == 0 &&
           waits >= 65536;
  };
  RunUntil(is_full);
  executor_->End(ref, EndHow::kKill, Cause::kMemory);
  EXPECT_EQ(Await(ref).end.cause, Cause::kMemory);
  EXPECT_EQ(Run("true").end.cause, Cause::kSuccess);
}

// A file of stderr that is made late is made in the node's folder, where the user may write, too.
TEST_F(BlockingTest, AFileOfStderrThatComesLateIsNoPipeAndNoLink) {
  const std::string late = dir_.Path("late");
  for (const char* made : {"mkfifo late", "ln -s pipe late", "mkdir late"}) {
    TaskBody body = Shell(fmt::format("{} && echo x >&2 && sleep 0.05 && echo y >&2", made));
    body.stderr_file = late;
    body.late_stderr = true;
    const Ended& ended = Run(body);
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << made;
    EXPECT_TRUE(ended.end.note.starts_with("stderr is lost: cannot write '")) << ended.end.note;
    EXPECT_TRUE(os::RemoveTree(late));
  }
}

// A file to send home may be a link to anywhere, so another process opens it.
TEST_F(BlockingTest, LinksGoHome) {
  options_.task_folders = dir_.Path("tasks");
  settings_.get_patterns = {"out"};
  dir_.Write("data", "far away\n");
  for (int round = 0; round < kRounds; ++round) {
    TaskBody body =
        Shell(fmt::format("ln -s {} out; mkdir in; echo own > in/own", dir_.Path("data")));
    body.gets = {"out", "in/own"};
    const Ended& ended = Run(body);
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
    EXPECT_NE(ended.output->files.bytes.find("far away\n"), std::string::npos);
    EXPECT_NE(ended.output->files.bytes.find("own\n"), std::string::npos);
    body = Shell(fmt::format("ln -s {} out; ln -s {} pipe", dir_.Path("none"), pipe()));
    body.gets = {"out", "pipe"};
    const Ended& missing = Run(body);
    EXPECT_EQ(missing.end.cause, Cause::kCheck);
    EXPECT_EQ(missing.end.note, "--get: 'out' does not exist\n--get: 'pipe' is not a file");
  }
}

// A file that is forwarded is removed, however it was opened, and only once it is.
TEST_F(BlockingTest, LinksAreForwardedAndRemoved) {
  dir_.Write("data", "far away\n");
  TaskBody body = Shell(fmt::format("ln -s {} out; echo own > own", dir_.Path("data")));
  body.forwards = {
      {0, "own", "all", 0}, {0, "out", "all", 0}, {0, "none", "all", 0}, {0, "own", "again", 0}};
  for (int round = 0; round < kRounds; ++round) {
    const Ended& ended = Run(body);
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
    EXPECT_NE(ended.output->files.bytes.find("far away\n"), std::string::npos);
    EXPECT_NE(ended.output->files.bytes.find("own\n"), std::string::npos);
    EXPECT_EQ(ended.output->files.bytes.find("again"), std::string::npos) << "it has one copy";
    EXPECT_FALSE(os::Exists(dir_.Path("own")));
    struct stat info{};
    EXPECT_NE(lstat(dir_.Path("out").c_str(), &info), 0);
  }
  body.forwards[1].most = 3;
  EXPECT_EQ(Run(body).end.note, "File out is too large");
}

// Stopping a shepherd is the nearest thing to a hung file server that every machine has.
TEST_F(BlockingTest, AShepherdThatHangsIsEndedWhenItsAttemptIsToEnd) {
  options_.look_every = Duration::Millis(20);
  for (int round = 0; round < kRounds; ++round) {
    AttemptRef ref = Start(Shell("sleep 9999." + mark_));
    AttemptRef next = Start(Plain({"true"}));
    RunUntil([&] { return !Marked("9999." + mark_).empty(); });
    pid_t shepherd = executor_->ShepherdPids().front();
    ASSERT_EQ(kill(shepherd, SIGSTOP), 0);
    executor_->End(ref, EndHow::kTerm, Cause::kStopped);
    const Ended& ended = Await(ref);
    EXPECT_EQ(ended.end.cause, Cause::kStopped);
    EXPECT_EQ(ended.end.note, shepherd::kHungNote);
    EXPECT_TRUE(Marked("9999." + mark_).empty());
    RunUntil([&] { return taken_back_.contains(next.index); });
    EXPECT_EQ(Run("true").end.cause, Cause::kSuccess);
    EXPECT_NE(executor_->ShepherdPids().front(), shepherd);
  }
}

// One that has nobody behind it, and nobody who wants it to end, hangs on its own.
TEST_F(BlockingTest, AShepherdThatHangsIsEndedWhenOthersWaitBehindIt) {
  options_.look_every = Duration::Millis(5);
  AttemptRef ref = Start(Shell("sleep 9999." + mark_));
  RunUntil([&] { return !Marked("9999." + mark_).empty(); });
  ASSERT_EQ(kill(executor_->ShepherdPids().front(), SIGSTOP), 0);
  os::TimerId later = 0;
  bool over = false;
  later = loop_->At(loop_->Now() + Duration::Millis(400), [&] { over = true; });
  RunUntil([&] { return over; });
  loop_->Cancel(later);
  EXPECT_FALSE(ended_.contains(ref.index));
  AttemptRef next = Start(Plain({"true"}));
  EXPECT_EQ(Await(ref).end.cause, Cause::kNode);
  EXPECT_EQ(ended_[ref.index].end.note, shepherd::kHungNote);
  RunUntil([&] { return taken_back_.contains(next.index); });
}

}  // namespace
}  // namespace spate::node
