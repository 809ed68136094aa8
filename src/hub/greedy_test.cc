// A greedy user who sends, follows and changes without end delays nobody else. These tests run the
// service over a loop without a clock, like service_test.cc.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "hub/testing_service.h"

namespace spate::hub {
namespace {

class GreedyTest : public ServiceTest {
 protected:
  void Bound(const UserChange& bounds) {
    Come("root", 0).Ask(wire::Query{wire::SetUser{"ann", bounds}});
    loop_.RunFor(Duration::Seconds(1));
  }
  static wire::Rows Rows(size_t bytes) { return {{std::string(bytes, 'x')}}; }
  // The last reply if it is a refusal; else empty.
  std::string Refusal(const Dialogue& dialogue) {
    loop_.RunFor(Duration::Seconds(1));
    if (dialogue.replies.empty()) return "";
    const auto* failed = std::get_if<wire::Failed>(&dialogue.replies.back());
    return failed == nullptr ? "" : failed->text + (failed->why.empty() ? "" : "why");
  }
  // Submits a job with `bytes` bytes of commands, and returns the refusal.
  std::string Send(const std::string& key, size_t bytes) {
    Dialogue& ann = Come("ann", 1);
    ann.Ask(Head(key));
    ann.Ask(Rows(bytes));
    ann.Ask(End(1));
    return Refusal(ann);
  }
  size_t BytesOfRows() const {
    size_t bytes = 0;
    for (const auto& [key, row] : disk_->rows) bytes += row.size();
    return bytes;
  }
};

TEST_F(GreedyTest, CommandsCountForTheBoundOfItsUser) {
  Bound(UserChange().With<&UserRule::max_output>(100'000u));
  EXPECT_EQ(Send("a", 60'000), "");
  EXPECT_NE(Send("b", 60'000).find("the hub would keep "), std::string::npos);
  EXPECT_EQ(Send("c", 30'000), "") << "what was refused counts no longer";
  Dialogue& bob = Come("bob", 2);
  bob.Ask(Head("a"));
  bob.Ask(Rows(200'000));
  bob.Ask(End(1));
  EXPECT_EQ(Refusal(bob), "") << "has no bound";
}

TEST_F(GreedyTest, AnUploadThatNeverEndsIsRefusedWhileItArrives) {
  Bound(UserChange().With<&UserRule::max_output>(100'000u));
  std::vector<Dialogue*> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(&Come("ann", 1));
    all.back()->Ask(Head(std::to_string(i)));
  }
  for (int round = 0; round < 20; ++round) {
    for (Dialogue* each : all) each->Ask(Rows(10'000));
    loop_.RunFor(Duration::Millis(10));
  }
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_LE(BytesOfRows(), 110'000u) << "of all uploads together";
  int refused = 0;
  for (Dialogue* each : all)
    refused += Refusal(*each).find("the hub would keep") != std::string::npos ? 1 : 0;
  EXPECT_GE(refused, 4);
}

// Edges and texts are in memory until the job is accepted.
TEST_F(GreedyTest, GraphsCountWhileTheyArrive) {
  Bound(UserChange().With<&UserRule::max_output>(100'000u));
  Dialogue& ann = Come("ann", 1);
  ann.Ask(Head("a"));
  ann.Ask(Rows(10));
  for (int i = 0; i < 50; ++i) {
    ann.Ask(wire::Edges{std::vector<Edge>(2'000, Edge{0, 1})});
    loop_.RunFor(Duration::Millis(50));
  }
  EXPECT_NE(Refusal(ann).find("the hub would keep"), std::string::npos);
}

TEST_F(GreedyTest, TasksCountWhileTheyArrive) {
  Bound(UserChange().With<&UserRule::max_queued>(10u));
  Dialogue& ann = Come("ann", 1);
  ann.Ask(Head("a"));
  ann.Ask(wire::Rows{std::vector<std::string>(11, "true")});
  EXPECT_EQ(Refusal(ann), "why");
  EXPECT_EQ(BytesOfRows(), 0u);
}

TEST_F(GreedyTest, OneUserFollowsSoManyJobsAndIsToldSoOften) {
  const JobId job = Submit(Come("ann", 1), 3);
  std::vector<Dialogue*> all;
  constexpr size_t kEach = 256, kFollowed = KnownJobs::kListenersOfUser;
  for (size_t i = 0; i <= kFollowed; ++i) {
    if (i % kEach == 0) all.push_back(&Come("ann", 1));
    all.back()->Ask(wire::Watch{job});
  }
  EXPECT_NE(Refusal(*all.back()).find("ann follows 4096 jobs at once"), std::string::npos);
  Dialogue& root = Come("root", 0);
  root.Ask(wire::Watch{job});
  loop_.RunFor(Duration::Seconds(1));
  auto told = [&] {
    size_t count = 0;
    for (Dialogue* each : all) count += each->replies.size();
    return count;
  };
  const size_t before = told(), of_root = root.replies.size();
  service_->hub().Post(engine::HoldJob{job, /*end_running=*/false});
  loop_.RunFor(KnownJobs::kTellEvery * 2);
  EXPECT_LE(told() - before, 3 * KnownJobs::kTellsOfUser);
  EXPECT_EQ(root.replies.size(), of_root + 1) << "waits for none of them";
  loop_.RunFor(Duration::Seconds(2));
  EXPECT_GE(told() - before, kFollowed) << "each is told in turn";
}

class ManyChangesTest : public GreedyTest {
 protected:
  // Changes all jobs, and returns the number of new records or the refusal.
  std::string Change(wire::ChangeJobs::Change change) {
    Dialogue& ann = Come("ann", 1);
    const size_t before = disk_->records.size();
    ann.Ask(wire::Query{wire::ChangeJobs{.jobs = {.all = true}, .change = change}});
    const std::string refusal = Refusal(ann);
    if (!refusal.empty()) return refusal;
    EXPECT_TRUE(ann.Done());
    return std::to_string(disk_->records.size() - before);
  }
};

TEST_F(ManyChangesTest, WhatChangesNothingWritesNothingAndChangesArePaced) {
  constexpr int kJobs = 2'000;
  Dialogue& ann = Come("ann", 1);
  for (int i = 0; i < kJobs; ++i) {
    ann.Ask(Head(std::to_string(i)));
    ann.Ask(wire::Rows{{"true"}});
    ann.Ask(End(1));
    loop_.RunFor(Duration::Millis(10));
  }
  using enum wire::ChangeJobs::Change;
  EXPECT_EQ(Change(kHold), "2000");
  EXPECT_EQ(Change(kHold), "0");
  EXPECT_EQ(Change(kRelease), "2000");
  EXPECT_EQ(Change(kRelease), "0");
  std::string last;
  int rounds = 0;
  for (; rounds < 200 && last.find("so often") == std::string::npos; ++rounds) {
    last = Change(rounds % 2 == 0 ? kHold : kRelease);
  }
  EXPECT_NE(last.find("user ann has changed jobs so often"), std::string::npos) << last;
  EXPECT_GE(rounds, 100'000 / kJobs - 2);
  EXPECT_LE(rounds, 100'000 / kJobs + 10);
  // Another user's change does not wait.
  const JobId job = Submit(Come("bob", 2), 1);
  Dialogue& bob = Come("bob", 2);
  bob.Ask(
      wire::Query{wire::ChangeJobs{.jobs = {.ranges = {{job.value, job.value}}}, .change = kHold}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_TRUE(bob.Done());
}

}  // namespace
}  // namespace spate::hub
