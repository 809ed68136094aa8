#include "hub/pools/pool_wish.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::hub {
namespace {

using Words = std::vector<std::string>;

PoolForm FormWith(const std::string& system, Words options) {
  PoolForm form;
  form.policy.name = "p";
  form.policy.time_limit = Duration::Seconds(60);
  form.settings.system = system;
  form.settings.options = std::move(options);
  return form;
}

TEST(PoolWish, ATimeLimitThatTheOwnOptionsContradictIsRefused) {
  struct Case {
    std::string system;
    Words options;
    std::string said;
  };
  const Case kCases[] = {
      {"slurm", {"-p", "short", "-t", "0:01:00"}, "-t 0:01:00"},
      {"slurm", {"--time=1"}, "--time=1"},
      {"gridengine", {"-l", "h_rt=60,h_vmem=1G"}, "-l h_rt=60"},
      {"pbs", {"-l", "select=1:ncpus=4", "-l", "walltime=1:00"}, "-l walltime=1:00"},
  };
  for (const Case& each : kCases) {
    PoolForm form = FormWith(each.system, each.options);
    auto changed = Change(form, {.time_limit = Duration::Seconds(1800)});
    ASSERT_FALSE(changed) << each.said;
    EXPECT_EQ(changed.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(changed.error().message,
              "--time-limit is 30m00s, but '" + each.said +
                  "' among the pool's own options is 1m00s, and the batch system obeys that one");
    form = FormWith(each.system, each.options);
    EXPECT_TRUE(Change(form, {.time_limit = Duration::Seconds(60)})) << each.said;
    EXPECT_TRUE(Change(form, {.max_pilots = 7u})) << "another change of a pool";
    EXPECT_EQ(form.policy.max_pilots, 7u);
    // Together with other options of its own.
    EXPECT_TRUE(Change(form, {.time_limit = Duration::Seconds(1800), .options = Words{}}));
    EXPECT_TRUE(Change(form, {.time_limit = Duration::Seconds(900)}));
    EXPECT_EQ(form.policy.time_limit, Duration::Seconds(900));
  }
}

TEST(PoolWish, ALimitThatCannotBeToldContradictsNothing) {
  for (const char* system : {"slurm", "htcondor"}) {
    PoolForm form = FormWith(system, {"-t", system == std::string("slurm") ? "UNLIMITED" : "1"});
    EXPECT_TRUE(Change(form, {.time_limit = Duration::Seconds(1800)})) << system;
  }
}

}  // namespace
}  // namespace spate::hub
