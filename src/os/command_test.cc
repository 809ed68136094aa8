#include "os/command.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() : loop_(std::move(RealLoop::Create().value())) {
    IgnoreSignal(kSignalPipe);
    guard_ = loop_->At(loop_->Now() + Duration::Seconds(60), [this] {
      ADD_FAILURE() << "the command did not end";
      loop_->Stop();
    });
  }
  ~CommandTest() override { loop_->Cancel(guard_); }
  static Command::Options Shell(const std::string& text) {
    return {.argv = {"sh", "-c", text}, .input = "", .environment = Environment::OfProcess()};
  }
  void Start(Command::Options options) {
    auto command = Command::Start(*loop_, std::move(options), [this](Command::Ended ended) {
      ended_ = std::move(ended);
      command_.reset();
      loop_->Stop();
    });
    ASSERT_TRUE(command) << command.error().message;
    command_ = std::move(*command);
  }
  Command::Ended Run(Command::Options options) {
    ended_ = {};
    Start(std::move(options));
    if (command_ != nullptr) loop_->Run();
    return ended_;
  }
  // Looks until the file has a line.
  void AwaitLine(const std::string& path) {
    auto text = ReadFile(path, 100);
    if (text && text->ends_with('\n')) return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(5), [this, path] { AwaitLine(path); });
  }
  // Looks until there is no such process, or only a zombie, whose parent is not ours to hurry.
  void AwaitEnd(pid_t pid) {
    auto info = InfoOf(pid);
    if (!info || info->state == 'Z') return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(5), [this, pid] { AwaitEnd(pid); });
  }

  std::unique_ptr<RealLoop> loop_;
  TimerId guard_;
  std::unique_ptr<Command> command_;
  Command::Ended ended_;
};

TEST_F(CommandTest, OutputErrorsAndExitCodeAreApart) {
  for (bool pidfd : {true, false}) {
    Command::Options options = Shell("cat; echo problem >&2; exit 3");
    options.input = "hello\n";
    options.pidfd = pidfd;
    Command::Ended ended = Run(options);
    EXPECT_EQ(ended.out, "hello\n");
    EXPECT_EQ(ended.err, "problem\n");
    EXPECT_EQ(ended.exit_code, 3);
    EXPECT_FALSE(ended.timed_out);
  }
}

TEST_F(CommandTest, ASignalIsAnExitCode) { EXPECT_EQ(Run(Shell("kill -TERM $$")).exit_code, 143); }

TEST_F(CommandTest, InputMayBeLongAndMayBeLeft) {
  Command::Options options = Shell("cat");
  options.input = std::string(3 << 20, 'x');
  EXPECT_EQ(Run(options).out, options.input);
  options.argv = {"true"};
  EXPECT_EQ(Run(options).exit_code, 0);
}

TEST_F(CommandTest, LongOutputIsKeptUpToItsBound) {
  // The end of the output is still in the pipe when the process has ended.
  Command::Options options = Shell("yes | head -c 1000000; yes | head -c 1000000 >&2; exit 4");
  options.most_out = 300'000;
  options.most_err = 5;
  Command::Ended ended = Run(options);
  EXPECT_EQ(ended.out.size(), 300'000u);
  EXPECT_EQ(ended.out_dropped, 700'000u);
  EXPECT_EQ(ended.err, "y\ny\ny");
  EXPECT_EQ(ended.err_dropped, 999'995u);
  EXPECT_EQ(ended.exit_code, 4);
}

TEST_F(CommandTest, WhatWasNotReadWhenItEndedIsRead) {
  // More than one look takes: its pipe is enlarged (F_SETPIPE_SZ).
  TempDir dir;
  Command::Options options = Shell(
      "echo $$ >\"$0\"; exec perl -e 'fcntl(STDOUT, 1031, 1 << 20) or die; print \"x\" x 600000'");
  options.argv.push_back(dir.Path("pid"));
  Start(options);
  for (bool ended = false; !ended; (void)WaitReadable(-1, Duration::Millis(2))) {
    auto pid = ReadFile(dir.Path("pid"), 100);
    if (!pid || !pid->ends_with('\n')) continue;
    auto info = InfoOf(std::stoi(*pid));
    ended = !info || info->state == 'Z';
  }
  loop_->Run();
  EXPECT_EQ(ended_.out.size(), 600'000u) << ended_.err;
}

TEST_F(CommandTest, WhatItLeavesRunningDoesNotKeepIt) {
  // `ready` is written once the other one has its signals and pipes.
  TempDir dir;
  Command::Options options = Shell(
      "setsid sh -c 'echo $$ >\"$0\"; exec sleep 1000' \"$0\" & while [ ! -s \"$0\" ]; do :; done; "
      "echo out; echo err >&2");
  options.argv.push_back(dir.Path("pid"));
  Command::Ended ended = Run(options);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
  pid_t pid = std::stoi(ReadFile(dir.Path("pid"), 100).value());
  EXPECT_EQ(kill(pid, 0), 0);
  kill(pid, SIGKILL);
}

TEST_F(CommandTest, EndlessOutputOfOthersDoesNotKeepIt) {
  TempDir dir;
  Command::Options options =
      Shell("sh -c 'echo $$ >\"$0\"; exec yes' \"$0\" & while [ ! -s \"$0\" ]; do :; done; exit 5");
  options.argv.push_back(dir.Path("pid"));
  EXPECT_EQ(Run(options).exit_code, 5);
  loop_->At(loop_->Now(),
            [&] { AwaitEnd(std::stoi(ReadFile(dir.Path("pid"), 100).value())); });  // by SIGPIPE
  loop_->Run();
}

TEST_F(CommandTest, ATimeoutKillsAllThatItStarted) {
  for (bool pidfd : {true, false}) {
    TempDir dir;
    Command::Options options =
        Shell("echo before; sh -c 'echo $$ >\"$0\"; exec sleep 1000' \"$0\"; echo after");
    options.argv.push_back(dir.Path("pid"));
    options.pidfd = pidfd;
    Result<std::string> pid;
    // Until the machine is quick enough for the process to have come so far.
    for (options.patience = Duration::Millis(100); !pid || pid->empty();) {
      options.patience = options.patience * 2;
      EXPECT_TRUE(Run(options).timed_out);
      pid = ReadFile(dir.Path("pid"), 100);
    }
    EXPECT_EQ(ended_.out, "before\n");
    loop_->At(loop_->Now(), [&] { AwaitEnd(std::stoi(*pid)); });
    loop_->Run();
  }
}

TEST_F(CommandTest, EndsWithItsOwner) {
  TempDir dir;
  Command::Options options = Shell("sh -c 'echo $$ >\"$0\"; exec sleep 1000' \"$0\"; exit 0");
  options.argv.push_back(dir.Path("pid"));
  Start(options);
  AwaitLine(dir.Path("pid"));
  loop_->Run();
  command_.reset();
  pid_t pid = std::stoi(ReadFile(dir.Path("pid"), 100).value());
  AwaitEnd(pid);
  loop_->Run();
}

TEST_F(CommandTest, ProgramFolderAndVariablesAreItsOwn) {
  TempDir dir;
  std::string path = dir.Write("bin/tell", "#!/bin/sh\npwd\necho $COLOUR\n");
  ASSERT_TRUE(SetPermissions(path, 0755));
  Command::Options options{.argv = {"tell"}, .input = "", .environment = {}};
  options.environment.Set("PATH", "/nowhere:" + dir.Path("bin") + ":/usr/bin:/bin");
  options.environment.Set("COLOUR", "green");
  options.folder = "/";
  EXPECT_EQ(Run(options).out, "/\ngreen\n");
  options.environment.Set("PATH", "/nowhere");
  auto none = Command::Start(*loop_, options, nullptr);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "cannot start 'tell': No such file or directory");
}

}  // namespace
}  // namespace spate::os
