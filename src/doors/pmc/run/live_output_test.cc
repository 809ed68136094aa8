#include "doors/pmc/run/live_output.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/process.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class LiveOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*os::RealLoop::Create());
    live_ = std::make_unique<LiveOutput>(*loop_, LiveOutput::Parts{temp_.Path("d.dag")});
  }
  std::string File(const std::string& name) const {
    return os::ReadFile(temp_.Path(name), SIZE_MAX).value_or("nothing");
  }
  // Runs the loop until a flush has been due.
  void Wait() {
    loop_->At(loop_->Now() + LiveOutput::kEvery + Duration::Millis(1), [this] { loop_->Stop(); });
    loop_->Run();
  }

  os::TempDir temp_;
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<LiveOutput> live_;
};

TEST_F(LiveOutputTest, FilesExistWhileTheirTaskRuns) {
  live_->Add(7, 2, 1, "a");
  live_->Add(7, 2, 1, "b\n");
  live_->Add(8, 3, 2, "trouble\n");
  EXPECT_EQ(File("d.dag.out.2"), "nothing");
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "ab\n");
  EXPECT_EQ(File("d.dag.err.3"), "trouble\n");
  live_->Add(7, 2, 1, "c\n");
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "ab\nc\n");
  live_->Remove(7);
  live_->Remove(8);
  EXPECT_EQ(os::ListDir(temp_.path())->size(), 0u);
  EXPECT_TRUE(live_->empty());
}

TEST_F(LiveOutputTest, ATaskThatEndsSoonHasNoFile) {
  live_->Add(7, 2, 1, "a");
  live_->Remove(7);
  Wait();
  EXPECT_EQ(os::ListDir(temp_.path())->size(), 0u);
}

TEST_F(LiveOutputTest, TheNextTaskOfASlotWaitsForTheFiles) {
  live_->Add(7, 2, 1, "of 7");
  Wait();
  live_->Add(8, 2, 1, "of 8");
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "of 7");
  live_->Remove(7);
  live_->Add(8, 2, 1, "!");
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "of 8!");
}

TEST_F(LiveOutputTest, LongOutputIsSeenInItsSpoolFile) {
  const os::TempDir spool;
  live_->Add(7, 2, 1, "begin", spool.Path("s"));
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin");
  spool.Write("s", "begin and more");
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin and more");
  spool.Write("s", "begin and more, and more");
  EXPECT_EQ(File("d.dag.out.2"), "begin and more, and more") << "it is the same file";
  live_->Add(7, 2, 1, "late", spool.Path("s"));
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin and more, and more");
  live_->Remove(7);
  EXPECT_EQ(File("d.dag.out.2"), "nothing");
  EXPECT_TRUE(os::Exists(spool.Path("s")));
}

TEST_F(LiveOutputTest, ASpoolFileOfAnotherFileSystemIsCopiedAsItGrows) {
  if (!os::Exists("/dev/shm") || os::Stat("/dev/shm")->device == os::Stat(temp_.path())->device) {
    GTEST_SKIP() << "needs two file systems";
  }
  const std::string spool = "/dev/shm/spate-live-output-test." + std::to_string(os::OwnPid());
  ASSERT_TRUE(os::WriteFile(spool, "begin and"));
  live_->Add(7, 2, 1, "begin", spool);
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin and");
  ASSERT_TRUE(os::WriteFile(spool, "begin and more"));
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin and more");
  live_->Freeze(7);
  ASSERT_TRUE(os::WriteFile(spool, "begin and more, much more"));
  Wait();
  EXPECT_EQ(File("d.dag.out.2"), "begin and more");
  EXPECT_TRUE(os::RemoveFile(spool));
}

TEST_F(LiveOutputTest, FilesOfATryStay) {
  live_ = std::make_unique<LiveOutput>(
      *loop_,
      LiveOutput::Parts{temp_.Path("d.dag"), [&](TaskIndex task, int stream) {
                          return temp_.Path(std::to_string(task) + (stream == 1 ? "o" : "e"));
                        }});
  live_->Add(7, 2, 1, "of 7");
  live_->Add(8, 2, 2, "of 8");
  Wait();
  EXPECT_EQ(File("7o"), "of 7");
  EXPECT_EQ(File("8e"), "of 8") << "each has its own, also in one slot";
  live_->Freeze(7);
  live_->Add(7, 2, 1, "!");
  Wait();
  EXPECT_EQ(File("7o"), "of 7") << "its end is delivered now";
  live_->Remove(7);
  EXPECT_EQ(File("7o"), "of 7");
}

TEST_F(LiveOutputTest, MuchOutputDoesNotWait) {
  live_->Add(7, 2, 1, std::string(2u << 20, 'x'));
  EXPECT_EQ(File("d.dag.out.2").size(), 2u << 20);
}

}  // namespace
}  // namespace spate::pmc
