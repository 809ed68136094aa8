#include "hub/pools/pool_change.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::hub {
namespace {

using Words = std::vector<std::string>;

PoolPolicy PoolWith(const std::string& system, Words options) {
  PoolPolicy pool;
  pool.name = "p";
  pool.time_limit = Duration::Seconds(60);
  pool.settings.system = system;
  pool.settings.options = std::move(options);
  return pool;
}

PoolChange TimeLimit(Duration limit) { return PoolChange().With<&PoolPolicy::time_limit>(limit); }

TEST(PoolChange, ATimeLimitThatTheOwnOptionsContradictIsRefused) {
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
    PoolPolicy pool = PoolWith(each.system, each.options);
    auto changed = Change(pool, TimeLimit(Duration::Seconds(1800)));
    ASSERT_FALSE(changed) << each.said;
    EXPECT_EQ(changed.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(changed.error().message,
              "--time-limit is 30m00s, but '" + each.said +
                  "' among the pool's own options is 1m00s, and the batch system obeys that one");
    pool = PoolWith(each.system, each.options);
    EXPECT_TRUE(Change(pool, TimeLimit(Duration::Seconds(60)))) << each.said;
    EXPECT_TRUE(Change(pool, PoolChange().With<&PoolPolicy::max_pilots>(7u)))
        << "another change of a pool";
    EXPECT_EQ(pool.max_pilots, 7u);
    // Together with other options of its own.
    EXPECT_TRUE(Change(pool, PoolChange()
                                 .With<&PoolPolicy::time_limit>(Duration::Seconds(1800))
                                 .With<&PoolPolicy::settings, &PoolSettings::options>(Words{})));
    EXPECT_TRUE(Change(pool, TimeLimit(Duration::Seconds(900))));
    EXPECT_EQ(pool.time_limit, Duration::Seconds(900));
  }
}

TEST(PoolChange, ALimitThatCannotBeToldContradictsNothing) {
  for (const char* system : {"slurm", "htcondor"}) {
    PoolPolicy pool = PoolWith(system, {"-t", system == std::string("slurm") ? "UNLIMITED" : "1"});
    EXPECT_TRUE(Change(pool, TimeLimit(Duration::Seconds(1800)))) << system;
  }
}

// The hub says whose a pool is, and what tasks find by its labels.
TEST(PoolChange, NameSystemAndAccountStay) {
  const PoolPolicy before = PoolWith("slurm", {});
  for (const PoolChange& change :
       {PoolChange().With<&PoolPolicy::name>(std::string("q")),
        PoolChange().With<&PoolPolicy::settings, &PoolSettings::system>(std::string("pbs")),
        PoolChange().With<&PoolPolicy::settings>(PoolSettings{.system = "slurm"}),
        PoolChange().With<&PoolPolicy::settings, &PoolSettings::account>(std::string("root"))}) {
    PoolPolicy pool = before;
    EXPECT_EQ(Change(pool, change).error().message,
              "name, system and account of a pool cannot be changed");
    EXPECT_EQ(pool, before);
  }
}

TEST(PoolChange, ARefusedOneChangesNothing) {
  const PoolPolicy before = PoolWith("slurm", {});
  for (const PoolChange& refused :
       {PoolChange().With<&PoolPolicy::max_pilots>(0u),
        PoolChange().With<&PoolPolicy::settings, &PoolSettings::folder>(std::string("here")),
        PoolChange().With<&PoolPolicy::settings, &PoolSettings::group>(std::string("1"))}) {
    PoolChange change = refused;
    change.Set(change.values.spread, true);
    PoolPolicy pool = before;
    EXPECT_FALSE(Change(pool, change));
    EXPECT_EQ(pool, before);
  }
}

}  // namespace
}  // namespace spate::hub
