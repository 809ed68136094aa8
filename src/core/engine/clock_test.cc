// The wall clock is set while jobs have deadlines: what is due by the new time is done in the step
// that hears of it, what is due no more waits, and nothing else moves. While the machine sleeps,
// nodes grow older.
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "core/engine/engine.h"

namespace spate::engine {
namespace {

constexpr JobId kDated(1);
constexpr Instant kBeginning{1600000000LL * 1000000000};
constexpr Duration kHour = Duration::Seconds(3600);

class EngineClock : public testing::Test {
 protected:
  // One task that nobody runs, with this deadline.
  void Submit(Instant deadline) {
    JobPlan plan;
    plan.task_count = 1;
    plan.open = true;
    plan.requests.resize(1);
    plan.requests.front().deadline = deadline;
    plan.runs = {{0, 1, 0}};
    Step({SubmitJob{kDated, plan}});
  }
  void Step(std::vector<Event> events = {}) {
    out_.Clear();
    engine_.Step({now_, events, ahead_}, out_);
  }
  template <typename T, typename List>
  static size_t Count(const List& all) {
    size_t count = 0;
    for (const auto& each : all) count += std::holds_alternative<T>(each) ? 1 : 0;
    return count;
  }

  Instant now_ = kBeginning;
  Duration ahead_;
  Engine engine_;
  Output out_;
};

TEST_F(EngineClock, ADeadlineActsWhenTheClockIsSetPastIt) {
  Submit(now_ + kHour);
  EXPECT_EQ(out_.wake_at, now_ + kHour + Duration{1});
  now_ = now_ + Duration::Seconds(10);
  ahead_ = kHour * 2;
  Step({ClockStepped{now_, now_ + ahead_}});
  EXPECT_EQ(Count<ClockStepped>(out_.records), 1u);
  EXPECT_EQ(engine_.Counts(kDated)->cancelled, 1u);
}

TEST_F(EngineClock, AClockThatIsSetBackGivesMoreTime) {
  Submit(now_ + kHour);
  ahead_ = Duration() - kHour * 4;
  now_ = now_ + kHour * 2;  // two hours later it is two hours earlier
  Step();
  EXPECT_EQ(engine_.Counts(kDated)->cancelled, 0u);
  EXPECT_EQ(out_.wake_at, kBeginning + kHour * 5 + Duration{1});
  now_ = out_.wake_at;
  Step();
  EXPECT_EQ(engine_.Counts(kDated)->cancelled, 1u);
}

TEST_F(EngineClock, ADeadlineIsRefusedByTheClockOfNow) {
  ahead_ = Duration() - kHour * 4;
  Submit(now_ + ahead_ + Duration::Seconds(60));
  EXPECT_EQ(Count<NoticeRefused>(out_.notices), 0u);
  ASSERT_TRUE(engine_.Counts(kDated).has_value());
  ahead_ = {};
  Step({GrowJob{.job = kDated, .count = 1, .new_requests = {}, .runs = {{1, 1, 0}}}});
  EXPECT_EQ(engine_.Counts(kDated)->cancelled, 2u) << "by now it has passed";
}

TEST_F(EngineClock, WhatWasLateIsLateNoMore) {
  Submit(now_ + kHour);
  ahead_ = kHour * 2;
  Step();
  ASSERT_EQ(engine_.Counts(kDated)->cancelled, 1u);
  ahead_ = {};
  Step({GrowJob{.job = kDated, .count = 1, .new_requests = {}, .runs = {{1, 1, 0}}}});
  EXPECT_EQ(engine_.Counts(kDated)->queued, 1u);
  now_ = now_ + kHour * 2;
  Step();
  EXPECT_EQ(engine_.Counts(kDated)->queued, 0u);
}

TEST_F(EngineClock, ASuspendTakesOffTheLivesOfNodes) {
  Offer offer;
  offer.node_name = "n1";
  offer.slots = 1;
  offer.milli_cpus = kMilliCpu;
  Step({NodeJoined{NodeId(1), offer, {}}});
  offer.node_name = "n2";
  offer.end_of_life = now_ + kHour * 2;
  Step({NodeJoined{NodeId(2), offer, {}}});
  Step({HubSlept{kHour}});
  const std::vector<NodeInfo> nodes = engine_.Nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].offer.end_of_life, Instant::Never());
  EXPECT_EQ(nodes[1].offer.end_of_life, now_ + kHour);
}

}  // namespace
}  // namespace spate::engine
