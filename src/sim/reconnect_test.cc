// Nodes that cannot be reached for a while, and hubs that start again: what runs goes on, and its
// end is told once. Random worlds over the real hub, node, agent and engine, in virtual time.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "base/prng.h"
#include "hub/hub.h"
#include "node/node.h"
#include "os/fake_loop.h"
#include "store/testing_memory_store.h"
#include "transport/inproc.h"

namespace spate::sim {
namespace {

constexpr JobId kJob(1);
constexpr uint32_t kTasks = 60;
constexpr Duration kPatience = Duration::Seconds(2);

Limits ShortPatience() {
  Limits limits;
  limits.node_patience = kPatience;
  return limits;
}

// One attempt a slot, each for a random time; what is held ahead follows.
class Runner final : public node::Executor {
 public:
  Runner(os::Loop& loop, std::map<AttemptRef, int>& starts, uint64_t seed)
      : loop_(loop), starts_(starts), prng_(seed) {}
  void SetEvents(node::ExecutorEvents& events) { events_ = &events; }
  void OpenJob(JobId, std::shared_ptr<const JobSettings>, bool) override {}
  void CloseJob(JobId) override {}
  void Start(node::StartOrder order) override {
    auto& slot = slots_[order.slot];
    slot.push_back(order.ref);
    if (slot.size() == 1) Begin(order.slot);
  }
  void Withdraw(const AttemptRef& ref) override {
    for (auto& [number, slot] : slots_) {
      for (size_t k = 1; k < slot.size(); ++k) {
        if (slot[k] != ref) continue;
        slot.erase(slot.begin() + static_cast<std::ptrdiff_t>(k));
        loop_.Post([this, ref] { events_->OnTakenBack(ref); });
        return;
      }
    }
  }
  void End(const AttemptRef& ref, node::EndHow, Cause cause) override {
    for (auto& [number, slot] : slots_) {
      if (slot.empty() || slot.front() != ref) continue;
      loop_.Cancel(timers_[number]);
      loop_.Post([this, over = number, ref, cause] { Over(over, ref, cause); });
    }
  }
  void Pause(bool) override {}

 private:
  void Begin(uint16_t number) {
    AttemptRef ref = slots_[number].front();
    ++starts_[ref];
    auto wall = Duration::Millis(static_cast<int64_t>(1 + prng_.Below(400)));
    timers_[number] =
        loop_.At(loop_.Now() + wall, [this, number, ref] { Over(number, ref, Cause::kSuccess); });
  }
  void Over(uint16_t number, const AttemptRef& ref, Cause cause) {
    auto& slot = slots_[number];
    if (slot.empty() || slot.front() != ref) return;
    slot.pop_front();
    AttemptEnd end;
    end.ref = ref;
    end.slot = number;
    end.cause = cause;
    end.wall = Duration::Millis(100);
    end.start = loop_.Now();
    events_->OnEnded(std::move(end), nullptr);
    if (!slot.empty()) Begin(number);
  }

  os::Loop& loop_;
  std::map<AttemptRef, int>& starts_;
  Prng prng_;
  node::ExecutorEvents* events_ = nullptr;
  std::map<uint16_t, std::deque<AttemptRef>> slots_;
  std::map<uint16_t, os::TimerId> timers_;
};

class Ears final : public hub::Watcher {
 public:
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr&) override {
    ++told[notice.end.ref];
    if (notice.verdict == engine::Verdict::kSucceeded) ++succeeded[notice.end.ref.index];
  }
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error& error) override { ADD_FAILURE() << error.message; }

  std::map<AttemptRef, int> told;
  std::map<TaskIndex, int> succeeded;
};

class Cluster {
 public:
  Cluster(uint64_t seed, Duration longest_cut) : prng_(seed), longest_cut_(longest_cut) {
    store::Bundle rows;
    rows.rows.push_back({kJob, 0, std::vector<std::string>(kTasks, "x")});
    StartHub();
    store_->Append(std::move(rows), [](Status) {});
    hub_->Post(engine::SubmitJob{
        kJob, {.task_count = kTasks, .requests = {Needs{}}, .runs = {{0, kTasks, 0}}}});
    // Accepted, as far as its user is told, is what is durable.
    loop_.RunFor(Duration::Millis(50));
    for (uint32_t id = 1; id <= 3; ++id) {
      Offer offer;
      offer.node_name = "n";
      offer.slots = 1 + id % 2;
      offer.milli_cpus = offer.slots * kMilliCpu;
      Machine& machine = machines_[NodeId(id)];
      machine.runner = std::make_unique<Runner>(loop_, starts, prng_.Next());
      machine.node = std::make_unique<node::Node>(
          NodeId(id), offer, node::Node::Parts{loop_, *machine.runner, nullptr}, ShortPatience());
      machine.runner->SetEvents(*machine.node);
      Join(NodeId(id));
    }
  }

  void Live() {
    Instant end = loop_.Now() + Duration::Seconds(300);
    while (!hub_->engine().Finished(kJob) && loop_.Now() < end) {
      loop_.RunFor(Duration::Millis(static_cast<int64_t>(prng_.Below(150))));
      if (prng_.Chance(15)) RestartHub();
      NodeId any(static_cast<uint32_t>(1 + prng_.Below(3)));
      if (prng_.Chance(20) && machines_[any].link.first) Cut(any);
    }
    loop_.RunFor(Duration::Seconds(10));
    for (auto& [id, machine] : machines_) machine.node->agent().CheckInvariants();
    hub_->engine().CheckInvariants();
    EXPECT_TRUE(hub_->engine().Finished(kJob));
  }

  std::map<AttemptRef, int> starts;
  Ears ears;
  uint32_t cuts = 0;
  uint32_t restarts = 0;

 private:
  struct Machine {
    std::unique_ptr<Runner> runner;
    std::unique_ptr<node::Node> node;
    transport::InprocPair<wire::ToNode, wire::ToHub> link;
  };

  void StartHub() {
    store_ = std::make_unique<store::MemoryStore>(
        loop_, disk_,
        store::MemoryStoreOptions{Duration::Millis(1), Duration::Millis(20), prng_.Next()});
    hub_ = std::make_unique<hub::Hub>(loop_, *store_, ears, Epoch(++epoch_), ShortPatience());
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = "/";
    hub_->SetSettings(kJob, settings);
    ASSERT_TRUE(hub_->Replay());
    hub_->Resume(engine::LastNodes::kMayReturn);
  }
  void RestartHub() {
    ++restarts;
    store_->Crash(prng_.Below(store_->queued() + 1));
    hub_ = nullptr;
    StartHub();
    for (auto& [id, machine] : machines_) {
      if (!machine.link.first) continue;  // it is away anyway
      Leave(id);
      Return(id);
    }
  }
  void Join(NodeId id) {
    Machine& machine = machines_[id];
    machine.link = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop_);
    hub_->Connect(id, *machine.link.first);
    machine.node->Connect(*machine.link.second);
  }
  void Leave(NodeId id) {
    machines_[id].node->Disconnect();
    machines_[id].link = {};
  }
  void Return(NodeId id) {
    auto away = Duration{static_cast<int64_t>(prng_.Below(longest_cut_.ns))};
    loop_.At(loop_.Now() + away, [this, id] {
      if (!machines_[id].link.first) Join(id);
    });
  }
  void Cut(NodeId id) {
    ++cuts;
    hub_->Disconnect(id, engine::LastNodes::kMayReturn);
    Leave(id);
    Return(id);
  }

  os::FakeLoop loop_;
  Prng prng_;
  const Duration longest_cut_;
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
  std::unique_ptr<store::MemoryStore> store_;
  std::unique_ptr<hub::Hub> hub_;
  uint32_t epoch_ = 0;
  std::map<NodeId, Machine> machines_;
};

// Shorter than the hub's patience: nothing runs twice, whatever else is killed.
TEST(Reconnect, ShortAbsencesRepeatNothing) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Cluster cluster(seed, Duration::Millis(1500));
    cluster.Live();
    EXPECT_EQ(cluster.starts.size(), kTasks) << "seed " << seed;
    for (const auto& [ref, count] : cluster.starts) EXPECT_EQ(count, 1) << "seed " << seed;
    // A notice may die with its hub between commit and release, but never comes twice.
    for (const auto& [ref, count] : cluster.ears.told) EXPECT_EQ(count, 1) << "seed " << seed;
    EXPECT_GT(cluster.cuts + cluster.restarts, 0u);
    if (testing::Test::HasFailure()) return;
  }
}

// Longer: tasks run again under new numbers, each number runs once, and each task succeeds once.
TEST(Reconnect, LongAbsencesRepeatUnderNewNumbers) {
  uint32_t repeated = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Cluster cluster(seed, Duration::Seconds(6));
    cluster.Live();
    for (const auto& [ref, count] : cluster.starts) {
      EXPECT_EQ(count, 1) << "seed " << seed;
      repeated += ref.attempt.value > 1;
    }
    for (const auto& [ref, count] : cluster.ears.told) EXPECT_EQ(count, 1) << "seed " << seed;
    for (const auto& [index, count] : cluster.ears.succeeded) EXPECT_EQ(count, 1);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(repeated, 100u);
}

}  // namespace
}  // namespace spate::sim
