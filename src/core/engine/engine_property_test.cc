// The engine under random news, true and false, against a naive model: see testing_world.h.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/engine/testing_world.h"

namespace spate::engine {
namespace {

class RandomNews : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomNews, FollowsTheModelAndEnds) {
  rc::detail::TestParams params;
  params.seed = GetParam();
  params.maxSuccess = 60;
  params.maxSize = 150;
  auto result = rc::detail::checkTestable(
      [] {
        auto ops = *rc::gen::container<std::vector<Op>>(AnyOp());
        RandomWorld world;
        for (const Op& op : ops) world.Run(op);
        world.Finish();
      },
      rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << "seed " << GetParam() << ": " << text.str();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNews, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace spate::engine
