// Missing numbers of the journal's sequence are damage. The counted use of users (UseCounted),
// which is replaced each minute, leaves none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/engine/record_job.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

engine::UseCounted UseAt(int64_t second) {
  return {.at = Instant{second * 1'000'000'000}, .users = {{"ada", 7'000'000}, {"bob", 9}}};
}

void Harm(HubWorld& world, const std::string& sql) {
  world.Close();
  auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->Run(sql.c_str())) << sql;
}

std::string FirstProblem(const HubWorld& world) {
  auto check = CheckHub(world.path());
  if (!check) return MessageOf(check.error());
  if (!check->all.problems.empty()) return check->all.problems.front();
  return check->jobs.empty() ? "" : check->jobs.begin()->second.front();
}

// The replay of a hub that starts, a word for each record; the excluded jobs come first.
std::string ReplayOf(HubWorld& world) {
  std::string words;
  auto visit = [&](const engine::Record& record) {
    const auto* use = std::get_if<engine::UseCounted>(&record);
    words += use == nullptr ? fmt::format(" {}", JobOf(record).value)
                            : fmt::format(" use@{}", use->at.ns / 1'000'000'000);
  };
  auto replayed = world.store().Replay(visit);
  if (!replayed) {
    words.clear();
    EXPECT_FALSE(world.store().damaged().empty()) << MessageOf(replayed.error());
    EXPECT_TRUE(world.store().Replay(visit));
  }
  std::string excluded;
  for (const auto& [job, why] : world.store().damaged()) excluded += fmt::format("-{}", job.value);
  return excluded + words;
}

TEST(Gaps, UseThatIsCountedEachMinuteLeavesNone) {
  HubWorld world;
  const JobId one = world.Submit(3);
  for (int64_t minute = 1; minute <= 3; ++minute) {
    const auto first = static_cast<TaskIndex>(minute - 1);
    ASSERT_TRUE(world.Commit(HubWorld::Ends(one, first, 1)));
    ASSERT_TRUE(world.Record(UseAt(60 * minute)));
  }
  const JobId two = world.Submit(1, "bob");
  ASSERT_EQ(two, JobId(2));
  for (int life = 0; life < 2; ++life) {
    world.Reopen();
    EXPECT_EQ(ReplayOf(world), " 1 1 1 1 1 1 1 use@180 2");
    EXPECT_EQ(FirstProblem(world), "");
  }
  // The first record of the waiting job comes after the counted use.
  ASSERT_TRUE(world.Finish(one, 3));
  world.Reopen();
  EXPECT_EQ(ReplayOf(world), " use@180 2");
  ASSERT_TRUE(world.Record(UseAt(240)));
  world.Reopen();
  EXPECT_EQ(ReplayOf(world), " 2 use@240");
  EXPECT_EQ(FirstProblem(world), "");
}

// Writes records 1 to 3 and 8 of a job, and 4 to 7 of no job.
void WriteBoth(HubWorld& world) {
  const JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1)));
  for (uint32_t node = 1; node <= 2; ++node) {
    ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(node)}));
    ASSERT_TRUE(world.Record(engine::NodeUndrained{NodeId(node)}));
  }
  ASSERT_TRUE(world.Record(engine::Leased{NodeId(1), job, Attempt(1), {{1, 1}}}));
}

TEST(Gaps, AnyOtherRowThatIsMissingIsReported) {
  for (uint64_t seq = 1; seq <= 8; ++seq) {
    HubWorld world;
    WriteBoth(world);
    Harm(world,
         fmt::format("DELETE FROM log WHERE seq = {0}; DELETE FROM attempt WHERE seq = {0}", seq));
    EXPECT_NE(FirstProblem(world).find(fmt::format("record {} is missing", seq)), std::string::npos)
        << seq << ": " << FirstProblem(world);
    world.Open();
    EXPECT_TRUE(ReplayOf(world).starts_with("-1")) << seq;
  }
}

TEST(Gaps, ADamagedCountOfUseStopsTheHubAndIsSalvaged) {
  HubWorld world;
  WriteBoth(world);
  ASSERT_TRUE(world.Record(UseAt(60)));
  Harm(world, "UPDATE meta SET value = x'0102' WHERE key = 'use_counted'");
  EXPECT_NE(FirstProblem(world).find("table meta"), std::string::npos) << FirstProblem(world);
  world.Open();
  auto replayed = world.store().Replay([](const engine::Record&) {});
  ASSERT_FALSE(replayed);
  EXPECT_NE(replayed.error().message.find("use_counted"), std::string::npos);
  EXPECT_TRUE(world.store().damaged().empty());
  world.Close();
  ASSERT_TRUE(Salvage(world.path()));
  world.Open();
  EXPECT_EQ(ReplayOf(world), " 1 1 1 0 0 0 0 1");
  EXPECT_EQ(FirstProblem(world), "");
}

}  // namespace
}  // namespace spate::store
