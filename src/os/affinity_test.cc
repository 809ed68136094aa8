#include "os/affinity.h"

#include <gtest/gtest.h>

namespace spate::os {
namespace {

TEST(CpuMask, NumbersComeBack) {
  EXPECT_EQ(CpuMask::Of({0}).Cpus(), std::vector<int>{0});
  EXPECT_EQ(CpuMask::Of({63}).Cpus(), std::vector<int>{63});
  EXPECT_EQ(CpuMask::Of({1500}).Cpus(), std::vector<int>{1500});
  EXPECT_EQ(CpuMask::Of({70, 0, 3}).Cpus(), (std::vector<int>{0, 3, 70}));
  EXPECT_TRUE(CpuMask().Cpus().empty());
}

TEST(Affinity, OneProcessorAndBack) {
  CpuMask all = AllowedCpus();
  ASSERT_FALSE(all.Cpus().empty());
  int last = all.Cpus().back();
  ASSERT_TRUE(SetAllowedCpus(CpuMask::Of({last})));
  EXPECT_EQ(AllowedCpus().Cpus(), std::vector<int>{last});
  ASSERT_TRUE(SetAllowedCpus(all));
  EXPECT_EQ(AllowedCpus().Cpus(), all.Cpus());
}

TEST(Affinity, NoneIsRefused) {
  CpuMask all = AllowedCpus();
  EXPECT_FALSE(SetAllowedCpus(CpuMask()));
  EXPECT_EQ(AllowedCpus(), all);
}

}  // namespace
}  // namespace spate::os
