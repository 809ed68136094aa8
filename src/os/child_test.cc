#include "os/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

class ChildTest : public ::testing::Test {
 protected:
  ChildTest() : loop_(std::move(RealLoop::Create().value())) {
    IgnoreSignal(kSignalPipe);
    guard_ = loop_->At(loop_->Now() + Duration::Seconds(60), [this] {
      ADD_FAILURE() << "the child did not end";
      loop_->Stop();
    });
  }
  ~ChildTest() override { loop_->Cancel(guard_); }
  void Start(std::vector<std::string> argv, std::string input) {
    auto child =
        Child::Start(*loop_, {.spawn = {.argv = std::move(argv)}, .input = std::move(input)},
                     {.output =
                          [this](int, std::string_view bytes) {
                            output_ += bytes;
                            if (on_output_) on_output_();
                          },
                      .ended = [this](int) { loop_->Stop(); }});
    ASSERT_TRUE(child) << child.error().message;
    child_ = std::move(*child);
  }
  // Looks until there is no such process, not even a zombie.
  void AwaitEnd(pid_t pid) {
    if (kill(pid, 0) != 0) return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(5), [this, pid] { AwaitEnd(pid); });
  }
  std::unique_ptr<RealLoop> loop_;
  TimerId guard_;
  std::unique_ptr<Child> child_;
  std::string output_;
  std::function<void()> on_output_;
};

TEST_F(ChildTest, ATerminalOfItsOwn) {
  auto child =
      Child::Start(*loop_,
                   {.spawn = {.argv = {"/bin/sh", "-c",
                                       "tty >/dev/null && stty size; read x; stty size; exit 3"}},
                    .pipes = Child::Pipes::kTerminal,
                    .input = std::nullopt,
                    .window = {33, 101},
                    .ends_at_exit = true},
                   {.output =
                        [this](int, std::string_view bytes) {
                          output_ += bytes;
                          if (!output_.ends_with("33 101\r\n")) return;
                          child_->Resize({40, 120});
                          child_->Write("x\r");
                        },
                    .ended =
                        [this](int status) {
                          EXPECT_EQ(WEXITSTATUS(status), 3);
                          loop_->Stop();
                        }});
  ASSERT_TRUE(child) << child.error().message;
  child_ = std::move(*child);
  loop_->Run();
  EXPECT_TRUE(output_.starts_with("33 101\r\n")) << output_;
  EXPECT_TRUE(output_.ends_with("40 120\r\n")) << output_;
}

TEST_F(ChildTest, InputGoesThroughWhole) {
  std::string input;
  for (int i = 0; i < 300'000; ++i) input += std::to_string(i);
  Start({"/bin/cat"}, input);
  loop_->Run();
  EXPECT_EQ(output_, input);
}

TEST_F(ChildTest, MayLeaveItsInputUnread) {
  Start({"/bin/true"}, std::string(1 << 20, 'x'));
  loop_->Run();
  EXPECT_EQ(output_, "");
}

TEST_F(ChildTest, WaitsWhilePaused) {
  Start({"/bin/sh", "-c", "echo a; read line; echo $line"}, "b\n");
  child_->Pause(true);
  bool paused = true;
  on_output_ = [&] { EXPECT_FALSE(paused); };
  loop_->At(loop_->Now() + Duration::Millis(50), [&] {
    paused = false;
    child_->Pause(false);
  });
  loop_->Run();
  EXPECT_EQ(output_, "a\nb\n");
}

TEST_F(ChildTest, TellsHowItExited) {
  std::string output;
  int status = -1;
  // Its output ends before it does.
  const std::string text = "cat; echo err >&2; exec >&- 2>&-; sleep 0.05; exit 3";
  auto child = Child::Start(
      *loop_,
      {.spawn = {.argv = {"sh", "-c", text}}, .pipes = Child::Pipes::kOneText, .input = "in "},
      {.output = [&](int, std::string_view bytes) { output += bytes; },
       .ended =
           [&](int how) {
             status = how;
             loop_->Stop();
           }});
  ASSERT_TRUE(child) << child.error().message;
  loop_->Run();
  EXPECT_EQ(output, "in err\n");
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_FALSE(Child::Start(*loop_, {.spawn = {.argv = {"no-such-program-anywhere"}}}, {}));
}

TEST_F(ChildTest, EndsWithItsOwner) {
  Start({"/bin/sh", "-c", "echo $$; exec sleep 1000"}, "");
  on_output_ = [&] { loop_->Stop(); };
  loop_->Run();
  pid_t pid = std::stoi(output_);
  child_.reset();
  loop_->At(loop_->Now() + Duration::Millis(1), [&] { AwaitEnd(pid); });
  loop_->Run();
}

TEST_F(ChildTest, OutlivesItsOwner) {
  const std::vector<std::string> argv = {"/bin/sh", "-c", "echo $$; exec sleep 1000"};
  auto child = Child::Start(*loop_, {.spawn = {.argv = argv, .session = true}, .outlives_us = true},
                            {.output = [this](int, std::string_view bytes) {
                              output_ += bytes;
                              loop_->Stop();
                            }});
  ASSERT_TRUE(child) << child.error().message;
  loop_->Run();
  pid_t pid = std::stoi(output_);
  EXPECT_EQ(getsid(pid), pid) << "signals of our terminal do not reach it";
  child->reset();
  kill(pid, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGTERM) << "nothing else has ended it";
}

TEST_F(ChildTest, GetsSignalsAsEverybody) {
  Start({"/bin/sh", "-c", "kill -PIPE $$; echo survived"}, "");
  loop_->Run();
  EXPECT_EQ(output_, "");
}

TEST_F(ChildTest, HasNoDescriptorsOfOursButThoseThatAreNamed) {
  TempDir dir;
  auto kept = OpenRead("/dev/null").value();
  auto other = OpenRead("/dev/null").value();
  const std::string looks = "readlink /proc/self/fd/" + std::to_string(kept.get()) +
                            "; readlink /proc/self/fd/" + std::to_string(other.get());
  auto child = Child::Start(*loop_, {.spawn = {.argv = {"sh", "-c", looks}, .kept = kept.get()}},
                            {.output = [this](int, std::string_view bytes) { output_ += bytes; },
                             .ended = [this](int) { loop_->Stop(); }});
  ASSERT_TRUE(child);
  loop_->Run();
  EXPECT_EQ(output_, "/dev/null\n");
}

TEST_F(ChildTest, AScriptWithoutAFirstLineIsTheShells) {
  TempDir dir;
  const std::string script = dir.Write("script", "echo \"$0 $1\"\n");
  ASSERT_TRUE(SetPermissions(script, 0755));
  Start({script, "word"}, "");
  loop_->Run();
  EXPECT_EQ(output_, script + " word\n");
}

TEST_F(ChildTest, WithoutPipesItGetsOurUserSignalsAndOutlivesUs) {
  TempDir dir;
  const std::string text =
      "trap 'exit 7' USR1; : > " + dir.Path("ready") + "; while :; do sleep 0.01; done";
  int status = -1;
  auto child =
      Child::Start(*loop_, {.spawn = {.argv = {"sh", "-c", text}}, .pipes = Child::Pipes::kNone},
                   {.ended = [&](int how) {
                     status = how;
                     loop_->Stop();
                   }});
  ASSERT_TRUE(child);
  std::function<void()> look = [&] {
    if (Exists(dir.Path("ready"))) return (void)kill(getpid(), SIGUSR1);
    loop_->At(loop_->Now() + Duration::Millis(2), look);
  };
  look();
  loop_->Run();
  EXPECT_EQ(ExitStatusOf(status), 7);
}

TEST_F(ChildTest, WhatCannotStartIsTold) {
  auto child = Child::Start(*loop_, {.spawn = {.argv = {"/nowhere/program"}}}, {});
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/nowhere/program"), std::string::npos);
}

bool IsHeld(const std::string& lock) {
  auto fd = OpenWrite(lock, OpenHow::kReadWrite);
  return fd && !TryLockWhole(fd->get()).value_or(true);
}

class PipedChildTest : public ::testing::Test {
 protected:
  PipedChildTest() : loop_(std::move(RealLoop::Create().value())) { IgnoreSignal(kSignalPipe); }

  void Start(const std::string& text) {
    auto process = Child::Start(*loop_,
                                {.spawn = {.argv = {"/bin/sh", "-c", text}, .session = true},
                                 .pipes = Child::Pipes::kAll,
                                 .input = std::nullopt},
                                {.output =
                                     [this](int stream, std::string_view bytes) {
                                       (stream == 1 ? out_ : err_) += bytes;
                                       if (on_output_) on_output_();
                                     },
                                 .input_gone = [this](size_t bytes) { gone_ += bytes; },
                                 .ended = [this](int status) { status_ = status; }});
    ASSERT_TRUE(process) << process.error().message;
    process_ = std::move(*process);
  }
  template <typename Done>
  void RunUntil(Done done) {
    bool given_up = false;
    TimerId guard = loop_->At(loop_->Now() + Duration::Seconds(60), [&] { given_up = true; });
    std::function<void()> look = [&] {
      if (done() || given_up) return loop_->Stop();
      loop_->At(loop_->Now() + Duration::Micros(200), look);
    };
    loop_->Post(look);
    loop_->Run();
    loop_->Cancel(guard);
    EXPECT_FALSE(given_up) << "the awaited state did not come";
  }
  void RunToEnd() {
    RunUntil([&] { return status_.has_value(); });
  }

  std::unique_ptr<RealLoop> loop_;
  std::unique_ptr<Child> process_;
  std::string out_, err_;
  size_t gone_ = 0;
  std::optional<int> status_;
  std::function<void()> on_output_;
};

TEST_F(PipedChildTest, StreamsAndStatus) {
  Start("cat; echo problem >&2; exit 7");
  process_->Write("some ");
  process_->Write("text");
  process_->CloseInput();
  RunToEnd();
  EXPECT_EQ(out_, "some text");
  EXPECT_EQ(err_, "problem\n");
  EXPECT_EQ(gone_, 9u);
  EXPECT_EQ(ExitStatusOf(*status_), 7);
}

TEST_F(PipedChildTest, InputThatNobodyReads) {
  Start("exec 0<&-; echo ready");
  RunToEnd();
  process_->Write(std::string(1 << 20, 'x'));
  process_->Write("more");
  EXPECT_EQ(gone_, (1u << 20) + 4);
}

TEST_F(PipedChildTest, PausedOutputWaits) {
  Start("yes | head -c 10000000");
  on_output_ = [this] { process_->Pause(true); };
  RunUntil([&] { return !out_.empty(); });
  size_t before = out_.size();
  bool later = false;
  loop_->At(loop_->Now() + Duration::Millis(50), [&] { later = true; });
  RunUntil([&] { return later; });
  EXPECT_EQ(out_.size(), before);
  on_output_ = nullptr;
  process_->Pause(false);
  RunToEnd();
  EXPECT_EQ(out_.size(), 10'000'000u);
}

TEST_F(PipedChildTest, ItHasEndedWhenItsOutputHas) {
  Start("exec 3<&0; (read x <&3; echo late) & exit 3");
  process_->Write("go\n");
  RunToEnd();
  EXPECT_EQ(out_, "late\n");
  EXPECT_EQ(ExitStatusOf(*status_), 3);
}

TEST_F(PipedChildTest, SignalsReachTheGroup) {
  Start("sleep 1000 & echo up; wait; wait");
  RunUntil([&] { return out_ == "up\n"; });
  process_->Signal(kSignalTerm);
  RunToEnd();
  EXPECT_TRUE(WIFSIGNALED(*status_));
  EXPECT_EQ(ExitStatusOf(*status_), 128 + kSignalTerm);
}

TEST_F(PipedChildTest, AbandonedItEndsWithItsGroup) {
  // The inner one does not care for SIGTERM, and holds the lock for as long as it lives.
  TempDir dir;
  std::string lock = dir.Write("lock", "");
  Start("(trap '' TERM; flock -n " + lock + " sh -c 'echo up; while :; do sleep 1; done') & wait");
  RunUntil([&] { return out_ == "up\n"; });
  EXPECT_TRUE(IsHeld(lock));
  process_->Abandon(Duration::Seconds(30));
  RunToEnd();
  RunUntil([&] { return !IsHeld(lock); });
}

TEST_F(PipedChildTest, OneThatDoesNotWantToEndIsKilled) {
  Start("trap '' TERM; echo up; while :; do sleep 1; done");
  RunUntil([&] { return out_ == "up\n"; });
  process_->Abandon(Duration::Millis(20));
  RunToEnd();
  EXPECT_EQ(ExitStatusOf(*status_), 128 + kSignalKill);
}

}  // namespace
}  // namespace spate::os
