#include "core/provision/pool.h"

#include <gtest/gtest.h>

namespace spate::provision {
namespace {

TEST(Tag, IsFoundAgain) {
  for (uint32_t number : {1u, 35u, 36u, 1000u, 4'000'000'000u, UINT32_MAX}) {
    std::string tag = TagOf("a1b2c3", PilotId(number));
    EXPECT_LE(tag.size(), 15u) << tag;
    EXPECT_EQ(PilotOfTag("a1b2c3", tag), PilotId(number)) << tag;
    EXPECT_EQ(PilotOfTag("a1b2c4", tag), std::nullopt) << tag;
  }
}

TEST(Tag, OthersAreNotOurs) {
  for (const char* tag : {"", "s", "sa1b2c3", "sa1b2c3-", "sa1b2c3-0", "sa1b2c3-01", "sa1b2c3-A",
                          "sa1b2c3-1 ", "sa1b2c3-zzzzzzz", "sa1b2c3-zzzzzzzz", "ta1b2c3-1"}) {
    EXPECT_EQ(PilotOfTag("a1b2c3", tag), std::nullopt) << tag;
  }
}

TEST(Policy, WrongOnesAreTold) {
  struct {
    const char* what;
    void (*change)(PoolPolicy&);
  } const kCases[] = {
      {"a pool needs a name", [](PoolPolicy& p) { p.name.clear(); }},
      {"pool p: --max-pilots is from 1 to 10000", [](PoolPolicy& p) { p.max_pilots = 0; }},
      {"pool p: --max-pilots is from 1 to 10000", [](PoolPolicy& p) { p.max_pilots = 10'001; }},
      {"pool p: --min-pilots is above --max-pilots", [](PoolPolicy& p) { p.min_pilots = 11; }},
      {"pool p: --backlog is at least 1, or no pilot could ever queue",
       [](PoolPolicy& p) { p.backlog = 0; }},
      {"pool p: --nodes-per-pilot is at least 1", [](PoolPolicy& p) { p.nodes_per_pilot = 0; }},
      {"pool p: times are not below zero", [](PoolPolicy& p) { p.idle_exit = {-1}; }},
      {"pool p: times are not below zero", [](PoolPolicy& p) { p.watch.silent = {-1}; }},
      {"pool p: --chain needs --time-limit, which determines when a successor is queued",
       [](PoolPolicy& p) { p.chain = true; }},
  };
  PoolPolicy good{.name = "p"};
  EXPECT_TRUE(Check(good));
  for (const auto& each : kCases) {
    PoolPolicy policy = good;
    each.change(policy);
    auto status = Check(policy);
    ASSERT_FALSE(status) << each.what;
    EXPECT_EQ(status.error().message, each.what);
  }
}

}  // namespace
}  // namespace spate::provision
