#include "store/group_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>
#include <numeric>
#include <thread>

#include "os/real_loop.h"

namespace spate::store {
namespace {

class GroupWriterTest : public testing::Test {
 protected:
  using Writer = GroupWriter<int>;

  void SetUp() override { loop_ = std::move(*os::RealLoop::Create()); }
  // The write waits for `gate_` first, and fails from the item `full_` on.
  Writer::Write Write() {
    return [this](std::span<int> items) -> Status {
      gate_.wait();
      groups_.emplace_back(items.begin(), items.end());
      if (std::ranges::find(items, full_) != items.end())
        return Fail(ErrorKind::kExhausted, "full");
      return {};
    };
  }
  void Add(Writer& writer, int item, uint64_t bytes = 1) {
    ++waiting_;
    writer.Add(item, bytes, false, [this](Status status, int ended) {
      --waiting_;
      told_.push_back(std::to_string(ended) + (status ? "" : ": " + status.error().message));
      if (waiting_ == 0) loop_->Stop();
    });
  }

  std::unique_ptr<os::RealLoop> loop_;
  std::latch gate_{1};
  std::vector<std::vector<int>> groups_;
  int full_ = -1;
  int waiting_ = 0;
  std::vector<std::string> told_;
};

TEST_F(GroupWriterTest, WhatCameDuringAWriteIsOneGroup) {
  Writer writer(*loop_, Write(), {});
  for (int i = 1; i <= 4; ++i) Add(writer, i);
  EXPECT_EQ(writer.backlog(), 4u);
  gate_.count_down();
  loop_->Run();
  EXPECT_EQ(told_, (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_LE(groups_.size(), 2u);  // the first write may begin with the first item alone
  EXPECT_EQ(writer.backlog(), 0u);
}

TEST_F(GroupWriterTest, NothingToWriteIsDoneInItsTurn) {
  Writer writer(*loop_, Write(), {});
  Add(writer, 1, 0);
  loop_->Run();
  EXPECT_EQ(told_, std::vector<std::string>{"1"});
  EXPECT_TRUE(groups_.empty());
  told_.clear();
  Add(writer, 2);
  Add(writer, 3, 0);
  gate_.count_down();
  loop_->Run();
  EXPECT_EQ(told_, (std::vector<std::string>{"2", "3"}));
}

TEST_F(GroupWriterTest, AFailureEndsIt) {
  full_ = 2;
  gate_.count_down();
  Writer writer(*loop_, Write(), {});
  Add(writer, 1);
  loop_->Run();
  Add(writer, 2);
  while (writer.backlog() > 0) std::this_thread::yield();
  Add(writer, 3);  // the loop has not heard yet
  Add(writer, 4, 0);
  loop_->Run();
  Add(writer, 5, 0);
  Add(writer, 6);
  loop_->Run();
  EXPECT_EQ(told_,
            (std::vector<std::string>{"1", "2: full", "3: full", "4: full", "5: full", "6: full"}));
  EXPECT_EQ(groups_, (std::vector<std::vector<int>>{{1}, {2}}));
}

TEST_F(GroupWriterTest, TheDestructorWritesAllAndCallsNobody) {
  gate_.count_down();
  {
    Writer writer(*loop_, Write(), {.gap = Duration::Seconds(3600)});
    for (int i = 1; i <= 100; ++i) Add(writer, i);
  }
  EXPECT_EQ(std::accumulate(groups_.begin(), groups_.end(), size_t{0},
                            [](size_t sum, const auto& group) { return sum + group.size(); }),
            100u);
  loop_->Post([this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_TRUE(told_.empty());
}

TEST_F(GroupWriterTest, ADestructorThatDoesNotFinishLeavesAWriteThatHangs) {
  auto begun = std::make_shared<std::promise<void>>();
  auto hang = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<int>>();
  {
    Writer writer(*loop_,
                  [begun, hang, ended](std::span<int> items) -> Status {
                    begun->set_value();
                    hang->get_future().wait();
                    ended->set_value(items.front());
                    return {};
                  },
                  {.finishes = false});
    Add(writer, 1);
    begun->get_future().wait();
    Add(writer, 2);
  }
  loop_.reset();  // nothing is posted to it any more
  hang->set_value();
  EXPECT_EQ(ended->get_future().get(), 1);
  while (begun.use_count() > 1) std::this_thread::yield();  // the thread has ended
}

}  // namespace
}  // namespace spate::store
