// Blocks of an input, as tasks and as files.
#include "run/pipe_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::run {
namespace {

class PipeInputTest : public testing::Test {
 protected:
  PipeInputTest() : loop_(os::RealLoop::Create().value()), folder_(dir_.Path("input")) {
    EXPECT_TRUE(os::MakeDirs(folder_, 0700));
    plan_.folder = folder_;
    plan_.rules.block = 8;
    plan_.rules.longest = 100;
    plan_.bytes_ahead = 1 << 20;
  }
  // Gives `input` to it, and runs the loop until it has been taken or refused.
  void Take(const std::string& input) {
    pipe_ = os::MakePipe().value();
    plan_.fd = pipe_.read.get();
    ASSERT_TRUE(os::WriteAll(pipe_.write.get(), input, "the pipe"));
    pipe_.write.Reset();
    wrong_.reset();
    ended_ = false;
    rows_.clear();
    PipeInput::Sink sink;
    sink.add = [this](std::vector<std::string> rows) {
      for (const std::string& row : rows) rows_.push_back(format::ParseInputRow(row).value());
      if (on_add) on_add();
    };
    sink.end = [this] {
      ended_ = true;
      loop_->Stop();
    };
    sink.wrong = [this](const Error& error) {
      wrong_ = error.message;
      loop_->Stop();
    };
    auto guard = loop_->At(loop_->Now() + Duration::Seconds(30), [this] { loop_->Stop(); });
    input_ = std::make_unique<PipeInput>(*loop_, plan_, std::move(sink));
    loop_->Run();
    loop_->Cancel(guard);
    EXPECT_TRUE(ended_ || wrong_);
  }
  std::string Block(uint64_t number) const {
    return os::ReadFile(folder_ + "/" + format::BlockName(number), 1 << 20).value_or("none");
  }
  // Blocks that a run which is taken up knows.
  void TakeUp(size_t blocks) {
    plan_.taken.clear();
    for (size_t i = 0; i < blocks; ++i) plan_.taken.push_back({rows_[i].length, rows_[i].hash});
  }
  int Again(const std::string& input) {
    pipe_ = os::MakePipe().value();
    EXPECT_TRUE(os::WriteAll(pipe_.write.get(), input, "the pipe"));
    pipe_.write.Reset();
    return pipe_.read.get();
  }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  const std::string folder_;
  os::Pipe pipe_;
  PipeInput::Plan plan_;
  std::unique_ptr<PipeInput> input_;
  std::vector<format::InputRow> rows_;
  bool ended_ = false;
  std::optional<std::string> wrong_;
  std::function<void()> on_add;
};

const std::string kInput = "one\ntwo\nthree\nfour\n";  // blocks: "one\ntwo\n", "three\n", ...

TEST_F(PipeInputTest, EachBlockIsAFileAndATask) {
  Take(kInput);
  ASSERT_TRUE(ended_) << *wrong_;
  std::string whole;
  uint64_t offset = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    EXPECT_EQ(rows_[i].offset, offset);
    const std::string block = Block(i + 1);
    EXPECT_EQ(block.size(), rows_[i].length);
    EXPECT_EQ(block.back(), '\n');  // no line is cut
    offset += block.size();
    whole += block;
  }
  EXPECT_EQ(whole, kInput);
  EXPECT_GT(rows_.size(), 1u);
  EXPECT_TRUE(InputIsWhole(folder_, rows_.size()));
  EXPECT_FALSE(InputIsWhole(folder_, rows_.size() - 1));  // not all tasks were added
}

TEST_F(PipeInputTest, ABlockIsThereBeforeItsTask) {
  on_add = [this] {
    for (size_t i = 0; i < rows_.size(); ++i) EXPECT_NE(Block(i + 1), "none");
  };
  Take(kInput);
  EXPECT_TRUE(ended_);
}

TEST_F(PipeInputTest, AnEmptyInputIsNoTask) {
  Take("");
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(rows_.empty());
  EXPECT_TRUE(InputIsWhole(folder_, 0));
}

TEST_F(PipeInputTest, AnInputThatComesAgainGoesOnBehindWhatWasTaken) {
  Take(kInput);
  const std::vector<format::InputRow> all = rows_;
  ASSERT_GT(all.size(), 2u);
  TakeUp(1);
  Take(kInput);
  ASSERT_TRUE(ended_) << *wrong_;
  ASSERT_EQ(rows_.size(), all.size() - 1);
  EXPECT_EQ(rows_.front().offset, all[1].offset);
}

TEST_F(PipeInputTest, AnotherInputIsRefused) {
  Take(kInput);
  TakeUp(2);
  Take("one\nTWO\nthree\nfour\n");
  ASSERT_TRUE(wrong_);
  EXPECT_NE(wrong_->find("they differ in block 1, from byte 0 on"), std::string::npos) << *wrong_;
  Take("one\ntwo\n");
  ASSERT_TRUE(wrong_);
  EXPECT_NE(wrong_->find("ends after 8 bytes"), std::string::npos) << *wrong_;
}

TEST_F(PipeInputTest, TheSameInputIsKnownWhenNothingIsLeftToTake) {
  Take(kInput);
  EXPECT_TRUE(CheckSameInput(Again(kInput), folder_));
  EXPECT_TRUE(CheckSameInput(Again(""), folder_));  // none was given
  for (const std::string& other : {kInput + "five\n", std::string("one\n")}) {
    auto same = CheckSameInput(Again(other), folder_);
    ASSERT_FALSE(same);
    EXPECT_NE(same.error().message.find("all of its 19 bytes"), std::string::npos);
  }
}

TEST_F(PipeInputTest, IsDealtOutInTurn) {
  plan_.deal = 2;
  plan_.rules.records = 1;
  Take("a\nb\nc\n");
  ASSERT_TRUE(ended_) << *wrong_;
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_EQ(Block(1), "a\nc\n");
  EXPECT_EQ(Block(2), "b\n");
  EXPECT_TRUE(InputIsWhole(folder_, 2));
}

TEST_F(PipeInputTest, ReadsOnOnlyWhileFewBlocksWait) {
  plan_.bytes_ahead = 16;
  std::string input;
  for (int i = 0; i < 100; ++i) input += "a line\n";  // 7 bytes
  size_t most = 0, ended = 0;
  on_add = [&] {
    most = std::max(most, rows_.size() - ended);
    // The tasks of these blocks end a little later.
    loop_->At(loop_->Now() + Duration::Millis(1), [&, now = rows_.size()] {
      while (ended < now) input_->OnEnded(static_cast<TaskIndex>(ended++));
    });
  };
  plan_.rules.longest = 16;  // so much is read at once
  Take(input);
  ASSERT_TRUE(ended_) << *wrong_;
  EXPECT_EQ(rows_.size(), 100u);
  EXPECT_LT(most, 50u);
}

}  // namespace
}  // namespace spate::run
