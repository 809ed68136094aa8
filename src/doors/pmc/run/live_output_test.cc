#include "doors/pmc/run/live_output.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class LiveOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*os::RealLoop::Create());
    live_ = std::make_unique<LiveOutput>(*loop_, temp_.Path("d.dag"));
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

TEST_F(LiveOutputTest, MuchOutputDoesNotWait) {
  live_->Add(7, 2, 1, std::string(2u << 20, 'x'));
  EXPECT_EQ(File("d.dag.out.2").size(), 2u << 20);
}

}  // namespace
}  // namespace spate::pmc
