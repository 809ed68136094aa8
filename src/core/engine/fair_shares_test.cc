// Users who always have more to do than the nodes can run get equal parts of them over time,
// whatever shapes their tasks have: the engine in a world of its own time, where nodes do at once
// what they are told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "core/engine/engine.h"

namespace spate::engine {
namespace {

constexpr uint32_t kSlots = 4;
constexpr uint32_t kBacklog = 100'000;

// The tasks of a user.
struct Shape {
  const char* user = "";
  GangShape gang = {};  // empty: single tasks
  Duration least = Duration::Seconds(10), most = Duration::Seconds(10);
  bool told = false;  // they come with an estimate
  uint32_t weight = 1;
};

class FairWorld {
 public:
  FairWorld(uint32_t nodes, uint64_t seed, Duration half_life) : prng_(seed) {
    Post(ChangeHalfLife{half_life});
    for (uint32_t i = 1; i <= nodes; ++i) {
      Post(NodeJoined{
          NodeId(i),
          {.node_name = fmt::format("n{}", i), .slots = kSlots, .milli_cpus = kSlots * kMilliCpu},
          {}});
    }
    cpus_ = nodes * kSlots;
  }

  void SetPolicy(GangPolicy policy) { Post(ChangeGangPolicy{policy}); }
  void Add(const Shape& shape) {
    const JobId job(static_cast<uint32_t>(shapes_.size() + 1));
    shapes_[job] = shape;
    Post(SetUser{shape.user, {.weight = shape.weight}});
    SubmitJob submit{job, {}};
    submit.plan.user = shape.user;
    submit.plan.task_count = kBacklog;
    TaskClass of_tasks(Needs{});
    of_tasks.gang = shape.gang;
    if (shape.told) of_tasks.needs.time = shape.most;
    submit.plan.requests = {of_tasks};
    submit.plan.runs = {{0, kBacklog, 0}};
    Post(std::move(submit));
  }

  void RunFor(Duration time) {
    const Instant until = now_ + time;
    while (true) {
      Step();
      Instant next = wake_at_;
      if (!ends_.empty()) next = std::min(next, ends_.begin()->first);
      if (!events_.empty()) next = now_;
      if (next > until) break;
      Pass(std::max(next, now_));
    }
    Pass(until);
  }

  // Processor seconds that users had since the last call.
  std::map<std::string, double> TakeUse() { return std::exchange(use_, {}); }
  double cpus() const { return cpus_; }
  // Processor seconds of the largest task.
  double Largest() const {
    double largest = 0;
    for (const auto& [job, shape] : shapes_) {
      largest = std::max(largest, shape.most.seconds() * std::max(shape.gang.procs, 1u));
    }
    return largest;
  }
  const Engine& engine() const { return engine_; }

 private:
  struct Running {
    Attempt attempt;
    Instant since;
    uint32_t procs = 1;
    std::vector<NodeId> nodes;
    std::set<NodeId> ready;
  };
  using Key = std::pair<JobId, TaskIndex>;
  struct Waiting {
    Key key;
    Attempt attempt;
  };

  void Post(Event event) { events_.push_back(std::move(event)); }
  Duration TimeOf(const Shape& shape) {
    const int64_t more = shape.most.ns - shape.least.ns;
    return shape.least + Duration{static_cast<int64_t>(prng_.Below(more + 1))};
  }
  void Pass(Instant to) {
    const double seconds = (to - now_).seconds();
    for (const auto& [job, cpus] : running_cpus_) use_[shapes_.at(job).user] += cpus * seconds;
    // Nodes that stand idle for a user's gangs count as the user's.
    for (const UserInfo& user : engine_.Users()) use_[user.user] += user.kept * seconds;
    now_ = to;
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      const Key key = ends_.begin()->second;
      ends_.erase(ends_.begin());
      End(key);
    }
  }
  void Begin(const Key& key) {
    Running& running = running_.at(key);
    running.since = now_;
    running_cpus_[key.first] += running.procs;
    ends_.insert({now_ + TimeOf(shapes_.at(key.first)), key});
  }
  void End(const Key& key) {
    const Running running = running_.at(key);
    running_.erase(key);
    running_cpus_[key.first] -= running.procs;
    for (NodeId node : running.nodes) {
      AttemptEnd end{.ref = {key.first, key.second, running.attempt}, .slot = 1};
      end.wall = now_ - running.since;
      Post(AttemptsEnded{node, {end}});
      --busy_[node];
      Start(node);
    }
  }
  // A node starts what waits there as slots come free.
  void Start(NodeId node) {
    std::vector<Waiting>& waits = waiting_[node];
    while (!waits.empty() && busy_[node] < kSlots) {
      const Waiting next = waits.front();
      waits.erase(waits.begin());
      ++busy_[node];
      running_[next.key] = {.attempt = next.attempt, .since = {}, .nodes = {node}, .ready = {}};
      Begin(next.key);
    }
  }

  void Take(const SendLease& send) {
    for (const TaskRange& range : send.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        const Key key{send.job, i};
        if (!send.part) {
          waiting_[send.node].push_back({key, send.attempt});
          continue;
        }
        const AttemptRef ref{send.job, i, send.attempt};
        Running& gang = running_[key];
        gang.attempt = send.attempt;
        gang.procs = shapes_.at(send.job).gang.procs;
        gang.nodes.push_back(send.node);
        Post(GangSent{ref});
        Post(RoomTaken{send.node, ref});
      }
    }
    if (!send.part) Start(send.node);
  }
  void Take(const SendAsk& send) { Post(RoomTaken{send.node, {}}); }
  void Take(const SendGo& send) {
    const Key key{send.ref.job, send.ref.index};
    Running& gang = running_.at(key);
    // Each part takes a slot; what else it takes nobody else is given.
    ++busy_[send.node];
    gang.ready.insert(send.node);
    if (gang.ready.size() == gang.nodes.size()) Begin(key);
  }
  void Take(const SendRecall& send) {
    std::vector<Waiting>& waits = waiting_[send.node];
    std::map<Attempt, std::vector<TaskRange>> back;
    for (const Waiting& each : waits) {
      if (each.key.first == send.job) back[each.attempt].push_back({each.key.second, 1});
    }
    std::erase_if(waits, [&](const Waiting& each) { return each.key.first == send.job; });
    for (auto& [attempt, tasks] : back) {
      Post(TasksReturned{send.node, send.job, attempt, std::move(tasks)});
    }
  }
  void Take(const SendStop&) { ADD_FAILURE() << "nothing is stopped here"; }
  void Take(const SendFreeze&) { ADD_FAILURE() << "nothing is frozen here"; }
  void Take(const SendResize&) { ADD_FAILURE() << "nothing is resized here"; }
  void Take(const SendDrop&) { ADD_FAILURE() << "nothing is lost here"; }

  void Step() {
    Output out;
    const std::vector<Event> events = std::exchange(events_, {});
    engine_.Step({now_, events}, out);
    wake_at_ = out.wake_at;
    for (const Send& send : out.sends) {
      std::visit([this](const auto& each) { Take(each); }, send);
    }
  }

  Prng prng_;
  Engine engine_;
  Instant now_ = Instant() + Duration::Seconds(1'000'000);
  Instant wake_at_ = Instant::Never();
  std::vector<Event> events_;
  std::map<JobId, Shape> shapes_;
  double cpus_ = 0;
  std::map<Key, Running> running_;
  std::map<JobId, double> running_cpus_;
  std::multimap<Instant, Key> ends_;
  std::map<NodeId, uint32_t> busy_;
  std::map<NodeId, std::vector<Waiting>> waiting_;
  std::map<std::string, double> use_;
};

const Shape kSingles{.user = "singles"};
const Shape kOneNode{.user = "one-node", .gang = {.procs = 4, .nodes = 1}};
const Shape kFourNodes{.user = "four-node", .gang = {.procs = 16, .nodes = 4}};

Shape Of(Shape shape, Duration least, Duration most, bool told) {
  shape.least = least;
  shape.most = most;
  shape.told = told;
  return shape;
}

// How far apart the users are over so many mean run times, after time to begin with, in parts of
// their mean and beside one task; of several worlds together, as each has its chances.
double Apart(uint32_t nodes, const std::vector<Shape>& shapes, Duration mean, int times) {
  constexpr uint64_t kWorlds = 6;
  std::map<std::string, double> had;
  double largest = 0, all = 0;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    FairWorld world(nodes, seed, kLimits.share_half_life);
    for (const Shape& shape : shapes) world.Add(shape);
    world.RunFor(mean * 10);
    world.TakeUse();
    world.RunFor(mean * times);
    for (const auto& [user, use] : world.TakeUse()) had[user] += use;
    largest = world.Largest();
    all += world.cpus() * mean.seconds() * times;
  }
  double least = 1e18, most = 0, sum = 0;
  std::string text;
  for (const Shape& shape : shapes) {
    least = std::min(least, had[shape.user] / shape.weight);
    most = std::max(most, had[shape.user] / shape.weight);
    sum += had[shape.user];
    text += fmt::format(" {} {:.3f}", shape.user, had[shape.user] / all);
  }
  const double apart =
      std::max(0.0, most - least - largest) / (sum / static_cast<double>(shapes.size()));
  if (std::getenv("SPATE_SHOW") != nullptr) fmt::print("{} apart {:.3f}\n", text, apart);
  return apart;
}

class MixedSharesTest : public testing::TestWithParam<std::tuple<bool, int>> {};

TEST_P(MixedSharesTest, MixedShapesGetTheSameOverTenRunTimes) {
  const auto [told, seconds] = GetParam();
  const Duration mean = Duration::Seconds(seconds);
  for (uint32_t nodes : {8u, 24u, 48u}) {
    for (Duration spread : {mean / 10, mean / 2}) {
      std::vector<Shape> shapes;
      for (const Shape& shape : {kSingles, kOneNode, kFourNodes}) {
        shapes.push_back(Of(shape, mean - spread, mean + spread, told));
      }
      // A gang of four takes half of 8 nodes.
      const double most = nodes == 8 ? 0.1 : 0.05;
      EXPECT_LE(Apart(nodes, shapes, mean, 10), most) << nodes << " nodes, " << spread.seconds();
    }
  }
}

// Tasks of equal length free all nodes at once, and one user after the other has most of them for a
// while: over more of these times their shares are as near to each other.
TEST_P(MixedSharesTest, TasksThatEndTogetherTakeTurns) {
  const auto [told, seconds] = GetParam();
  const Duration mean = Duration::Seconds(seconds);
  for (uint32_t nodes : {8u, 24u, 48u}) {
    std::vector<Shape> shapes;
    for (const Shape& shape : {kSingles, kOneNode, kFourNodes}) {
      shapes.push_back(Of(shape, mean, mean, told));
    }
    EXPECT_LE(Apart(nodes, shapes, mean, 30), 0.05) << nodes << " nodes";
  }
}

// Run times that differ by fifty, and weights.
TEST(FairSharesTest, ShortAndLongTasksGetTheSame) {
  const Shape brief{.user = "brief", .least = Duration::Seconds(1), .most = Duration::Seconds(3)};
  const Shape slow = Of(kSingles, Duration::Seconds(50), Duration::Seconds(150), false);
  EXPECT_LE(Apart(8, {brief, slow}, Duration::Seconds(100), 10), 0.05);
  Shape heavy = Of(kFourNodes, Duration::Seconds(50), Duration::Seconds(150), false);
  heavy.weight = 3;
  EXPECT_LE(Apart(24, {slow, heavy}, Duration::Seconds(100), 10), 0.05);
}

// A node is given many tasks that are done within milliseconds, and more when few of them are left:
// until then it runs as many at once as before.
TEST(FairSharesTest, TasksThatAreLeasedAheadCountAsTheyRun) {
  const Shape brief{.user = "brief", .least = Duration::Millis(5), .most = Duration::Millis(15)};
  const Shape slow = Of(kSingles, Duration::Millis(500), Duration::Millis(1500), false);
  EXPECT_LE(Apart(2, {brief, slow}, Duration::Seconds(1), 10), 0.05);
}

// Gangs much shorter than the time between two passes over them: all that was promised is late at
// the next one, and z comes before those that were promised something since.
TEST(FairSharesTest, AShortGangIsNotLeftBehindForEver) {
  FairWorld world(4, 1, Duration());
  world.SetPolicy(GangPolicy::kConservative);
  const Duration time = Duration::Micros(100);
  for (const char* user : {"x", "y"}) {
    world.Add({.user = user, .gang = {2, 1}, .least = time, .most = time, .told = true});
  }
  world.Add({.user = "z", .gang = {4, 4}, .least = time, .most = time, .told = true});
  world.RunFor(Duration::Seconds(10));
  auto use = world.TakeUse();
  EXPECT_GT(use["z"], use["x"] / 10);
}

// A later user gets more at first, until the other one's earlier use counts no more; and the other
// one is not left without anything for longer than that takes.
TEST(FairSharesTest, PastUseCountsAndIsForgotten) {
  const Shape first{.user = "first", .least = Duration::Seconds(5), .most = Duration::Seconds(15)};
  const Shape second{
      .user = "second", .least = Duration::Seconds(5), .most = Duration::Seconds(15)};
  const Duration half_life = Duration::Seconds(600);
  FairWorld world(8, 1, half_life);
  world.Add(first);
  world.RunFor(half_life * 10);
  world.Add(second);
  world.TakeUse();
  world.RunFor(half_life / 2);
  auto use = world.TakeUse();
  EXPECT_GT(use["second"], 4 * use["first"]);
  world.RunFor(half_life);
  world.TakeUse();
  world.RunFor(half_life / 2);
  use = world.TakeUse();
  EXPECT_NEAR(use["first"] / use["second"], 1, 0.1);
  // Without a half-life what is in use now is all that counts.
  FairWorld now(8, 1, Duration());
  now.Add(first);
  now.RunFor(half_life * 10);
  now.Add(second);
  now.RunFor(Duration::Seconds(60));
  now.TakeUse();
  now.RunFor(half_life);
  use = now.TakeUse();
  EXPECT_NEAR(use["first"] / use["second"], 1, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Times, MixedSharesTest,
                         testing::Combine(testing::Bool(), testing::Values(1, 10, 100, 600)));

}  // namespace
}  // namespace spate::engine
