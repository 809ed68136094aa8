#include "store/job_replay.h"

#include <gtest/gtest.h>

namespace spate::store {
namespace {

using engine::GangLeased;
using engine::GangReserved;

const JobId kJob(7);

Instant At(int64_t seconds) { return Instant{} + Duration::Seconds(seconds); }

// A job of two gangs, and what is told of the first one's start.
class JobReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    engine::JobAccepted accepted{.job = kJob, .plan = {}};
    accepted.plan.task_count = 2;
    TaskClass of_gang;
    of_gang.gang = {.procs = 1, .nodes = 1};
    accepted.plan.requests = {of_gang};
    accepted.plan.runs = {{0, 2, 0}};
    Apply(accepted);
  }
  void Apply(const engine::Record& record) { ASSERT_TRUE(replay_.Apply(++seq_, record)); }
  void Told(int64_t start, const std::string& reason, int64_t at) {
    Apply(GangReserved{kJob, 0, Instant::Never(), reason, At(at), At(start)});
  }
  void Lease(uint16_t attempt) { Apply(GangLeased{kJob, 0, Attempt(attempt), {{NodeId(1), 1}}}); }
  void Lose(uint16_t attempt) {
    engine::AttemptEnded ended{.node = NodeId(1), .end = {}, .verdict = Verdict::kRetry};
    ended.end.ref = {kJob, 0, Attempt(attempt)};
    ended.end.cause = Cause::kNode;
    ended.counts = false;
    Apply(ended);
  }
  const GangStory* Story() const {
    const auto& stories = replay_.words().stories;
    auto at = stories.find(0);
    return at == stories.end() ? nullptr : &at->second;
  }

  JobReplay replay_{kJob};
  uint64_t seq_ = 0;
};

TEST_F(JobReplayTest, WhatAGangWasToldOfItsStartStaysAfterIt) {
  Told(60, "", 1);
  Told(70, "node n2 disconnected", 5);
  Lease(1);
  ASSERT_NE(Story(), nullptr);
  EXPECT_EQ(Story()->news,
            (std::vector<GangNews>{{At(1), At(60), ""}, {At(5), At(70), "node n2 disconnected"}}));
  EXPECT_EQ(replay_.words().newest_story, TaskIndex{0});
  // Another try has a story of its own, or none.
  Lose(1);
  Told(90, "", 80);
  EXPECT_EQ(Story()->news, (std::vector<GangNews>{{At(80), At(90), ""}}));
  Lease(2);
  Lose(2);
  Lease(3);
  EXPECT_EQ(Story(), nullptr);
  EXPECT_FALSE(replay_.words().newest_story);
}

TEST_F(JobReplayTest, OfManyNewsTheFirstAndTheLastAreKept) {
  for (int64_t i = 0; i < 20; ++i) Told(100 + i, "later", i);
  ASSERT_EQ(Story()->news.size(), GangStory::kMost);
  EXPECT_EQ(Story()->news.front().at, At(0));
  EXPECT_EQ(Story()->news[1].at, At(12));
  EXPECT_EQ(Story()->news.back().at, At(19));
  EXPECT_EQ(Story()->left_out, 11u);
}

}  // namespace
}  // namespace spate::store
