// A hub's records of its pools: order, images, the log that people query, and damage.
#include "store/sqlite/pool_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "core/provision/durable.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/testing_pools.h"

namespace spate::store {
namespace {

using provision::PilotId, provision::PoolId, provision::Record;

struct Fixture {
  HubWorld world;
  PoolLife life;

  // The next records of the life, durable.
  void Live(size_t count) {
    std::vector<Record> records = life.Next(count);
    EXPECT_TRUE(Await(world.loop(), [&](auto done) {
      world.store().AppendPoolRecords(std::move(records), life.now(), done);
    }));
  }
  void Cut(Instant keep_since = {0}) {
    EXPECT_TRUE(Await(world.loop(), [&](auto done) {
      world.store().CutPools(life.durable().Images(), keep_since, done);
    }));
  }
  void Run(const std::string& sql) {
    world.Close();
    auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
    ASSERT_TRUE(db);
    auto run = db->Run(sql.c_str());
    ASSERT_TRUE(run) << sql << ": " << MessageOf(run.error());
  }
  int64_t Ask(const std::string& sql) {
    auto db = OpenJournalToRead(world.path() + "/hub.db");
    auto answer = db->QueryInt(sql);
    EXPECT_TRUE(answer) << MessageOf(answer.error());
    return answer.value_or(-1);
  }
};

TEST(PoolLog, ComesBackFromImagesAndRecords) {
  Fixture f;
  Prng prng(5);
  ASSERT_TRUE(f.world.store().ReplayPools([](const Record&) { FAIL() << "of nothing"; }));
  for (int round = 0; round < 40; ++round) {
    f.Live(1 + prng.Below(30));
    if (prng.Chance(30)) f.Cut(prng.Chance(50) ? f.life.now() : Instant{0});
    if (prng.Chance(20)) f.Cut();
    f.world.Reopen();
    auto [durable, records] = Replayed(f.world);
    EXPECT_EQ(durable.Digest(), f.life.durable().Digest());
  }
  f.Cut();
  f.world.Reopen();
  EXPECT_EQ(Replayed(f.world).second, f.life.durable().Images().size());
}

// A pilot's node needs its pilot, and a lease the node: one order for all.
TEST(PoolLog, StandsInTheOrderOfAllElse) {
  Fixture f;
  JobId job = f.world.Submit(20);
  std::vector<int> done;
  auto note = [&](int n) { return [&done, n](Status status) { done.push_back(status ? n : -1); }; };
  for (int n = 0; n < 30; n += 3) {
    f.world.store().AppendPoolRecords(f.life.Next(2), f.life.now(), note(n));
    f.world.store().PutNode({NodeId(1), "n", "i", "ada", Instant{1000}}, note(n + 1));
    f.world.store().Append(HubWorld::Ends(job, static_cast<TaskIndex>(n) / 3, 1), note(n + 2));
  }
  f.world.store().CutPools(f.life.durable().Images(), {0}, note(30));
  ASSERT_TRUE(f.world.Record(engine::UserChanged{"ada", {}}));
  ASSERT_EQ(done.size(), 31u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(PoolLog, OfOnePoolIsTheNewestRowsOfAll) {
  Fixture f;
  f.Live(300);
  f.Cut();
  f.Live(300);
  for (uint32_t pool = 1; pool <= PoolLife::kPools; ++pool) {
    std::vector<PoolLogRow> expected = f.life.LogOf(PoolId(pool));
    ASSERT_GT(expected.size(), 50u);
    for (size_t most : {size_t{0}, size_t{1}, size_t{37}, size_t{10'000}}) {
      auto rows = f.world.store().ReadPoolLog(PoolId(pool), most);
      ASSERT_TRUE(rows) << MessageOf(rows.error());
      ASSERT_EQ(rows->size(), std::min(most, expected.size()));
      size_t skipped = expected.size() - rows->size();
      for (size_t i = 0; i < rows->size(); ++i) {
        EXPECT_EQ(rows->at(i).at, expected[skipped + i].at);
        EXPECT_EQ(BytesOf(rows->at(i).record), BytesOf(expected[skipped + i].record));
      }
    }
  }
  EXPECT_TRUE(f.world.store().ReadPoolLog(PoolId(99), 10)->empty());
}

TEST(PoolLog, IsFoundByIndexes) {
  Fixture f;
  auto db = OpenJournalToRead(f.world.path() + "/hub.db");
  auto plan_of = [&](std::string_view sql) {
    auto explain = db->Prepare(fmt::format("EXPLAIN QUERY PLAN {}", sql));
    std::string plan;
    while (*explain->Step()) plan += explain->Text(3) + '\n';
    return plan;
  };
  std::string log =
      plan_of("SELECT data FROM pool_log WHERE pool = ? AND image = 0 ORDER BY seq DESC");
  EXPECT_NE(log.find("pool_log_of_pool"), std::string::npos) << log;
  EXPECT_EQ(log.find("TEMP B-TREE"), std::string::npos) << log;
  std::string old =
      plan_of("SELECT seq FROM pool_log WHERE at_us < ? AND seq < ? ORDER BY at_us LIMIT 9");
  EXPECT_NE(old.find("pool_log_at"), std::string::npos) << old;
  EXPECT_EQ(old.find("TEMP B-TREE"), std::string::npos) << old;
}

TEST(PoolLog, NothingOlderIsLeft) {
  Fixture f;
  f.Live(400);
  f.Cut();
  Instant then = f.life.now();
  f.Live(400);
  f.Cut(then);
  EXPECT_EQ(f.Ask(fmt::format("SELECT COUNT(*) FROM pool_log WHERE image = 0 AND at_us < {}",
                              then.ns / 1000)),
            0);
  EXPECT_EQ(f.Ask("SELECT COUNT(DISTINCT image) FROM pool_log WHERE image > 0"), 1);
  EXPECT_GT(f.Ask("SELECT COUNT(*) FROM pool_log WHERE image = 0"), 300);
  f.Cut(f.life.now() + Duration::Seconds(1));
  EXPECT_EQ(f.Ask("SELECT COUNT(*) FROM pool_log"),
            static_cast<int64_t>(f.life.durable().Images().size()));
}

// Changing a pool, or adding and removing pools, all day does not fill the disk.
TEST(PoolLog, NothingIsLeftThatNobodyWouldRead) {
  Fixture f;
  auto write = [&](std::vector<Record> records) {
    EXPECT_TRUE(Await(f.world.loop(), [&](auto done) {
      f.world.store().AppendPoolRecords(std::move(records), Instant{5'000'000}, done);
    }));
  };
  auto cut = [&](std::vector<Record> images) {
    EXPECT_TRUE(Await(f.world.loop(), [&](auto done) {
      f.world.store().CutPools(std::move(images), Instant{0}, done);
    }));
  };
  std::vector<Record> records = {provision::PoolChanged{PoolId(1), {.name = "stays"}}};
  for (size_t i = 0; i < PoolRows::kRowsOfPool; ++i) {
    records.emplace_back(provision::PoolPaused{PoolId(1), "a wish", Instant{5'000'000}});
    records.emplace_back(provision::PoolResumed{PoolId(1)});
  }
  for (uint32_t pool = 2; pool < 500; ++pool) {
    records.emplace_back(provision::PoolChanged{PoolId(pool), {.name = "brief"}});
    records.emplace_back(provision::PoolClosed{PoolId(pool)});
    records.emplace_back(provision::PoolForgotten{PoolId(pool)});
  }
  write(std::move(records));
  const std::vector<Record> images = {provision::NumbersKept{PoolId(499), PilotId(0)},
                                      provision::PoolKept{.pool = PoolId(1), .policy = {}}};
  cut(images);
  EXPECT_EQ(f.Ask("SELECT COUNT(*) FROM pool_log WHERE image = 0"),
            static_cast<int64_t>(PoolRows::kRowsOfPool));
  auto rows = f.world.store().ReadPoolLog(PoolId(1), 5000);
  ASSERT_EQ(rows->size(), PoolRows::kRowsOfPool);
  EXPECT_TRUE(std::holds_alternative<provision::PoolResumed>(rows->back().record));
  cut(images);
  EXPECT_EQ(f.world.store().ReadPoolLog(PoolId(1), 5000)->size(), PoolRows::kRowsOfPool);
}

struct Damage {
  const char* name;
  const char* sql;
  const char* told;
};
const Damage kDamage[] = {
    {"a value",
     "UPDATE pool_log SET data = x'0108' WHERE seq = (SELECT MAX(seq) - 3 FROM pool_log)",
     "checksum"},
    {"of an image",
     "UPDATE pool_log SET pool = 7 WHERE seq = (SELECT MAX(image) + 1 FROM pool_log)", "checksum"},
    {"a number", "UPDATE pool_log SET seq = seq + 100 WHERE seq = (SELECT MAX(seq) FROM pool_log)",
     "checksum"},
    {"the newest is gone", "DELETE FROM pool_log WHERE seq = (SELECT MAX(seq) FROM pool_log)",
     "missing"},
    {"one is gone", "DELETE FROM pool_log WHERE seq = (SELECT MAX(seq) - 2 FROM pool_log)",
     "missing"},
    {"all are gone", "DELETE FROM pool_log", "missing"},
    {"the image is no image",
     "UPDATE pool_log SET image = 0, checksum = "
     "spate_sum('pool_log', seq, pool, at_us, 0, kind, data) WHERE image > 0",
     "row 1 "},
    {"what was not",
     "UPDATE pool_log SET kind = 2, checksum = "
     "spate_sum('pool_log', seq, pool, at_us, image, 2, data) WHERE kind = 12 AND image > 0",
     "does not follow"},
};

// A hub starts all the same, with all its jobs and nothing of its pools; no number is used twice.
TEST(PoolLog, DamageStopsNoHub) {
  for (const Damage& damage : kDamage) {
    SCOPED_TRACE(damage.name);
    Fixture f;
    f.world.Submit(20);
    f.Live(100);
    f.Cut(f.life.now() + Duration::Seconds(1));
    f.Live(20);
    f.Run(damage.sql);
    f.world.Open();
    size_t visited = 0;
    auto count = [&](const Record&) { ++visited; };
    auto replayed = f.world.store().ReplayPools(count);
    ASSERT_FALSE(replayed);
    EXPECT_EQ(replayed.error().kind, ErrorKind::kCorrupt);
    EXPECT_NE(replayed.error().message.find(damage.told), std::string::npos)
        << MessageOf(replayed.error());
    EXPECT_EQ(visited, 0u);
    EXPECT_TRUE(f.world.store().Replay([](const engine::Record&) {}));
    EXPECT_FALSE(CheckHub(f.world.path())->pools.empty());

    PoolLife anew;
    anew.Begin(Replayed(f.world).first);
    EXPECT_EQ(anew.durable().last_pilot(), f.life.durable().last_pilot());
    EXPECT_EQ(anew.durable().last_pool(), f.life.durable().last_pool());
    EXPECT_TRUE(anew.durable().pools().empty());
    f.life = std::move(anew);
    f.Live(50);
    f.Cut();
    f.Live(50);
    f.world.Reopen();
    EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
    EXPECT_EQ(f.Ask("SELECT COUNT(*) FROM pool_log_damaged_1") > 0,
              std::string_view(damage.name) != "all are gone");
    EXPECT_TRUE(CheckHub(f.world.path())->all.sound());
    EXPECT_EQ(CheckHub(f.world.path())->pools.size(), 1u) << "that a table lies aside";

    f.world.Close();
    auto saved = Salvage(f.world.path());
    ASSERT_TRUE(saved) << MessageOf(saved.error());
    EXPECT_FALSE(saved->pools_lost);
    EXPECT_TRUE(CheckHub(f.world.path())->sound());
    f.world.Open();
    EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
    EXPECT_EQ(f.world.store().ReadJobs(WhichJobs::kAll)->size(), 1u);
  }
}

// A page that SQLite cannot read must not end the hub at its next change.
TEST(PoolLog, DamagedPagesStopNoHub) {
  for (std::string name : {"pool_log", "pool_log_of_pool", "pool_log_at"}) {
    SCOPED_TRACE(name);
    Fixture f;
    f.world.Submit(20);
    f.Live(100);
    auto page = static_cast<size_t>(
        f.Ask(fmt::format("SELECT rootpage FROM sqlite_schema WHERE name = '{}'", name)));
    f.world.Close();
    std::string path = f.world.path() + "/hub.db";
    std::string bytes = os::ReadFile(path, 16 << 20).value();
    bytes.replace((page - 1) * 2048, 2048, 2048, '\xaa');
    ASSERT_TRUE(os::WriteFile(path, bytes));
    f.world.Open();
    EXPECT_FALSE(f.world.store().ReplayPools([](const Record&) {}));
    PoolLife anew;
    anew.Begin(Replayed(f.world).first);
    EXPECT_EQ(anew.durable().last_pilot(), f.life.durable().last_pilot());
    f.life = std::move(anew);
    f.Live(50);
    f.Cut(f.life.now());
    f.world.Submit(20);
    f.world.Reopen();
    EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
    f.world.Close();
    auto saved = Salvage(f.world.path());
    ASSERT_TRUE(saved) << MessageOf(saved.error());
    EXPECT_TRUE(CheckHub(f.world.path())->sound());
    f.world.Open();
    EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
    EXPECT_EQ(f.world.store().ReadJobs(WhichJobs::kAll)->size(), 2u);
  }
}

TEST(PoolLog, SalvageOfADamagedOneKeepsNumbersAndHistory) {
  Fixture f;
  f.Live(100);
  f.Cut();
  f.Live(50);
  f.Run(kDamage[0].sql);
  auto saved = Salvage(f.world.path());
  ASSERT_TRUE(saved) << MessageOf(saved.error());
  EXPECT_TRUE(saved->pools_lost);
  EXPECT_TRUE(CheckHub(f.world.path())->sound());
  f.world.Open();
  auto [durable, records] = Replayed(f.world);
  EXPECT_EQ(records, 1u);
  EXPECT_EQ(durable.last_pilot(), f.life.durable().last_pilot());
  size_t kept = 0;
  for (uint32_t pool = 1; pool <= PoolLife::kPools; ++pool) {
    kept += f.world.store().ReadPoolLog(PoolId(pool), 1000)->size();
  }
  EXPECT_EQ(kept, 149u);
}

TEST(PoolLog, SalvageForAJobsSakeKeepsPools) {
  Fixture f;
  f.world.Submit(20);
  f.Live(100);
  f.Cut();
  f.Live(50);
  f.Run("UPDATE job SET cwd = '/else'");
  auto saved = Salvage(f.world.path());
  ASSERT_TRUE(saved) << MessageOf(saved.error());
  EXPECT_FALSE(saved->pools_lost);
  f.world.Open();
  EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
  f.Live(10);
  f.world.Reopen();
  EXPECT_EQ(Replayed(f.world).first.Digest(), f.life.durable().Digest());
}

// Pilots that were asked for since the backup keep their numbers.
TEST(PoolLog, ARestoredOneSkipsNumbers) {
  Fixture f;
  f.Live(100);
  f.Cut();
  f.Live(30);
  os::TempDir temp;
  ASSERT_TRUE(BackUpHub(f.world.path(), temp.Path("backup")));
  ASSERT_TRUE(RestoreHub(temp.Path("backup"), temp.Path("hub")));
  auto db = OpenJournalToRead(temp.Path("hub/hub.db"));
  ASSERT_TRUE(db);
  auto entries = ReadPools(*db);
  ASSERT_TRUE(entries) << MessageOf(entries.error());
  provision::Durable durable;
  for (const PoolLogEntry& entry : *entries) {
    ASSERT_TRUE(durable.Admits(entry.record));
    durable.Apply(entry.record);
  }
  EXPECT_EQ(durable.last_pilot().value, f.life.durable().last_pilot().value + 1000);
  EXPECT_EQ(durable.last_pool().value, f.life.durable().last_pool().value + 1000);
  EXPECT_EQ(durable.pilots().size(), f.life.durable().pilots().size());
}

}  // namespace
}  // namespace spate::store
