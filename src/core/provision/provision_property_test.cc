// The provisioner in random worlds: see testing_batch.h.
#include <gtest/gtest.h>

#include "core/provision/testing_batch.h"

namespace spate::provision {
namespace {

class RandomWorlds : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomWorlds, KeepTheBoundsAndEnd) {
  constexpr uint64_t kWorlds = 50;
  uint64_t submits = 0;
  uint64_t kills = 0;
  uint64_t cuts = 0;
  for (uint64_t i = 0; i < kWorlds; ++i) {
    uint64_t seed = GetParam() * kWorlds + i;
    SCOPED_TRACE(seed);
    World world({.seed = seed, .calm = i % 10 == 0});
    for (int act = 0; act < 100 && !HasFailure(); ++act) world.Act();
    if (!HasFailure()) world.Finish();
    if (HasFailure()) return;
    submits += world.submits();
    kills += world.kills();
    cuts += world.cuts();
  }
  // Worlds in which nothing happens prove nothing.
  EXPECT_GT(submits, 100u);
  EXPECT_GT(kills, 20u);
  EXPECT_GT(cuts, 20u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorlds, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace spate::provision
