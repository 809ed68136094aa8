#include "hub/disk_watch.h"

#include <gtest/gtest.h>

namespace spate::hub {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(DiskReserve, IsAPartOfTheDiskWithinBounds) {
  EXPECT_EQ(DiskReserve(100'000 * kMiB), 1024 * kMiB);
  EXPECT_EQ(DiskReserve(10'000 * kMiB), 200 * kMiB);
  EXPECT_EQ(DiskReserve(1'000 * kMiB), 64 * kMiB);
  EXPECT_EQ(DiskReserve(80 * kMiB), 10 * kMiB);
}

TEST(StateOfDisk, FirstOutputThenSubmissions) {
  using enum DiskState;
  auto state = [](uint64_t free, DiskState before) {
    return StateOfDisk({.free = free * kMiB, .total = 10'000 * kMiB}, before);
  };
  EXPECT_EQ(state(200, kRoom), kRoom);
  EXPECT_EQ(state(199, kRoom), kLow);
  EXPECT_EQ(state(100, kRoom), kLow);
  EXPECT_EQ(state(99, kLow), kFull);
  EXPECT_EQ(state(100, kFull), kLow);
  EXPECT_EQ(state(224, kLow), kLow) << "it does not go to and fro";
  EXPECT_EQ(state(225, kLow), kRoom);
}

}  // namespace
}  // namespace spate::hub
