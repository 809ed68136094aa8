#include "core/provision/pool.h"

#include <gtest/gtest.h>

namespace spate::provision {
namespace {

TEST(Tag, IsFoundAgain) {
  const std::string longest(200, 'p');
  for (std::string pool : {std::string("lab"), std::string("a-b.c"), longest}) {
    for (uint32_t number : {1u, 35u, 1000u, 4'000'000'000u, UINT32_MAX}) {
      std::string tag = TagOf("a1b2c3", pool, PilotId(number));
      EXPECT_LE(tag.size(), 60u) << tag;
      EXPECT_TRUE(tag.starts_with(TagPrefix("a1b2c3", pool))) << tag;
      EXPECT_EQ(PilotOfTag("a1b2c3", tag), PilotId(number)) << tag;
      EXPECT_EQ(PilotOfTag("a1b2c4", tag), std::nullopt) << tag;
    }
  }
  EXPECT_EQ(TagOf("a1b2c3", "lab", PilotId(12)), "spate-lab-a1b2c3-12");
  EXPECT_EQ(TagOf("a1b2c3", "a-b.c", PilotId(1)), "spate-a_b_c-a1b2c3-1");
}

TEST(Tag, OthersAreNotOurs) {
  for (const char* tag : {"", "spate", "spate-lab", "spate-lab-a1b2c3", "spate-lab-a1b2c3-",
                          "spate-lab-a1b2c3-0", "spate-lab-a1b2c3-01", "spate-lab-a1b2c3-a",
                          "spate-lab-a1b2c3-1 ", "spate-lab-a1b2c3-99999999999",
                          "spate-lab-a1b2c3-4294967296", "xspate-lab-a1b2c3-1", "a1b2c3-1"}) {
    EXPECT_EQ(PilotOfTag("a1b2c3", tag), std::nullopt) << tag;
  }
}

TEST(PilotNumber, IsInTheNamesOfItsNodes) {
  EXPECT_EQ(PilotNumberIn("short.3"), PilotId(3));
  EXPECT_EQ(PilotNumberIn("short.4294967295.host.org"), PilotId(UINT32_MAX));
  EXPECT_EQ(PilotNumberIn("short.22."), PilotId(22));
  for (const char* name : {"", ".", ".1", "short", "short.", "short..1", "short.1a", "short.-1",
                           "short.4294967296", "a.b.22", "1.2", "10.0.0.1"}) {
    EXPECT_EQ(PilotNumberIn(name), std::nullopt) << name;
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
  EXPECT_TRUE(good.CheckSound());
  for (const auto& each : kCases) {
    PoolPolicy policy = good;
    each.change(policy);
    auto status = policy.CheckSound();
    ASSERT_FALSE(status) << each.what;
    EXPECT_EQ(status.error().message, each.what);
  }
}

}  // namespace
}  // namespace spate::provision
