#include "core/provision/durable.h"

#include <gtest/gtest.h>

namespace spate::provision {
namespace {

PoolPolicy APolicy() {
  PoolPolicy policy;
  policy.name = "p";
  policy.time_limit = Duration::Seconds(3600);
  return policy;
}

Durable After(const std::vector<Record>& records) {
  Durable durable;
  for (const Record& record : records) {
    EXPECT_TRUE(durable.Admits(record));
    durable.Apply(record);
  }
  durable.CheckInvariants();
  return durable;
}

// A journal that is damaged gives no record that Apply would abort on.
TEST(Durable, AdmitsWhatFollows) {
  Durable durable;
  PoolChanged added{PoolId(1), {.name = "p"}};
  PilotIntended intended{PoolId(1), PilotId(1), Instant{5}};
  EXPECT_FALSE(durable.Admits(intended));
  EXPECT_FALSE(durable.Admits(PoolPaused{PoolId(1)}));
  EXPECT_FALSE(durable.Admits(PoolChanged{PoolId(1), {}}));
  EXPECT_TRUE(durable.Admits(added));
  durable.Apply(added);
  EXPECT_FALSE(durable.Admits(PilotJoined{PilotId(1)}));
  durable.Apply(intended);
  EXPECT_FALSE(durable.Admits(intended));
  EXPECT_TRUE(durable.Admits(PilotSubmitted{PilotId(1), "7"}));
  EXPECT_FALSE(durable.Admits(PoolForgotten{PoolId(1)}));
  durable.Apply(PilotEnded{PilotId(1)});
  EXPECT_FALSE(durable.Admits(PilotEnded{PilotId(1)}));
  EXPECT_FALSE(durable.Admits(intended));  // numbers are never used again
  durable.Apply(PoolClosed{PoolId(1)});
  EXPECT_FALSE(durable.Admits(added));
  durable.Apply(PoolForgotten{PoolId(1)});
  EXPECT_FALSE(durable.Admits(added));
}

// Less than was asked for is believed when several pilots in a row had it, and then the most of it.
TEST(Pool, LearnsLivesSlowly) {
  Pool pool;
  pool.policy.time_limit = Duration::Seconds(3600);
  for (int64_t seconds : {5, 1800, 1700}) {
    pool.lives.push_back(Duration::Seconds(seconds));
    EXPECT_EQ(pool.Life(), Duration::Seconds(3600));
  }
  pool.lives.push_back(Duration::Seconds(1750));
  EXPECT_EQ(pool.Life(), Duration::Seconds(1800));
}

TEST(Pool, WaitIsTheMedianInRoundTimes) {
  Pool pool;
  EXPECT_EQ(pool.Wait(), Duration::Seconds(120));
  pool.waits = {Duration::Millis(200)};
  EXPECT_EQ(pool.Wait(), Duration::Millis(3750));
  pool.waits = {Duration::Seconds(5)};
  EXPECT_EQ(pool.Wait(), Duration::Millis(7500));
  pool.waits = {Duration::Seconds(31)};
  EXPECT_EQ(pool.Wait(), Duration::Seconds(60));
  pool.waits = {Duration::Seconds(5), Duration::Seconds(200), Duration::Seconds(90'000)};
  EXPECT_EQ(pool.Wait(), Duration::Seconds(240));
}

// The clock of the next life may be behind, and that of a node is its own.
TEST(Durable, TimesAreNeverBelowZero) {
  Durable durable =
      After({PoolChanged{PoolId(1), APolicy()}, PilotIntended{PoolId(1), PilotId(1), Instant{200}},
             PilotJoined{PilotId(1), Instant{100}, Instant{50}}});
  const Pool& pool = *durable.FindPool(PoolId(1));
  EXPECT_EQ(pool.waits, std::vector<Duration>{Duration()});
  EXPECT_EQ(pool.lives, std::vector<Duration>{Duration()});
}

TEST(Durable, PoolsThatAreGoneLeaveTheirNumbers) {
  Durable durable =
      After({PoolChanged{PoolId(3), APolicy()}, PilotIntended{PoolId(3), PilotId(8), Instant{200}},
             PilotEnded{.pilot = PilotId(8)}, PoolClosed{PoolId(3)}, PoolForgotten{PoolId(3)}});
  std::vector<Record> images = durable.Images();
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(std::get<NumbersKept>(images[0]), (NumbersKept{PoolId(3), PilotId(8)}));
  EXPECT_EQ(After(images).Digest(), durable.Digest());
}

TEST(Durable, ADamagedImageIsNotAdmitted) {
  Durable durable =
      After({PoolChanged{PoolId(2), APolicy()}, PilotIntended{PoolId(2), PilotId(5), Instant{200}},
             PoolChanged{PoolId(4), APolicy()}});
  EXPECT_FALSE(durable.Admits(NumbersKept{PoolId(3), PilotId(5)})) << "used numbers come again";
  EXPECT_FALSE(durable.Admits(NumbersKept{PoolId(4), PilotId(4)}));
  EXPECT_TRUE(durable.Admits(NumbersKept{PoolId(1000), PilotId(1000)}));
  EXPECT_FALSE(durable.Admits(PoolKept{PoolId(2), APolicy()})) << "it is there";
  EXPECT_FALSE(durable.Admits(PoolKept{PoolId(5), APolicy()})) << "above all numbers";
  EXPECT_FALSE(durable.Admits(PoolKept{PoolId(0), APolicy()}));
  EXPECT_FALSE(durable.Admits(PoolKept{PoolId(3), PoolPolicy()})) << "no name";
  EXPECT_TRUE(durable.Admits(PoolKept{PoolId(3), APolicy()}));
  EXPECT_FALSE(durable.Admits(PilotKept{PilotId(5), PoolId(2)})) << "it is there";
  EXPECT_FALSE(durable.Admits(PilotKept{PilotId(6), PoolId(2)})) << "above all numbers";
  EXPECT_FALSE(durable.Admits(PilotKept{PilotId(4), PoolId(3)})) << "no such pool";
  EXPECT_TRUE(durable.Admits(PilotKept{PilotId(4), PoolId(2)}));
  PoolKept many{PoolId(3), APolicy()};
  many.waits.resize(6);
  EXPECT_FALSE(durable.Admits(many));
  many.waits.clear();
  many.bad.resize(16);
  EXPECT_TRUE(durable.Admits(many));
  many.bad.resize(17);
  EXPECT_FALSE(durable.Admits(many));
}

// Pilot `id`, requested and failed on a host at these times, in seconds.
std::vector<Record> Failed(uint32_t id, int64_t requested, int64_t failed, std::string host) {
  const PilotId pilot(id);
  return {
      PilotIntended{PoolId(1), pilot, Instant{} + Duration::Seconds(requested)},
      PilotEnded{pilot, End::kEnded, "no", Instant{} + Duration::Seconds(failed), std::move(host)}};
}

TEST(Durable, BadHostsAreKeptUpToABound) {
  std::vector<Record> records = {PoolChanged{PoolId(1), APolicy()}};
  for (uint32_t i = 1; i <= 18; ++i) {
    for (Record& each : Failed(i, i, i, "n" + std::to_string(i))) records.push_back(each);
  }
  Durable durable = After(records);
  const Instant now = Instant{} + Duration::Seconds(18);
  const std::vector<std::string> hosts = durable.FindPool(PoolId(1))->Avoided(now);
  ASSERT_EQ(hosts.size(), 16u);
  EXPECT_EQ(hosts.front(), "n3");
  EXPECT_EQ(hosts.back(), "n18");
  EXPECT_EQ(durable.FindPool(PoolId(1))->unjoined, 18u);
  EXPECT_TRUE(durable.FindPool(PoolId(1))->Avoided(Instant{}).empty()) << "before they failed";
  Durable kept = After(durable.Images());
  EXPECT_EQ(kept.Digest(), durable.Digest());
  EXPECT_EQ(kept.FindPool(PoolId(1))->Avoided(now), hosts);
  durable.Apply(PoolResumed{PoolId(1)});
  EXPECT_EQ(durable.FindPool(PoolId(1))->Avoided(now), hosts);
  durable.Apply(PoolChanged{PoolId(1), APolicy()});
  EXPECT_TRUE(durable.FindPool(PoolId(1))->Avoided(now).empty());
}

// Failures on one host that count toward a pause.
TEST(Durable, OneBadHostIsNoReasonToPause) {
  struct {
    const char* what;
    int64_t requested, failed;
    uint32_t unjoined;
  } const kCases[] = {
      {"the first failure there", 0, 10, 1},           {"it was requested before", 5, 20, 1},
      {"it avoided the host, and got it", 10, 30, 2},  {"the hour was over", 3610, 3620, 2},
      {"it was requested before that", 3615, 3630, 2}, {"it avoided the host again", 3620, 3640, 3},
  };
  std::vector<Record> records = {PoolChanged{PoolId(1), APolicy()}};
  uint32_t pilot = 0;
  for (const auto& each : kCases) {
    for (Record& record : Failed(++pilot, each.requested, each.failed, "n1")) {
      records.push_back(record);
    }
    EXPECT_EQ(After(records).FindPool(PoolId(1))->unjoined, each.unjoined) << each.what;
  }
  // Without a host's name each counts.
  for (Record& record : Failed(++pilot, 3620, 3650, "")) records.push_back(record);
  EXPECT_EQ(After(records).FindPool(PoolId(1))->unjoined, 4u);
}

}  // namespace
}  // namespace spate::provision
