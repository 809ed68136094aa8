#include "os/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/signals.h"

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
    auto child = Child::Start(*loop_, argv, std::move(input),
                              {[this](std::string_view bytes) {
                                 output_ += bytes;
                                 if (on_output_) on_output_();
                               },
                               [this] { loop_->Stop(); }});
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
  auto child = Child::Start(
      *loop_, {"sh", "-c", "cat; echo err >&2; exec >&- 2>&-; sleep 0.05; exit 3"}, "in ",
      {[&](std::string_view bytes) { output += bytes; }, nullptr,
       [&](int how) {
         status = how;
         loop_->Stop();
       }},
      Child::Errors::kOutput);
  ASSERT_TRUE(child) << child.error().message;
  loop_->Run();
  EXPECT_EQ(output, "in err\n");
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_FALSE(Child::Start(*loop_, {"no-such-program-anywhere"}, "", {}));
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
  auto child = Child::Start(*loop_, {"/bin/sh", "-c", "echo $$; exec sleep 1000"}, "",
                            {[this](std::string_view bytes) {
                               output_ += bytes;
                               loop_->Stop();
                             },
                             nullptr},
                            Child::Errors::kOurs, Child::Ends::kByItself);
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

TEST_F(ChildTest, WhatCannotStartIsTold) {
  auto child = Child::Start(*loop_, {"/nowhere/program"}, "", {});
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace spate::os
