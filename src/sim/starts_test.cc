// How soon a hub shows that a task has started: the real service, a real node and an executor
// without processes, in virtual time.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "hub/testing_service.h"
#include "node/node.h"
#include "transport/inproc.h"

namespace spate::sim {
namespace {

constexpr uint32_t kSlots = 12;
constexpr Duration kWall = Duration::Millis(250);  // of each task: 48 start in a second
constexpr Duration kShownWithin = Duration::Millis(200);
constexpr uint32_t kTasks = 480;

class NodeLine final : public hub::NodePort {
 public:
  explicit NodeLine(std::unique_ptr<hub::NodeChannel> inner) : inner_(std::move(inner)) {}
  void Send(wire::ToNode message) override { inner_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    inner_->OnMessage(std::move(receiver));
  }
  void Refuse(const wire::Refusal& why) override { ADD_FAILURE() << why.reason; }
  void Close() override {}

 private:
  std::unique_ptr<hub::NodeChannel> inner_;
};

// Each attempt begins at once, and ends after kWall.
class Timers final : public node::Executor {
 public:
  Timers(os::Loop& loop, std::function<void(TaskIndex)> began)
      : loop_(loop), began_(std::move(began)) {}
  void SetEvents(node::ExecutorEvents& events) { events_ = &events; }
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(node::StartOrder order) override {
    began_(order.ref.index);
    AttemptEnd end;
    end.ref = order.ref;
    end.slot = order.slot;
    end.start = loop_.Now();
    end.wall = kWall;
    loop_.At(loop_.Now() + kWall, [this, end] { events_->OnEnded(end, nullptr); });
  }
  void Withdraw(const AttemptRef&) override {}
  void End(const AttemptRef&, node::EndHow, Cause) override {}
  void Pause(bool) override {}

 private:
  os::Loop& loop_;
  const std::function<void(TaskIndex)> began_;
  node::ExecutorEvents* events_ = nullptr;
};

class StartsTest : public hub::ServiceTest {
 protected:
  StartsTest() : timers_(loop_, [this](TaskIndex index) { Began(index); }) {
    Offer offer{.node_name = "n1"};
    offer.slots = kSlots;
    offer.milli_cpus = kSlots * kMilliCpu;
    node_ = std::make_unique<node::Node>(
        NodeId(1), offer,
        node::Node::Parts{.loop = loop_, .executor = timers_, .tell_every = Duration::Seconds(1)});
    timers_.SetEvents(*node_);
    const hub::Caller every{.user = "*", .is_admin = true};
    wire::Greeting greeting;
    greeting.role = wire::Role::kNode;
    greeting.node_name = "n1";
    auto id = service_->AdmitNode(greeting, every);
    EXPECT_TRUE(id.has_value());
    service_->NodeArrived(
        *id,
        {std::make_unique<NodeLine>(std::move(line_.first)), "here", "9.9", wire::OwnFeatures()},
        every);
    node_->Connect(*line_.second);
    loop_.RunFor(Duration::Seconds(2));
  }
  // Followers of the job were told of it in time.
  void Began(TaskIndex index) {
    ++began_;
    loop_.At(loop_.Now() + kShownWithin, [this, index] {
      const bool shown = std::ranges::any_of(shown_, [&](TaskRange range) {
        return range.first <= index && index - range.first < range.count;
      });
      if (!shown) late_.push_back(index);
    });
  }

  transport::InprocPair<wire::ToNode, wire::ToHub> line_ =
      transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop_);
  Timers timers_;
  std::unique_ptr<node::Node> node_;
  std::vector<TaskRange> shown_;  // as running, when followers were told last
  std::vector<TaskIndex> late_;
  uint32_t began_ = 0;
};

TEST_F(StartsTest, AStartIsShownWithinAFifthOfASecond) {
  const JobId job(1);  // the first
  service_->known().Listen(job, "", [&] {
    shown_ = service_->nodes().RunningTasks(job).value_or(std::vector<TaskRange>());
  });
  ASSERT_EQ(Submit(Come("ann", 1), kTasks), job);
  loop_.RunFor(kWall * (kTasks / kSlots) + Duration::Seconds(2));
  EXPECT_EQ(began_, kTasks);
  EXPECT_TRUE(late_.empty()) << late_.size() << " tasks, the first is " << late_.front();
}

}  // namespace
}  // namespace spate::sim
