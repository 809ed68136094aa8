// The memory of a node's failures in ended jobs has a bound, for each user and for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/engine/engine.h"

namespace spate::engine {
namespace {

class Blames : public testing::Test {
 protected:
  void Step(std::vector<Event> events) {
    Output out;
    engine_.Step({now_, events}, out);
    engine_.CheckInvariants();
    for (const Send& send : out.sends) {
      if (const auto* lease = std::get_if<SendLease>(&send)) leases_.push_back(*lease);
    }
    records_.insert(records_.end(), out.records.begin(), out.records.end());
  }
  static SubmitJob JobOf(uint32_t id, const std::string& user) {
    JobPlan plan;
    plan.task_count = 3;
    plan.open = true;
    plan.requests.resize(1);
    plan.runs = {{0, 3, 0}};
    plan.user = user;
    return {JobId(id), plan};
  }
  static NodeJoined NodeOf(NodeId id, size_t slots) {
    const auto cpus = static_cast<uint32_t>(slots * kMilliCpu);
    return {id, {.node_name = "n", .slots = static_cast<uint32_t>(slots), .milli_cpus = cpus}, {}};
  }
  // All that the node was given ends like this.
  void EndAll(NodeId node, Cause cause) {
    AttemptsEnded event{node, {}};
    for (const SendLease& lease : std::vector(leases_)) {
      if (lease.node != node) continue;
      for (const TaskRange& range : lease.tasks) {
        for (uint32_t i = 0; i < range.count; ++i) {
          AttemptRef ref{lease.job, range.first + i, lease.attempt};
          event.ends.push_back({.ref = ref, .cause = cause, .status = cause == Cause::kExit});
        }
      }
    }
    auto by_job = [](const AttemptEnd& end) { return end.ref.job; };
    std::ranges::stable_sort(event.ends, {}, by_job);
    Step({event});
  }
  // Jobs blamed for the node in its newest record.
  std::vector<uint32_t> Remembered(NodeId node) const {
    std::vector<uint32_t> jobs;
    for (const Record& record : records_) {
      const auto* blamed = std::get_if<NodeBlamed>(&record);
      if (blamed == nullptr || blamed->node != node) continue;
      jobs.clear();
      for (const Blame& blame : blamed->blames) jobs.push_back(blame.by.value);
    }
    return jobs;
  }
  // Three tasks of every job fail on one node, which they fill, and one succeeds on the other.
  void RunAll(const std::vector<SubmitJob>& jobs) {
    std::vector<Event> events = {NodeOf(kBad, jobs.size() * 3)};
    events.insert(events.end(), jobs.begin(), jobs.end());
    Step(events);
    events = {NodeOf(kGood, jobs.size())};
    for (const SubmitJob& job : jobs) {
      events.push_back(GrowJob{.job = job.job, .count = 1, .runs = {{3, 1, 0}}, .known_tasks = 3});
      events.push_back(SealJob{job.job});
    }
    Step(events);
    EndAll(kGood, Cause::kSuccess);
    EndAll(kBad, Cause::kExit);
  }
  static std::vector<uint32_t> Numbers(uint32_t first, uint32_t last) {
    std::vector<uint32_t> numbers;
    for (uint32_t i = first; i <= last; ++i) numbers.push_back(i);
    return numbers;
  }

  static constexpr NodeId kBad{1}, kGood{2};
  Engine engine_;
  std::vector<SendLease> leases_;
  std::vector<Record> records_;
  Instant now_{1'700'000'000'000'000'000};
};

TEST_F(Blames, TheOldestOfAUserGoesForTheNext) {
  std::vector<SubmitJob> jobs = {JobOf(1, "bob")};
  for (uint32_t i = 2; i <= 19; ++i) jobs.push_back(JobOf(i, "ada"));
  RunAll(jobs);
  std::vector<uint32_t> expected = Numbers(4, 19);
  expected.insert(expected.begin(), 1);
  EXPECT_EQ(Remembered(kBad), expected);
  EXPECT_TRUE(engine_.IsBlamed(kBad));
  EXPECT_FALSE(engine_.IsBlamed(kGood));
}

TEST_F(Blames, TheOldestOfAllGoesForTheNext) {
  std::vector<SubmitJob> jobs;
  for (uint32_t i = 1; i <= 80; ++i) jobs.push_back(JobOf(i, "user" + std::to_string(i % 8)));
  RunAll(jobs);
  EXPECT_EQ(Remembered(kBad), Numbers(17, 80));
}

}  // namespace
}  // namespace spate::engine
