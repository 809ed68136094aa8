#include "submit/hub_wait.h"

#include <gtest/gtest.h>

namespace spate::submit {
namespace {

std::string KeyWith(Why why) {
  return KeyOfWait({.job = JobId(1), .nodes = 1, .why = std::move(why)});
}

TEST(KeyOfWait, IsWithoutTimesAndCounts) {
  auto next_try = [](int64_t seconds) {
    return KeyWith({{ReasonKind::kNextTry, {}, {Duration::Seconds(seconds)}, {}}});
  };
  EXPECT_EQ(next_try(10), next_try(9));
  auto share = [](int64_t others) {
    return KeyWith({{ReasonKind::kFairShare, {others, 1}, {}, {}}});
  };
  EXPECT_EQ(share(3), share(4));
  EXPECT_NE(next_try(10), share(3));
}

TEST(KeyOfWait, ChangesWithItsSubject) {
  auto after = [](int64_t job) { return KeyWith({{ReasonKind::kAfterJob, {job, 0}, {}, {}}}); };
  EXPECT_NE(after(1), after(2));
  auto lacks = [](std::string label) {
    return KeyWith({{ReasonKind::kLacksLabel, {}, {}, {std::move(label), "n1"}}});
  };
  EXPECT_NE(lacks("big"), lacks("small"));
  auto pool = [](std::string name, std::string state) {
    return KeyWith({{ReasonKind::kPoolState, {1, 0}, {}, {std::move(name), std::move(state)}}});
  };
  EXPECT_EQ(pool("p", "5s"), pool("p", "6s"));
  EXPECT_NE(pool("p", "5s"), pool("q", "5s"));
  wire::JobNews held{.job = JobId(1), .held = 1, .nodes = 1};
  EXPECT_NE(KeyOfWait(held), KeyWith({}));
}

}  // namespace
}  // namespace spate::submit
