#include "doors/pmc/run/rescue_store.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class RescueStoreTest : public testing::Test {
 protected:
  void SetUp() override { loop_ = std::move(*os::RealLoop::Create()); }
  RescueStore::Parts Parts() {
    return {.file = std::move(*os::OpenWrite(path_, os::OpenHow::kAppend)),
            .path = path_,
            .row = [](TaskIndex i) { return "row " + std::to_string(i); },
            .name = [](TaskIndex i) { return "t" + std::to_string(i); },
            .deliver = [this](const engine::AttemptEnded& ended, const TaskOutputPtr&) -> Status {
              // A record means that the output exists: it must not be written before the output.
              std::string file = os::ReadFile(path_, SIZE_MAX).value_or("");
              std::string name = "DONE t" + std::to_string(ended.end.ref.index);
              if (file.ends_with(name)) return Fail(ErrorKind::kCorrupt, "too early");
              if (ended.end.ref.index == full_) return Fail(ErrorKind::kExhausted, "full");
              delivered_.push_back(ended.end.ref.index);
              return {};
            }};
  }
  static store::Bundle Ends(std::vector<std::pair<TaskIndex, Verdict>> ends) {
    store::Bundle bundle;
    for (auto [index, verdict] : ends) {
      engine::AttemptEnded ended;
      ended.end.ref = {JobId(1), index, Attempt(1)};
      ended.verdict = verdict;
      bundle.records.emplace_back(std::move(ended));
    }
    return bundle;
  }
  std::string File() const { return os::ReadFile(path_, SIZE_MAX).value_or("nothing"); }
  void Run() {
    loop_->Post([this] { Look(); });
    loop_->Run();
  }
  void Look() {
    if (waiting_ == 0) return loop_->Stop();
    loop_->Post([this] { Look(); });
  }
  void Append(RescueStore& store, store::Bundle bundle, std::string word) {
    ++waiting_;
    store.Append(std::move(bundle), [this, word](Status status) {
      --waiting_;
      told_.push_back(word + (status ? "" : ": " + status.error().message));
    });
  }

  os::TempDir temp_;
  std::string path_ = temp_.Path("d.rescue");
  std::unique_ptr<os::RealLoop> loop_;
  std::vector<TaskIndex> delivered_;
  TaskIndex full_ = 1000;
  int waiting_ = 0;
  std::vector<std::string> told_;
};

TEST_F(RescueStoreTest, SuccessesAreInTheFileOnceTheirOutputIsDelivered) {
  RescueStore store(*loop_, Parts());
  Append(store, {}, "nothing");
  Append(store, Ends({{3, Verdict::kSucceeded}, {1, Verdict::kRetry}}), "first");
  Append(store, Ends({{1, Verdict::kSucceeded}, {2, Verdict::kFailed}}), "second");
  Append(store, {}, "last");
  Run();
  EXPECT_EQ(told_, (std::vector<std::string>{"nothing", "first", "second", "last"}));
  EXPECT_EQ(delivered_, (std::vector<TaskIndex>{3, 1, 1, 2}));
  EXPECT_EQ(File(), "\nDONE t3\nDONE t1");
  EXPECT_EQ(store.Backlog(), 0u);
  EXPECT_EQ(*store.Rows(JobId(1), 4, 2), (std::vector<std::string>{"row 4", "row 5"}));
}

TEST_F(RescueStoreTest, AFailureEndsItAndNothingComesBehindIt) {
  full_ = 2;
  RescueStore store(*loop_, Parts());
  Append(store, Ends({{1, Verdict::kSucceeded}}), "first");
  Run();
  Append(store, Ends({{2, Verdict::kSucceeded}}), "second");
  Append(store, Ends({{3, Verdict::kSucceeded}}), "third");
  Run();
  EXPECT_EQ(told_, (std::vector<std::string>{"first", "second: full", "third: full"}));
  EXPECT_EQ(File(), "\nDONE t1");
}

}  // namespace
}  // namespace spate::pmc
