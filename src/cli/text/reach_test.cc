#include "cli/text/reach.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

TEST(Reach, CommandsMeanTheHub) {
  EXPECT_EQ(Reaching("see: spate job list", " --access a"), "see: spate job list --access a");
  EXPECT_EQ(Reaching("spate job cancel 3; spate job release 3", " --hub --state 's t'"),
            "spate job cancel --hub --state 's t' 3; spate job release --hub --state 's t' 3");
  EXPECT_EQ(Reaching("spate node list, spate hub access list\nspate hub start", " -x"),
            "spate node list -x, spate hub access list -x\nspate hub start");
  EXPECT_EQ(Reaching("spate pool info lab; spate job list", " --hub --state s"),
            "spate pool info --state s lab; spate job list --hub --state s");
  EXPECT_EQ(Reaching("see: spate job list", ""), "see: spate job list");
}

}  // namespace
}  // namespace spate::cli
