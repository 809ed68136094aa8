#include "os/piped_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <memory>
#include <string>

#include "os/environment.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

bool IsHeld(const std::string& lock) {
  auto fd = OpenWrite(lock, OpenHow::kReadWrite);
  return fd && !TryLockWhole(fd->get()).value_or(true);
}

class PipedProcessTest : public ::testing::Test {
 protected:
  PipedProcessTest() : loop_(std::move(RealLoop::Create().value())) { IgnoreSignal(kSignalPipe); }

  void Start(const std::string& text) {
    auto process =
        PipedProcess::Start(*loop_, {"/bin/sh", "-c", text}, Environment::OfProcess().entries(),
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
  std::unique_ptr<PipedProcess> process_;
  std::string out_, err_;
  size_t gone_ = 0;
  std::optional<int> status_;
  std::function<void()> on_output_;
};

TEST_F(PipedProcessTest, StreamsAndStatus) {
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

TEST_F(PipedProcessTest, InputThatNobodyReads) {
  Start("exec 0<&-; echo ready");
  RunToEnd();
  process_->Write(std::string(1 << 20, 'x'));
  process_->Write("more");
  EXPECT_EQ(gone_, (1u << 20) + 4);
}

TEST_F(PipedProcessTest, PausedOutputWaits) {
  Start("yes | head -c 10000000");
  on_output_ = [this] { process_->PauseOutput(true); };
  RunUntil([&] { return !out_.empty(); });
  size_t before = out_.size();
  bool later = false;
  loop_->At(loop_->Now() + Duration::Millis(50), [&] { later = true; });
  RunUntil([&] { return later; });
  EXPECT_EQ(out_.size(), before);
  on_output_ = nullptr;
  process_->PauseOutput(false);
  RunToEnd();
  EXPECT_EQ(out_.size(), 10'000'000u);
}

TEST_F(PipedProcessTest, ItHasEndedWhenItsOutputHas) {
  Start("exec 3<&0; (read x <&3; echo late) & exit 3");
  process_->Write("go\n");
  RunToEnd();
  EXPECT_EQ(out_, "late\n");
  EXPECT_EQ(ExitStatusOf(*status_), 3);
}

TEST_F(PipedProcessTest, SignalsReachTheGroup) {
  Start("sleep 1000 & echo up; wait; wait");
  RunUntil([&] { return out_ == "up\n"; });
  process_->Signal(kSignalTerm);
  RunToEnd();
  EXPECT_TRUE(WIFSIGNALED(*status_));
  EXPECT_EQ(ExitStatusOf(*status_), 128 + kSignalTerm);
}

TEST_F(PipedProcessTest, AbandonedItEndsWithItsGroup) {
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

TEST_F(PipedProcessTest, OneThatDoesNotWantToEndIsKilled) {
  Start("trap '' TERM; echo up; while :; do sleep 1; done");
  RunUntil([&] { return out_ == "up\n"; });
  process_->Abandon(Duration::Millis(20));
  RunToEnd();
  EXPECT_EQ(ExitStatusOf(*status_), 128 + kSignalKill);
}

TEST_F(PipedProcessTest, WhatCannotBeStartedIsSaid) {
  auto process = PipedProcess::Start(*loop_, {"/no/such/shell"}, {}, {});
  ASSERT_FALSE(process);
  EXPECT_NE(process.error().message.find("/no/such/shell"), std::string::npos);
}

}  // namespace
}  // namespace spate::os
