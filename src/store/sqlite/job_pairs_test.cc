#include "store/sqlite/job_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "store/sqlite/job_list.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

using engine::Verdict;

constexpr Instant kBegin{1'700'000'000'000'000'000};

// An attempt, in milliseconds.
struct Ran {
  uint32_t job = 1;
  uint32_t index = 0;
  uint32_t node = 1;
  int64_t from = 0;
  int64_t wall = 1;
  Verdict verdict = Verdict::kSucceeded;
};

// Job 1 is asked about; job n is bound by kind n - 2.
constexpr uint32_t kJobs = 5;

class PairsTest : public testing::Test {
 protected:
  void SetUp() override { Make(hub_); }
  static void Make(HubWorld& hub) {
    for (uint32_t job = 1; job <= kJobs; ++job) {
      Bundle accepted = HubWorld::Accept(JobId(job), 100);
      auto& plan = std::get<engine::JobAccepted>(accepted.records.front()).plan;
      if (job > 1) plan.requests.front().bound = static_cast<BoundBy>(job - 2);
      hub.store().PutJob(HubWorld::RowOf(JobId(job), 100));
      ASSERT_TRUE(hub.Commit(std::move(accepted)));
    }
  }
  static void Write(HubWorld& hub, const std::vector<Ran>& all) {
    Bundle bundle;
    for (const Ran& ran : all) {
      auto ended = EndOf(ran.index, Cause::kSuccess, JobId(ran.job));
      ended.node = NodeId(ran.node);
      ended.verdict = ran.verdict;
      ended.end.start = kBegin + Duration::Millis(ran.from);
      ended.end.wall = Duration::Millis(ran.wall);
      ended.ended = ended.end.start + ended.end.wall;
      bundle.records.push_back(ended);
      bundle.outputs.push_back(nullptr);
    }
    ASSERT_TRUE(hub.Commit(std::move(bundle)));
  }
  static Pairs Read(HubWorld& hub) {
    auto job = SummarizeJob(hub.place(), 1);
    EXPECT_TRUE(job);
    auto pairs = ReadPairs(JournalOf(hub.place(), 1), PartOf(job->row));
    EXPECT_TRUE(pairs) << MessageOf(pairs.error());
    return *pairs;
  }
  static PairTimes Beside(const Pairs& pairs, BoundBy kind) {
    return pairs.beside[static_cast<size_t>(kind)];
  }

  HubWorld hub_;
};

TEST_F(PairsTest, TasksCountByWhoWasBeside) {
  Write(hub_, {
                  {.index = 0, .node = 1, .from = 0, .wall = 100},
                  {.index = 1, .node = 1, .from = 1'000, .wall = 160},
                  {.index = 2, .node = 1, .from = 2'000, .wall = 300},
                  {.index = 3, .node = 2, .from = 1'000, .wall = 110},
                  {.index = 4, .node = 2, .from = 1'000, .wall = 120},
                  // Bound by the processor, two after each other for most of task 1.
                  {.job = 3, .index = 0, .node = 1, .from = 900, .wall = 150},
                  {.job = 3, .index = 1, .node = 1, .from = 1'040, .wall = 60},
                  // By the network and by the processor for task 2, each for more than a half.
                  {.job = 3, .index = 2, .node = 1, .from = 1'950, .wall = 210},
                  {.job = 5, .index = 0, .node = 1, .from = 2'140, .wall = 900},
                  // For a third of task 2 only.
                  {.job = 4, .index = 0, .node = 1, .from = 2'200, .wall = 100},
              });
  const Pairs pairs = Read(hub_);
  EXPECT_EQ(pairs.alone.tasks, 3u);
  EXPECT_EQ(pairs.alone.median_wall, Duration::Millis(110));
  EXPECT_EQ(Beside(pairs, BoundBy::kUnknown).tasks, 0u);
  EXPECT_EQ(Beside(pairs, BoundBy::kCpu).tasks, 2u);
  EXPECT_EQ(Beside(pairs, BoundBy::kCpu).median_wall, Duration::Millis(300));
  EXPECT_EQ(Beside(pairs, BoundBy::kMemory).tasks, 0u);
  EXPECT_EQ(Beside(pairs, BoundBy::kNetwork).tasks, 1u);
}

TEST_F(PairsTest, AGangIsOneTaskAndIsBesideWhereOneOfItsPartsIs) {
  Write(hub_, {
                  {.index = 0, .node = 1, .from = 0, .wall = 90, .verdict = Verdict::kPart},
                  {.index = 0, .node = 2, .from = 0, .wall = 100, .verdict = Verdict::kPart},
                  {.index = 0, .node = 3, .from = 0, .wall = 80},
                  {.job = 4, .index = 0, .node = 2, .from = 0, .wall = 60},
                  // One that failed tells nothing.
                  {.index = 1, .node = 1, .from = 0, .wall = 50, .verdict = Verdict::kPart},
                  {.index = 1, .node = 2, .from = 0, .wall = 50, .verdict = Verdict::kFailed},
              });
  const Pairs pairs = Read(hub_);
  EXPECT_EQ(pairs.alone.tasks, 0u);
  EXPECT_EQ(Beside(pairs, BoundBy::kMemory).tasks, 1u);
  EXPECT_EQ(Beside(pairs, BoundBy::kMemory).median_wall, Duration::Millis(100));
}

TEST_F(PairsTest, NothingRan) {
  EXPECT_EQ(Read(hub_).alone.tasks, 0u);
  Write(hub_, {{.job = 2, .index = 0, .node = 1, .from = 0, .wall = 10}});
  EXPECT_EQ(Read(hub_).alone.tasks, 0u);
}

// The same, one millisecond after the other.
Pairs Naive(const std::vector<Ran>& all) {
  std::map<size_t, std::vector<int64_t>> walls;
  for (const Ran& own : all) {
    if (own.job != 1) continue;
    std::map<size_t, int64_t> beside;
    for (int64_t at = own.from; at < own.from + own.wall; ++at) {
      std::set<size_t> there;
      for (const Ran& other : all) {
        if (other.job == 1 || other.node != own.node) continue;
        if (other.from <= at && at < other.from + other.wall) there.insert(other.job - 2);
      }
      for (size_t kind : there) ++beside[kind];
      beside[kJobs] += there.empty() ? 0 : 1;
    }
    for (size_t kind = 0; kind + 2 <= kJobs; ++kind) {
      if (2 * beside[kind] >= own.wall) walls[kind].push_back(own.wall);
    }
    if (10 * beside[kJobs] < own.wall) walls[kJobs].push_back(own.wall);
  }
  auto times = [&](size_t kind) -> PairTimes {
    auto& those = walls[kind];
    if (those.empty()) return {};
    std::ranges::sort(those);
    return {those.size(), Duration::Millis(those[those.size() / 2])};
  };
  Pairs pairs;
  pairs.alone = times(kJobs);
  for (size_t kind = 0; kind + 2 <= kJobs; ++kind) pairs.beside[kind] = times(kind);
  return pairs;
}

TEST_F(PairsTest, AsOneMillisecondAfterTheOther) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Ran> all;
    const auto count = *rc::gen::inRange<uint32_t>(0, 60);
    for (uint32_t i = 0; i < count; ++i) {
      all.push_back({.job = *rc::gen::inRange<uint32_t>(1, kJobs + 1),
                     .index = i,
                     .node = *rc::gen::inRange<uint32_t>(1, 3),
                     .from = *rc::gen::inRange<int64_t>(0, 200),
                     .wall = *rc::gen::inRange<int64_t>(1, 60)});
    }
    HubWorld hub;
    Make(hub);
    if (!all.empty()) Write(hub, all);
    const Pairs pairs = Read(hub);
    const Pairs expected = Naive(all);
    RC_ASSERT(pairs.alone.tasks == expected.alone.tasks);
    RC_ASSERT(pairs.alone.median_wall == expected.alone.median_wall);
    for (size_t kind = 0; kind < pairs.beside.size(); ++kind) {
      RC_ASSERT(pairs.beside[kind].tasks == expected.beside[kind].tasks);
      RC_ASSERT(pairs.beside[kind].median_wall == expected.beside[kind].median_wall);
    }
  }));
}

}  // namespace
}  // namespace spate::store
