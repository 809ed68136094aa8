// Attempts that are stopped where they are and let go on: by signals, and by their slot's cgroup.
#include <signal.h>

#include "node/testing_executor.h"
#include "os/cgroup.h"
#include "os/process.h"

namespace spate::node {
namespace {

// Once by signals, once by a cgroup where this machine lets us have one.
class FreezeTest : public ProcessExecutorTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) return;
    auto tree = os::CgroupTree::Create(os::FindCgroups());
    if (!tree) GTEST_SKIP() << tree.error().message;
    tree_ = std::move(*tree);
    options_.cgroup = tree_->dir();
  }
  void TearDown() override {
    executor_.reset();
    if (tree_) EXPECT_TRUE(tree_->Remove(Duration::Seconds(20)));
  }
  // A task that shows that it runs, in two processes, until there is `go`.
  AttemptRef Begin() {
    AttemptRef ref =
        Start(Shell("until test -e go; do echo >> a; sleep 0.01; done & "
                    "until test -e go; do echo >> b; sleep 0.01; done; wait"));
    AwaitTicks();
    return ref;
  }
  uint64_t Size(const char* name) {
    auto info = os::Stat(dir_.Path(name));
    return info ? info->size : 0;
  }
  void AwaitTicks() {
    uint64_t a = Size("a");
    uint64_t b = Size("b");
    RunUntil([&] { return Size("a") > a && Size("b") > b; });
  }
  // Reads the system's own state.
  bool IsFrozen() {
    if (tree_) {
      auto events = os::ReadFile(tree_->dir() + "/slot-1/cgroup.events", 4096);
      return events && events->find("frozen 1") != events->npos;
    }
    int processes = 0;
    int stopped = 0;
    shepherd::ProcessTree(executor_->ShepherdPids().at(0)).Each([&](pid_t pid) {
      auto info = os::InfoOf(pid);
      ++processes;
      // D: a shell waits for a child that was stopped between its vfork and its exec.
      stopped += info && std::string_view("TZD").contains(info->state) ? 1 : 0;
    });
    return processes > 1 && processes == stopped;
  }
  void Freeze(const AttemptRef& ref) {
    executor_->Freeze(ref, true, Instant{1});
    RunUntil([&] { return IsFrozen(); });
  }
  std::unique_ptr<os::CgroupTree> tree_;
};

TEST_P(FreezeTest, StandsStillAndGoesOn) {
  AttemptRef ref = Begin();
  for (int i = 0; i < 2; ++i) {
    Freeze(ref);
    uint64_t a = Size("a");
    executor_->Freeze(ref, true, Instant{1});  // once more changes nothing
    executor_->Freeze({JobId(1), 999, Attempt(1)}, false, Instant{1});
    EXPECT_FALSE(Until(Duration::Millis(60), [&] { return Size("a") > a; }));
    executor_->Freeze(ref, false, Instant{1});
    AwaitTicks();
  }
  dir_.Write("go", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
  EXPECT_EQ(Run("echo next").output->out.bytes, "next\n");
}

TEST_P(FreezeTest, EndsWhileItIsFrozen) {
  for (EndHow how : {EndHow::kTerm, EndHow::kKill}) {
    AttemptRef ref = Begin();
    Freeze(ref);
    executor_->End(ref, how, Cause::kStopped);
    EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
    EXPECT_EQ(Run("echo next").output->out.bytes, "next\n");
  }
}

TEST_P(FreezeTest, APauseOfAllIsApart) {
  AttemptRef ref = Begin();
  Freeze(ref);
  executor_->Pause(true);
  executor_->Pause(false);
  EXPECT_FALSE(Until(Duration::Millis(60), [&] { return !IsFrozen(); }));
  executor_->Pause(true);
  executor_->Freeze(ref, false, Instant{1});
  uint64_t a = Size("a");
  if (tree_) RunUntil([&] { return !IsFrozen(); });
  EXPECT_FALSE(Until(Duration::Millis(60), [&] { return Size("a") > a + 1; }));
  executor_->Pause(false);
  AwaitTicks();
  dir_.Write("go", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_P(FreezeTest, AShepherdThatIsKilledMeanwhileLeavesAGoodSlot) {
  AttemptRef ref = Begin();
  Freeze(ref);
  kill(executor_->ShepherdPids().at(0), SIGKILL);
  EXPECT_EQ(Await(ref).end.cause, Cause::kNode);
  dir_.Write("go", "");
  EXPECT_EQ(Run("echo next").output->out.bytes, "next\n");
}

INSTANTIATE_TEST_SUITE_P(By, FreezeTest, testing::Bool(),
                         [](const auto& which) { return which.param ? "Cgroup" : "Signals"; });

}  // namespace
}  // namespace spate::node
