#include "doors/mw/run/inbox.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::mw {
namespace {

constexpr uint64_t kMost = 100'000;

struct InboxTest : testing::Test {
  os::TempDir dir;
  std::shared_ptr<link::OutputMemory> memory = std::make_shared<link::OutputMemory>(kMost);
  ResultKeeper keeper{memory, dir.path()};
  Inbox inbox;

  void Come(uint64_t number, size_t size = 60'000) {
    std::vector<WaitingResult> all;
    all.push_back(
        keeper.Store({.task = {number}, .algorithm = "make", .bytes = std::string(size, 'x')}));
    Ledger::Effects nothing;
    inbox.Add(std::move(all), nothing);
  }
  Inbox::Slot Claim(uint64_t number) {
    auto slot = std::make_shared<detail::slot>();
    slot->task = {number};
    return inbox.claimed[number] = slot;
  }
};

TEST_F(InboxTest, FuturesCountAsOtherResults) {
  Inbox::Slot slot = Claim(1);
  Come(1);
  EXPECT_TRUE(slot->ready);
  EXPECT_FALSE(inbox.HoldsNow(kMost));
  Come(2);
  EXPECT_TRUE(inbox.HoldsNow(kMost));
  EXPECT_FALSE(inbox.HoldsNow(kMost));  // it does
  Inbox::Slot second = Claim(2);
  ASSERT_TRUE(inbox.FillFromWaiting(second));
  EXPECT_EQ(Whole(second->value).bytes.size(), 60'000u);  // from its file
  EXPECT_TRUE(inbox.Gives(slot->value.cost));
  EXPECT_TRUE(inbox.Gives(second->value.cost));
  EXPECT_EQ(inbox.result_cost, 0u);
}

TEST_F(InboxTest, WhatNobodyWantsCostsNothing) {
  inbox.unwanted = {2};
  Come(1);
  Come(2);
  EXPECT_TRUE(inbox.unwanted.empty());
  EXPECT_EQ(inbox.results.size(), 1u);
  EXPECT_LT(inbox.result_cost, kMost);
  EXPECT_EQ(os::ListDir(dir.path())->size(), 0u);
}

TEST_F(InboxTest, AFutureThatIsGivenUpLeavesItsResult) {
  Come(1);
  const uint64_t cost = inbox.result_cost;
  Inbox::Slot slot = Claim(1);
  ASSERT_TRUE(inbox.FillFromWaiting(slot));
  EXPECT_TRUE(inbox.results.empty());
  inbox.TakeBack(slot);
  ASSERT_EQ(inbox.results.size(), 1u);
  EXPECT_EQ(inbox.results[0].what.bytes.size(), 60'000u);
  EXPECT_EQ(inbox.result_cost, cost);
}

TEST_F(InboxTest, AMasterThatLooksInVainWantsMore) {
  Come(1), Come(2);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(inbox.Looks());  // nothing is held
  ASSERT_TRUE(inbox.HoldsNow(kMost));
  int looks = 1;
  while (!inbox.Looks()) ++looks;
  EXPECT_GT(looks, 3);
  EXPECT_FALSE(inbox.Looks());  // the hub has heard it
  inbox.holds_tasks = false;
  EXPECT_FALSE(inbox.HoldsNow(kMost));
  // Taking one ends that.
  EXPECT_FALSE(inbox.Gives(inbox.results[0].cost));
  Come(3);
  EXPECT_TRUE(inbox.HoldsNow(kMost));
  EXPECT_TRUE(inbox.WantsMore());
  EXPECT_FALSE(inbox.WantsMore());
}

}  // namespace
}  // namespace spate::mw
