// Too much output is removed when it has become durable, not at a later look.
#include "hub/pruner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hub/testing_node.h"
#include "hub/testing_service.h"

namespace spate::hub {
namespace {

constexpr uint64_t kBound = 100'000;
constexpr uint64_t kOfTask = 30'000;

Service::Options WithBound() {
  Service::Options options;
  options.keep_bytes = kBound;
  return options;
}

class PrunerTest : public ServiceTest {
 protected:
  PrunerTest() : ServiceTest(/*one_job=*/false, kCommitTime, WithBound()) {
    const Caller every{.user = "*", .is_admin = true};
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = "n1";
    auto id = service_->AdmitNode(greeting, every);
    EXPECT_TRUE(id.has_value());
    service_->NodeArrived(
        *id, {std::make_unique<NodeEndPort>(node_), "here", "9.9", wire::OwnFeatures()}, every);
    wire::Hello hello;
    hello.offer.slots = 20;
    hello.offer.milli_cpus = 20 * kMilliCpu;
    node_.say(std::move(hello));
    loop_.RunFor(Duration::Seconds(2));
  }
  JobId Begin() {
    wire::Submit head = Head(std::to_string(++jobs_));
    head.open = false;
    ann_.Ask(head);
    ann_.Ask(wire::Rows{{"true"}});
    ann_.Ask(ServiceTest::End(1));
    loop_.RunFor(Duration::Seconds(1));
    return std::get<wire::Accepted>(ann_.replies.back()).job;
  }
  // The only task of the job has written much, and ends.
  void End(JobId job) {
    AttemptEnd end;
    end.ref = {job, 0, Attempt(1)};
    end.stdout_total = kOfTask;
    auto output = std::make_shared<TaskOutput>();
    output->out.bytes = std::string(kOfTask, 'x');
    output->out.total = kOfTask;
    node_.say(wire::Ends{++reports_, {end}, {std::move(output)}});
    loop_.RunFor(kCommitTime * 8);
  }
  bool Keeps(JobId job) const { return service_->known().Find(job) != nullptr; }
  uint64_t kept() const { return service_->Facts().kept; }

  NodeEnd node_;
  Dialogue& ann_ = Come("ann", 1);
  uint64_t jobs_ = 0, reports_ = 0;
};

TEST_F(PrunerTest, TheOldestGoesWhenTheBoundIsPassed) {
  const JobId first = Begin(), second = Begin(), third = Begin(), fourth = Begin();
  for (JobId job : {first, second, third}) End(job);
  EXPECT_EQ(kept(), kOfTask * 3);
  EXPECT_TRUE(Keeps(first)) << "there is room";
  End(fourth);
  EXPECT_EQ(kept(), kOfTask * 3) << "within milliseconds";
  EXPECT_FALSE(Keeps(first));
  EXPECT_TRUE(Keeps(fourth));
}

// Rounds are a second apart, so that what ends within one second is removed together.
TEST_F(PrunerTest, NoMoreIsTooMuchThanWhatASecondBrings) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 14; ++i) jobs.push_back(Begin());
  for (JobId job : jobs) End(job);
  EXPECT_GT(kept(), kBound);
  loop_.RunFor(Duration::Seconds(1) + kCommitTime * 8);
  EXPECT_LE(kept(), kBound);
  EXPECT_GT(kept(), kBound - kOfTask);
}

}  // namespace
}  // namespace spate::hub
