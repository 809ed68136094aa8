#include "os/copy_part.h"

#include <gtest/gtest.h>

#include <future>

#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

class CopyPartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    IgnoreSignal(kSignalPipe);
    for (int i = 0; i < 300'000; ++i) text_ += std::to_string(i) + "\n";
    path_ = dir_.path() + "/file";
    ASSERT_TRUE(WriteFile(path_, text_));
    file_ = OpenRead(path_).value();
  }
  TempDir dir_;
  std::string text_;
  std::string path_;
  Fd file_;
};

TEST_F(CopyPartTest, ThroughAPipe) {
  Pipe pipe = MakePipe().value();
  auto read = std::async([&] { return ReadToEnd(pipe.read.get(), 10'000'000, "pipe").value(); });
  EXPECT_EQ(CopyPart(file_.get(), 5, 1'500'000, pipe.write.get(), "f"), Copied::kAll);
  pipe.write.Reset();
  EXPECT_EQ(read.get(), text_.substr(5, 1'500'000));
}

TEST_F(CopyPartTest, IntoAFile) {
  Fd to = OpenWrite(dir_.path() + "/to", OpenHow::kAppend).value();
  EXPECT_EQ(CopyPart(file_.get(), 0, text_.size(), to.get(), "f"), Copied::kAll);
  EXPECT_EQ(ReadFile(dir_.path() + "/to", 10'000'000).value(), text_);
}

TEST_F(CopyPartTest, AReaderMayGo) {
  Pipe pipe = MakePipe().value();
  pipe.read.Reset();
  EXPECT_EQ(CopyPart(file_.get(), 0, text_.size(), pipe.write.get(), "f"), Copied::kReaderGone);
}

TEST_F(CopyPartTest, AFileMayBeShort) {
  Fd to = OpenWrite(dir_.path() + "/to", OpenHow::kAppend).value();
  auto copied = CopyPart(file_.get(), text_.size() - 3, 10, to.get(), "f");
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().message, "'f' has become shorter since it was cut into parts");
}

}  // namespace
}  // namespace spate::os
