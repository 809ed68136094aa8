#include <gtest/gtest.h>
#include <spate/mw_local.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace spate::mw {
namespace {

const auto square = algorithm<"local-square">([](int x) { return x * x; });
const auto fails = algorithm<"local-fails">([]() -> int { throw std::runtime_error("sorry"); });

// Gates of tests in this process: an algorithm waits there until it is opened, or not wanted.
std::atomic<bool> gate_is_open{true};
std::atomic<int> at_gate{0};
std::atomic<int> stopped{0};
const auto pass_gate = algorithm<"local-pass-gate">([](int x) {
  ++at_gate;
  while (!gate_is_open && !stop_requested()) std::this_thread::yield();
  if (stop_requested()) ++stopped;
  return x;
});

std::atomic<int> made{0};
// From the third one on they wait at the gate.
const auto make = algorithm<"local-make">([](size_t size) {
  const bool waits = ++made > 2;
  while (waits && !gate_is_open && !stop_requested()) std::this_thread::yield();
  return std::string(size, 'x');
});

class LocalClusterTest : public testing::Test {
 protected:
  LocalClusterTest() {
    gate_is_open = true;
    at_gate = stopped = made = 0;
  }
  void AwaitGate(int count) {
    while (at_gate < count) std::this_thread::yield();
  }
};

// A function such as programs pass to run().
int SumOfSquares(master& m) {
  for (int i = 1; i <= 100; ++i) m.submit(square, i);
  int sum = 0;
  while (m.pending() > 0) {
    m.wait();
    for (const result& each : m.take_results()) sum += each.get(square);
  }
  return sum == 338'350 ? 0 : 1;
}

TEST_F(LocalClusterTest, AMasterFunctionIsCalledAsItIs) {
  local_cluster cluster(2);
  EXPECT_EQ(cluster.master().slaves(), 2u);
  EXPECT_EQ(SumOfSquares(cluster.master()), 0);
  auto failing = cluster.master().async(fails);
  EXPECT_THROW(failing.get(), error);
}

// ---- Numbers -----------------------------------------------------------------------------------

// Floating-point numbers do not compile then (detail::converted).
static_assert(detail::is_narrowing<int, double> && detail::is_narrowing<bool, float> &&
              detail::is_narrowing<float, double>);
static_assert(!detail::is_narrowing<double, int> && !detail::is_narrowing<double, float> &&
              !detail::is_narrowing<std::string, double> && !detail::is_narrowing<int, size_t>);

TEST_F(LocalClusterTest, AnIntegerThatDoesNotFitIsRefused) {
  local_cluster cluster(1);
  master& m = cluster.master();
  EXPECT_THROW(m.submit(square, int64_t{1} << 32), error);
  EXPECT_THROW(m.submit(square, UINT32_MAX), error);
  EXPECT_THROW(m.submit(make, -1), error);
  EXPECT_EQ(m.pending(), 0u);
  EXPECT_EQ(m.async(square, size_t{3}).get(), 9);
  EXPECT_EQ(m.async(square, -3l).get(), 9);
  EXPECT_EQ(m.async(make, true).get(), "x");
}

TEST_F(LocalClusterTest, NumbersOfTasksAreKeys) {
  std::unordered_map<task_id, std::string> names = {{{1}, "one"}, {{2}, "two"}};
  std::unordered_set<slave_id> slaves = {{1}, {1}, {2}};
  EXPECT_EQ(names.at({2}), "two");
  EXPECT_EQ(slaves.size(), 2u);
}

// Its slot waits for the master's word, and goes on with other tasks after it.
TEST_F(LocalClusterTest, TasksWithALimitOfLossesBesideOthers) {
  for (const char* group : {"1", "4"}) {
    local_cluster cluster(2, {"--mw-slave-task-group", group, "--mw-slots", "2"});
    master& m = cluster.master();
    for (int i = 1; i <= 100; ++i) {
      m.submit(square, policy{.losses = static_cast<uint32_t>(i % 3)}, i);
    }
    for (int left = 100; left > 0;) {
      m.wait();
      for (const result& each : m.take_results()) {
        EXPECT_TRUE(each.ok());
        --left;
      }
    }
  }
}

// ---- Slots -------------------------------------------------------------------------------------

TEST_F(LocalClusterTest, ASlaveOfSeveralSlots) {
  gate_is_open = false;
  local_cluster cluster(1, {"--mw-slave-task-group", "1", "--mw-slots", "3"});
  master& m = cluster.master();
  EXPECT_EQ(m.list_slaves()[0].slots, 3u);
  auto wide = m.async(square, policy{.needs = {.slots = 4}}, 3);
  auto fast = m.async(square, policy{.needs = {.labels = {"fast"}}}, 4);
  std::vector<future<int>> all;
  for (int i = 0; i < 3; ++i) all.push_back(m.async(pass_gate, i));
  m.wait(std::chrono::nanoseconds(0));
  AwaitGate(3);
  EXPECT_FALSE(wide.ready());
  // One that offers something else.
  cluster.add_slave({"--mw-label", "fast", "--mw-slots", "4"});
  EXPECT_EQ(wide.get(), 9);
  EXPECT_EQ(fast.get(), 16);
  EXPECT_TRUE(all[1].cancel());
  while (stopped < 1) std::this_thread::yield();
  gate_is_open = true;
  EXPECT_EQ(all[0].get() + all[2].get(), 2);
  EXPECT_EQ(stopped, 1);
  EXPECT_THROW(cluster.add_slave({"--mw-slots"}), error);
  EXPECT_THROW(cluster.add_slave({"--mw-slots", "0"}), error);
  EXPECT_THROW(cluster.add_slave({"--mw-slave-task-group", "2"}), error);
}

// Results of other slots count when the function of a slave has returned.
TEST_F(LocalClusterTest, AFunctionOfASlaveThatReturns) {
  gate_is_open = false;
  std::atomic<int> returned{0};
  local_cluster cluster(1, {"--mw-slots", "3"}, [&](slave& self) {
    EXPECT_EQ(self.slots(), 3u);
    while (at_gate < 2) (void)self.step(std::chrono::milliseconds(1));
    ++returned;
    return 0;
  });
  master& m = cluster.master();
  // The first slot has a task that ends, the others have not.
  std::vector<future<int>> all;
  auto first = m.async(square, 2);
  EXPECT_EQ(first.get(), 4);
  for (int i = 0; i < 2; ++i) {
    all.push_back(m.async(pass_gate, policy{.slave = {}, .losses = 1, .needs = {.slots = 1}}, i));
  }
  m.wait(std::chrono::nanoseconds(0));
  gate_is_open = true;
  EXPECT_EQ(all[0].get() + all[1].get(), 1);
  while (returned == 0) std::this_thread::yield();
  EXPECT_EQ(stopped, 0);
}

TEST_F(LocalClusterTest, ARestartedMasterKnowsTheNeedsOfItsTasks) {
  local_cluster cluster(1);
  cluster.master().submit(square, policy{.needs = {.resources = {{"gpus", 2}}}}, 5);
  cluster.master().checkpoint();
  master& again = cluster.restart_master();
  again.submit(square, 2);
  again.wait();
  EXPECT_EQ(again.take_results().at(0).get(square), 4);
  cluster.add_slave({"--mw-resource", "gpus=2"});
  again.wait();
  const auto results = again.take_results();
  EXPECT_EQ(results.at(0).get(square), 25);
  EXPECT_EQ(results[0].slave, slave_id{2});
}

TEST_F(LocalClusterTest, TwoClustersDoNotDisturbEachOther) {
  local_cluster first(1), second(2);
  EXPECT_EQ(SumOfSquares(second.master()), 0);
  EXPECT_EQ(SumOfSquares(first.master()), 0);
}

TEST_F(LocalClusterTest, OptionsAreThoseOfTheCommandLine) {
  EXPECT_THROW(local_cluster(1, {"--mw-nonsense", "1"}), error);
  std::atomic<size_t> most = 0;
  {
    local_cluster cluster(1, {"--mw-slave-task-group", "10"}, [&](slave& self) {
      while (!self.step(std::chrono::hours(1)).done()) {
        most = std::max<size_t>(most, self.status().group_size);
      }
      return self.status().exit_code();
    });
    EXPECT_EQ(SumOfSquares(cluster.master()), 0);
  }
  EXPECT_EQ(most, 10u);
}

TEST_F(LocalClusterTest, ASlaveIsKilled) {
  gate_is_open = false;
  local_cluster cluster(1);
  master& m = cluster.master();
  auto again = m.async(pass_gate, 7);
  EXPECT_FALSE(again.ready());
  AwaitGate(1);
  EXPECT_TRUE(cluster.kill_slave({1}));
  EXPECT_FALSE(cluster.kill_slave({1}));
  EXPECT_FALSE(cluster.kill_slave({7}));
  EXPECT_EQ(cluster.add_slave(), slave_id{2});
  AwaitGate(2);
  gate_is_open = true;
  EXPECT_EQ(again.get(), 7);
  while (m.slaves() > 1) std::this_thread::yield();
  while (stopped < 1) std::this_thread::yield();  // the one whose slave was killed
  gate_is_open = false;
  auto once = m.async(pass_gate, policy{.retry = false}, 8);
  EXPECT_FALSE(once.ready());
  AwaitGate(3);
  cluster.kill_slave({2});
  EXPECT_THROW(once.get(), error);
}

TEST_F(LocalClusterTest, AMasterIsKilled) {
  local_cluster cluster(2);
  std::vector<task_id> kept;
  future<int> old;
  {
    master& m = cluster.master();
    EXPECT_FALSE(m.restored());
    gate_is_open = false;
    for (int i = 0; i < 5; ++i) kept.push_back(m.submit(pass_gate, i));
    old = m.async(pass_gate, 5);
    m.checkpoint("here");
    m.submit(pass_gate, 6);
    m.poll();
    AwaitGate(1);
  }
  master& m = cluster.restart_master();
  gate_is_open = true;
  EXPECT_THROW(old.get(), error);
  ASSERT_TRUE(m.restored());
  EXPECT_EQ(m.restored()->state, "here");
  EXPECT_EQ(m.pending(), 6u);
  EXPECT_EQ(m.slaves(), 2u);
  std::set<int> values;
  while (m.pending() > 0) {
    m.wait();
    for (const result& each : m.take_results()) values.insert(each.get(pass_gate));
  }
  EXPECT_EQ(values, (std::set<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(cluster.kill_slave(m.list_slaves().front().id));
}

// The slave disconnects; the process goes on.
TEST_F(LocalClusterTest, ATimeLimit) {
  gate_is_open = false;
  local_cluster cluster(1);
  master& m = cluster.master();
  auto late = m.async(pass_gate, policy{.time = std::chrono::milliseconds(50)}, 1);
  const result is = late.get_result();
  EXPECT_NE(is.failure.find("time limit"), std::string::npos) << is.failure;
  while (m.slaves() > 0) std::this_thread::yield();
  gate_is_open = true;
  cluster.add_slave();
  EXPECT_EQ(SumOfSquares(m), 0);
}

TEST_F(LocalClusterTest, ACancelledTaskIsTold) {
  gate_is_open = false;
  local_cluster cluster(1);
  master& m = cluster.master();
  const task_id first = m.submit(pass_gate, 1);
  m.submit(pass_gate, 2);
  m.poll();
  AwaitGate(1);
  EXPECT_EQ(m.cancel_all(), 2u);
  EXPECT_FALSE(m.cancel(first));
  EXPECT_EQ(m.pending(), 0u);
  auto next = m.async(square, 3);
  EXPECT_EQ(next.get(), 9);
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(at_gate, 1);
  EXPECT_FALSE(stop_requested());
}

// Values of futures fill the memory of results; those that are taken or dropped give their part
// back, and slaves go on.
TEST_F(LocalClusterTest, FuturesHaveAPartOfTheMemoryOfResults) {
  for (const bool dropped : {true, false}) {
    SCOPED_TRACE(dropped);
    const int tasks = dropped ? 12 : 4;
    gate_is_open = false;
    made = 0;
    local_cluster cluster(1, {"--mw-result-memory", "1M"});
    master& m = cluster.master();
    std::vector<future<std::string>> futures;
    for (int i = 0; i < tasks; ++i) futures.push_back(m.async(make, 600'000u));
    futures[1].wait();
    ASSERT_TRUE(futures[0].ready());
    if (dropped) {
      futures.clear();
    } else {
      EXPECT_EQ(futures[0].get().size(), 600'000u);
      EXPECT_EQ(futures[1].get().size(), 600'000u);
    }
    gate_is_open = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (made < tasks && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(made, tasks);
  }
}

// The master has values that it does not take yet, and waits for a result behind them.
TEST_F(LocalClusterTest, FuturesThatFillTheMemoryKeepNoResultAway) {
  local_cluster cluster(1, {"--mw-result-memory", "1M"});
  master& m = cluster.master();
  auto first = m.async(make, 600'000u);
  auto second = m.async(make, 600'000u);
  while (!second.ready()) std::this_thread::yield();  // nothing is held before
  m.submit(square, 7);
  ASSERT_EQ(m.wait(std::chrono::minutes(1)).results, 1u);
  EXPECT_EQ(m.take_results().front().get(square), 49);
  EXPECT_EQ(first.get().size(), 600'000u);
}

}  // namespace
}  // namespace spate::mw
