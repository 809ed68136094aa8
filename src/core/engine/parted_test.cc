// Jobs that slow each other go to different nodes from the second report on, where there are some.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "core/engine/engine.h"

namespace spate::engine {
namespace {

constexpr NodeId kFirst{1}, kSecond{2};
constexpr JobId kSlow{1}, kOther{2};

class Parted : public testing::Test {
 protected:
  void Step(std::vector<Event> events) {
    Output out;
    engine_->Step({now_, events}, out);
    engine_->CheckInvariants();
    for (const Send& send : out.sends) {
      if (const auto* lease = std::get_if<SendLease>(&send)) leases_.push_back(*lease);
    }
    records_.insert(records_.end(), out.records.begin(), out.records.end());
    now_ = now_ + Duration::Seconds(10);
  }
  static SubmitJob JobOf(JobId id) {
    JobPlan plan;
    plan.task_count = 1;
    plan.open = true;
    plan.requests.resize(1);
    plan.runs = {{0, 1, 0}};
    plan.user = "ann";
    return {id, plan};
  }
  static GrowJob MoreOf(JobId id, uint32_t first, uint32_t count) {
    return {.job = id, .count = count, .runs = {{first, count, 0}}, .known_tasks = first};
  }
  static NodeJoined NodeOf(NodeId id) {
    return {id, {.node_name = "n", .slots = 4, .milli_cpus = 4 * kMilliCpu}, {}};
  }
  static SlowedTold Told(JobId slowed, JobId beside, NodeId node = kFirst) {
    return {node, {{slowed, 0, Attempt(1)}, beside, TrafficKind::kNetwork, 80'000'000, 40'000'000}};
  }
  // Both run on the first node.
  void StartBoth() {
    Step({NodeOf(kFirst), JobOf(kSlow), JobOf(kOther)});
    ASSERT_EQ(leases_.size(), 2u);
    leases_.clear();
  }
  size_t CountParted() const {
    return static_cast<size_t>(std::ranges::count_if(
        records_, [](const Record& record) { return std::holds_alternative<JobParted>(record); }));
  }
  std::set<NodeId> NodesOf(JobId job) const {
    std::set<NodeId> nodes;
    for (const SendLease& lease : leases_) {
      if (lease.job == job) nodes.insert(lease.node);
    }
    return nodes;
  }
  void End(JobId job, NodeId node, uint32_t index = 0) {
    AttemptsEnded event{node, {}};
    event.ends.push_back({.ref = {job, index, Attempt(1)}, .cause = Cause::kSuccess});
    Step({event});
  }

  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
  std::vector<SendLease> leases_;
  std::vector<Record> records_;
  Instant now_{1'700'000'000'000'000'000};
};

TEST_F(Parted, TheSecondReportParts) {
  StartBoth();
  Step({Told(kSlow, kOther)});
  EXPECT_EQ(CountParted(), 0u);
  Step({Told(kOther, kSlow)});
  EXPECT_EQ(CountParted(), 2u);
  ASSERT_EQ(engine_->PartedOf(kSlow).size(), 1u);
  EXPECT_EQ(engine_->PartedOf(kSlow)[0].job, kOther);
  EXPECT_EQ(engine_->PartedOf(kSlow)[0].slowed, kOther);
  ASSERT_EQ(engine_->PartedOf(kOther).size(), 1u);
  EXPECT_EQ(engine_->PartedOf(kOther)[0].job, kSlow);
  EXPECT_EQ(engine_->PartedOn(kFirst).size(), 2u);
  Step({Told(kSlow, kOther), Told(kSlow, kOther)});
  EXPECT_EQ(CountParted(), 2u) << "it is known";
}

TEST_F(Parted, TheyGoToDifferentNodes) {
  StartBoth();
  Step({Told(kSlow, kOther)});
  Step({Told(kSlow, kOther)});
  Step({NodeOf(kSecond)});
  End(kOther, kFirst);
  Step({MoreOf(kOther, 1, 3)});
  EXPECT_EQ(NodesOf(kOther), std::set{kSecond}) << "the other one is still on the first node";
  Step({MoreOf(kSlow, 1, 3)});
  EXPECT_EQ(NodesOf(kSlow), std::set{kFirst});
  leases_.clear();
  for (uint32_t i = 0; i < 4; ++i) End(kSlow, kFirst, i);
  Step({MoreOf(kOther, 4, 4)});
  EXPECT_TRUE(NodesOf(kOther).contains(kFirst)) << "nothing is left there that it would slow";
}

TEST_F(Parted, ASingleNodeRunsBoth) {
  StartBoth();
  Step({Told(kSlow, kOther)});
  Step({Told(kSlow, kOther)});
  Step({MoreOf(kSlow, 1, 1), MoreOf(kOther, 1, 1)});
  EXPECT_EQ(NodesOf(kSlow), std::set{kFirst});
  EXPECT_EQ(NodesOf(kOther), std::set{kFirst});
}

TEST_F(Parted, WhatIsNotHeldThereIsLateNews) {
  StartBoth();
  Step({NodeOf(kSecond)});
  for (int i = 0; i < 3; ++i) Step({Told(kSlow, kOther, kSecond), Told(kSlow, JobId(7))});
  EXPECT_EQ(CountParted(), 0u);
  End(kSlow, kFirst);
  for (int i = 0; i < 3; ++i) Step({Told(kSlow, kOther)});
  EXPECT_EQ(CountParted(), 0u);
}

TEST_F(Parted, ItIsKnownAfterARestart) {
  StartBoth();
  Step({Told(kSlow, kOther)});
  Step({Told(kSlow, kOther)});
  auto again = std::make_unique<Engine>();
  for (const Record& record : records_) again->Apply(record);
  EXPECT_EQ(again->PartedOf(kSlow), engine_->PartedOf(kSlow));
  std::swap(engine_, again);
  Step({NodeJoined{kFirst,
                   NodeOf(kFirst).offer,
                   {{kSlow, Attempt(1), {{0, 1}}}, {kOther, Attempt(1), {{0, 1}}}}},
        NodeOf(kSecond)});
  End(kOther, kFirst);
  Step({MoreOf(kOther, 1, 3)});
  EXPECT_EQ(NodesOf(kOther), std::set{kSecond});
}

}  // namespace
}  // namespace spate::engine
