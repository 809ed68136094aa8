// Decide over tables of views: nodes, users and jobs that are told to a board, without an engine.
#include "core/engine/place/decide.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"

namespace spate::engine::place {
namespace {

constexpr Instant kNow{1'700'000'000'000'000'000};

// A class of equal tasks that are ready, and where the first of them stands.
struct ClassView {
  Needs needs;
  uint32_t tasks = 0;
  ClassTurn turn = {};
  BoundBy bound = BoundBy::kUnknown;
};
struct JobView {
  std::string user;
  std::vector<ClassView> classes;
  int32_t priority = 0;
  uint32_t weight = kJobWeight;
  uint32_t max_running = 0;
  std::vector<NodeId> avoids = {};
  bool lossy = false;
};

struct Given {
  JobId job;
  uint32_t request = 0;
  NodeId node;
  uint32_t tasks = 0;
  friend bool operator==(const Given&, const Given&) = default;
};

Needs Cpus(uint32_t milli) { return {.milli_cpus = milli}; }

// Keeps the board, as the engine does: each job's tasks are counts of classes.
class World {
 public:
  // A node of somebody else keeps others from being alone, and from being held ahead. As it is
  // never kept, it hides what happens where all are.
  explicit World(bool and_of_another = true) {
    if (and_of_another) AddNode({.slots = 1, .user = "nobody"});
  }
  NodeId AddNode(Offer offer) {
    NodeId id(++nodes_);
    Node& node = board.nodes[id];
    if (offer.milli_cpus == 0) offer.milli_cpus = offer.slots * kMilliCpu;
    node.offer = std::move(offer);
    node.present = true;
    board.MarkRoomy(id, node);
    board.unpark = true;
    return id;
  }
  JobId AddJob(JobView view) {
    JobId id(++jobs_);
    Kept& kept = kept_[id];
    kept.view = std::move(view);
    for (const ClassView& each : kept.view.classes) {
      kept.requests.emplace_back(each.needs).bound = each.bound;
    }
    Job& job = board.AddJob(id, kept.view.user, kept.view.priority, kept.requests);
    for (uint32_t i = 0; i < kept.requests.size(); ++i) Tell(job, kept, i);
    board.Settle(job);
    return id;
  }
  std::vector<Given> Decide() {
    given.clear();
    if (std::exchange(board.unpark, false)) board.UnparkAll();
    reserved = decider.Decide(now, [this](const Assignment& each) { return Give(each); });
    return given;
  }
  // Tasks of the job that nodes have.
  uint32_t LeasedOf(JobId id) const {
    uint32_t leased = 0;
    for (const auto& [node_id, node] : board.nodes) {
      auto here = node.jobs.find(id);
      if (here != node.jobs.end()) leased += here->second.leased;
    }
    return leased;
  }
  void End(JobId id, uint32_t request, NodeId node) {
    Job& job = *board.FindJob(id);
    Kept& kept = kept_.at(id);
    --kept.leased;
    board.ReturnTasks(job, node, board.nodes.at(node), request, 1, false);
    Tell(job, kept, request);
    board.Settle(job);
  }
  const JobView& ViewOf(JobId id) const { return kept_.at(id).view; }

  Instant now = kNow;
  Board board{kLimits};
  Decider decider{board};
  std::vector<Given> given;
  std::vector<Reservation> reserved;
  // Called before each assignment is taken.
  std::function<void(const Assignment&)> look = [](const Assignment&) {};

 private:
  struct Kept {
    JobView view;
    std::vector<TaskClass> requests;
    uint32_t leased = 0;
  };

  void Tell(Job& job, Kept& kept, uint32_t request) {
    const ClassView& each = kept.view.classes[request];
    Ready::Queued queued{.waiting = each.tasks};
    if (each.tasks > 0) queued.turn = each.turn;
    job.ready.Set(request, queued);
    JobFacts facts{.runnable = true, .leased = kept.leased};
    for (const ClassView& every : kept.view.classes) facts.queued += every.tasks;
    facts.waiting = facts.queued;
    facts.max_running = kept.view.max_running;
    facts.weight = kept.view.weight;
    facts.known = kept.leased > 0;
    facts.lossy = kept.view.lossy;
    facts.avoids = kept.view.avoids;
    facts.troubled = !facts.avoids.empty();
    board.SetFacts(job, std::move(facts));
  }
  Answer Give(const Assignment& each) {
    look(each);
    Job& job = *board.FindJob(each.job.id);
    Kept& kept = kept_.at(job.id);
    ClassView& view = kept.view.classes[each.request];
    uint32_t tasks = std::min(each.most, view.tasks);
    // The tasks of a class stand one behind the other.
    uint64_t before = each.until.kind == view.turn.kind && each.until.priority == view.turn.priority
                          ? each.until.sequence - view.turn.sequence
                          : UINT64_MAX;
    tasks = static_cast<uint32_t>(std::min<uint64_t>(tasks, before));
    view.tasks -= tasks;
    view.turn.sequence += tasks;
    kept.leased += tasks;
    board.LeaseTasks(job, board.nodes.at(each.node), each.request, tasks, false);
    Tell(job, kept, each.request);
    board.Settle(job);
    given.push_back({job.id, each.request, each.node, tasks});
    return {.tasks = tasks};
  }

  uint32_t nodes_ = 0;
  uint32_t jobs_ = 0;
  std::map<JobId, Kept> kept_;
};

// ---- Tables

struct OrderCase {
  const char* what;
  uint32_t slots;
  std::vector<JobView> jobs;
  std::vector<uint32_t> leased;  // of each job, in the end
};

TEST(Decide, ServesInOrder) {
  auto one = [](const char* user, uint32_t tasks) { return JobView{user, {{Cpus(1000), tasks}}}; };
  auto with = [](JobView view, auto change) {
    change(view);
    return view;
  };
  const OrderCase cases[] = {
      {"two users share", 8, {one("ada", 20), one("bob", 20)}, {4, 4}},
      {"what one leaves the other has", 8, {one("ada", 2), one("bob", 20)}, {2, 6}},
      {"jobs of a user share", 8, {one("ada", 20), one("ada", 20)}, {4, 4}},
      {"users come before jobs", 8, {one("ada", 9), one("ada", 9), one("bob", 9)}, {2, 2, 4}},
      {"jobs share by their weights",
       8,
       {one("ada", 20), with(one("ada", 20), [](JobView& v) { v.weight = 300; })},
       {2, 6}},
      {"the higher priority goes first",
       8,
       {one("ada", 20), with(one("ada", 6), [](JobView& v) { v.priority = 1; })},
       {2, 6}},
      {"--max-running leaves the rest to others",
       8,
       {with(one("ada", 20), [](JobView& v) { v.max_running = 3; }), one("ada", 20)},
       {3, 5}},
      {"a job keeps away from nodes",
       8,
       {with(one("ada", 20), [](JobView& v) { v.avoids = {NodeId(2)}; }), one("ada", 2)},
       {8, 2}},
  };
  for (const OrderCase& c : cases) {
    SCOPED_TRACE(c.what);
    World world;
    world.AddNode({.slots = c.slots});
    // The one that only those avoid who say so.
    bool second = c.leased[0] == c.slots;
    if (second) world.AddNode({.slots = c.slots});
    for (const JobView& job : c.jobs) world.AddJob(job);
    world.Decide();
    for (uint32_t i = 0; i < c.leased.size(); ++i) {
      EXPECT_EQ(world.LeasedOf(JobId(i + 1)), c.leased[i]) << "job " << i + 1;
    }
  }
}

TEST(Decide, TakesClassesInTheirOrder) {
  using Kind = ClassTurn::Kind;
  struct Case {
    const char* what;
    ClassTurn first;
    ClassTurn second;
    uint32_t goes;  // whose turn it is
  };
  for (const Case& c : {
           Case{"fresh ones by their place", {.sequence = 5}, {.sequence = 3}, 1},
           Case{"priority first", {.priority = 1, .sequence = 9}, {.sequence = 0}, 0},
           Case{"a low priority waits", {.priority = -1, .sequence = 0}, {.sequence = 9}, 1},
           Case{"also before what was queued again",
                {.priority = 0, .kind = Kind::kAgain, .sequence = 1},
                {.priority = 1, .sequence = 9},
                1},
           Case{"what was queued again goes before fresh ones",
                {.sequence = 0},
                {.kind = Kind::kAgain, .sequence = 7},
                1},
           Case{"the oldest that was queued again",
                {.kind = Kind::kAgain, .sequence = 9},
                {.kind = Kind::kAgain, .sequence = 7},
                1},
           Case{"what is due goes before fresh ones",
                {.sequence = 0},
                {.kind = Kind::kDue, .at = kNow, .sequence = 7},
                1},
           Case{"of what is due the first that was",
                {.kind = Kind::kDue, .at = Instant{5}, .sequence = 7},
                {.kind = Kind::kDue, .at = Instant{6}, .sequence = 3},
                0},
       }) {
    SCOPED_TRACE(c.what);
    World world;
    world.AddNode({.slots = 1});
    world.AddJob({"", {{Cpus(1000), 1, c.first}, {Cpus(500), 1, c.second}}});
    world.Decide();
    ASSERT_FALSE(world.given.empty());
    EXPECT_EQ(world.given[0].request, c.goes);
  }
}

// Two jobs bound by the same thing are on one node only where there is no other way.
TEST(Decide, KeepsJobsThatSlowEachOtherDownApart) {
  World world;
  const NodeId large = world.AddNode({.slots = 8});
  const NodeId small = world.AddNode({.slots = 4});
  auto node_of = [&](const char* what, BoundBy bound, uint32_t tasks) {
    SCOPED_TRACE(what);
    const JobId id = world.AddJob({"ada", {{.needs = Cpus(1000), .tasks = tasks, .bound = bound}}});
    world.Decide();
    EXPECT_EQ(world.LeasedOf(id), tasks);
    return world.given.front().node;
  };
  EXPECT_EQ(node_of("the most room", BoundBy::kCpu, 2), large);
  EXPECT_EQ(node_of("another job bound by cpu", BoundBy::kCpu, 1), small);
  EXPECT_EQ(node_of("bound by memory", BoundBy::kMemory, 1), large);
  EXPECT_EQ(node_of("again by memory", BoundBy::kMemory, 1), small);
  EXPECT_EQ(node_of("not said", BoundBy::kUnknown, 1), large);
  // Both nodes have one bound by cpu: no slot stays empty for that.
  EXPECT_EQ(node_of("no other way", BoundBy::kCpu, 6), large);
}

// A task whose end is reported later takes no room, and its job's max_running does not count it.
TEST(Decide, AnEndedTaskTakesNoRoom) {
  for (uint32_t most : {0u, 2u}) {
    SCOPED_TRACE(most);
    World world;
    const NodeId id = world.AddNode({.slots = 2});
    JobView view{"ada", {{Cpus(1000), 9}}};
    view.max_running = most;
    const JobId job = world.AddJob(view);
    Node& node = world.board.nodes.at(id);
    world.Decide();
    ASSERT_EQ(world.LeasedOf(job), 2u);
    EXPECT_TRUE(world.Decide().empty());
    for (int twice = 0; twice < 2; ++twice) {
      world.board.SetOver(*world.board.FindJob(job), id, node, 0, 0);
      world.board.Settle(*world.board.FindJob(job));
      EXPECT_EQ(world.Decide().size(), twice == 0 ? 1u : 0u);
      EXPECT_EQ(world.LeasedOf(job), 3u);
      EXPECT_FALSE(node.crowded);
    }
    world.board.DropOver(node, {job, 0});
    world.End(job, 0, id);
    EXPECT_TRUE(world.Decide().empty());
    EXPECT_EQ(world.LeasedOf(job), 2u);
    Amounts room;
    EXPECT_EQ(node.Taken(room), node.held);
  }
}

TEST(Decide, KeepsRoomForWhatIsLarge) {
  World world;
  NodeId node = world.AddNode({.slots = 4});
  world.AddNode({.slots = 1});
  JobId small = world.AddJob({"ada", {{Cpus(1000), 3}}});
  world.Decide();
  ASSERT_EQ(world.LeasedOf(small), 3u);
  // It needs all of the first node, where some now run; what comes behind it goes to the second.
  JobId large = world.AddJob({"bob", {{Cpus(4000), 1}}});
  JobId more = world.AddJob({"cyd", {{Cpus(1000), 3}}});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(large), 0u);
  EXPECT_TRUE(std::ranges::any_of(world.reserved, [&](const Reservation& each) {
    return each.node == node && each.job == large;
  }));
  EXPECT_LE(world.LeasedOf(more), 1u);
  while (world.LeasedOf(small) > 0) {
    for (const auto& [id, each] : world.board.nodes) {
      auto here = each.jobs.find(small);
      if (here == each.jobs.end() || here->second.leased == 0) continue;
      world.End(small, 0, id);
      break;
    }
    world.Decide();
  }
  EXPECT_EQ(world.LeasedOf(large), 1u);
}

TEST(Decide, SmallerOnesOfItsUserGoBeforeForAWhile) {
  const Duration kLate = kLimits.passed_for;
  const Duration kEarly = kLate - Duration::Seconds(1);
  const ClassView large{Cpus(4000), 1};
  const ClassView small{Cpus(1000), 5, {.sequence = 1}};
  const ClassView free{Cpus(0), 5, {.sequence = 1}};
  const ClassView second{Cpus(3000), 1, {.sequence = 1}};
  const ClassView third{Cpus(1000), 5, {.sequence = 2}};
  struct Case {
    const char* what;
    std::vector<JobView> jobs;
    uint32_t busy;  // slots of four
    Duration waited;
    uint32_t leased;  // in the end, beside the busy ones
  };
  auto lossy = [](JobView view) {
    view.lossy = true;
    return view;
  };
  const Case cases[] = {
      {"of its job", {{"ada", {large, small}}}, 1, kEarly, 3},
      {"of its job, late", {{"ada", {large, small}}}, 1, kLate, 0},
      {"of another job", {{"ada", {large}}, {"ada", {small}}}, 1, kEarly, 3},
      {"of another job, late", {{"ada", {large}}, {"ada", {small}}}, 1, kLate, 0},
      {"of another user", {{"ada", {large}}, {"bob", {small}}}, 1, kEarly, 0},
      {"of another user, late", {{"ada", {large}}, {"bob", {small}}}, 1, kLate, 0},
      {"of its own user beside others", {{"ada", {large, small}}, {"bob", {small}}}, 1, kEarly, 3},
      {"before one that kills", {lossy({"ada", {large, small}})}, 1, kEarly, 0},
      {"without processors on a full node", {{"ada", {large, free}}}, 4, kEarly, 4},
      {"two large ones are passed", {{"ada", {large, second, third}}}, 2, kEarly, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    World world;
    bool full = c.busy == 4;
    NodeId node = world.AddNode({.slots = full ? 8u : 4u, .milli_cpus = 4000});
    JobId busy = world.AddJob({"cyd", {{Cpus(1000), 4}}});
    world.Decide();
    ASSERT_EQ(world.LeasedOf(busy), 4u);
    for (const JobView& job : c.jobs) world.AddJob(job);
    std::vector<Given> at_once = world.Decide();
    EXPECT_EQ(at_once.empty(), !full);
    world.now = world.now + c.waited;
    for (uint32_t ends = c.busy; ends < 4; ++ends) world.End(busy, 0, node);
    world.Decide();
    uint32_t leased = 0;
    for (uint32_t i = 0; i < c.jobs.size(); ++i)
      leased += world.LeasedOf(JobId(busy.value + i + 1));
    EXPECT_EQ(leased, c.leased);
    for (const Given& each : world.given) EXPECT_EQ(world.ViewOf(each.job).user, "ada");
  }
}

// One that has waited long has room kept also where another one that comes first is still passed.
TEST(Decide, KeepsRoomBehindWhatIsPassed) {
  World world;
  NodeId node = world.AddNode({.slots = 8});
  JobId busy = world.AddJob({"cyd", {{Cpus(1000), 8}}});
  world.Decide();
  JobId old = world.AddJob({"ada", {{Cpus(3000), 1}}});
  world.Decide();
  world.now = world.now + kLimits.passed_for;
  world.AddJob({.user = "ada", .classes = {{Cpus(8000), 1}}, .priority = 1});
  JobId small = world.AddJob({"ada", {{Cpus(1000), 9}}});
  for (int i = 0; i < 2; ++i) world.End(busy, 0, node);
  world.Decide();
  EXPECT_EQ(world.LeasedOf(small), 0u);
  world.End(busy, 0, node);
  world.Decide();
  EXPECT_EQ(world.LeasedOf(old), 1u);
  EXPECT_EQ(world.LeasedOf(small), 0u);
  world.End(busy, 0, node);
  world.Decide();
  EXPECT_EQ(world.LeasedOf(small), 1u);
}

TEST(Decide, WhoWaitsForACardLeavesTheCpus) {
  World world;
  world.AddNode({.slots = 8, .named = {{"gpus", {"0"}}}});
  Needs card{.milli_cpus = 1000, .named = {{"gpus", 1}}};
  world.board.SetRule("ada", {.weight = 100});  // so that it goes first
  JobId cards = world.AddJob({"ada", {{card, 3}}});
  JobId cpus = world.AddJob({"bob", {{Cpus(1000), 20}}});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(cards), 1u);
  EXPECT_EQ(world.LeasedOf(cpus), 6u);  // a slot is kept for the next one with a card
}

TEST(Decide, WhatFitsNoNodeStandsAside) {
  World world;
  world.AddNode({.slots = 4});
  JobId misfit = world.AddJob({"ada", {{Cpus(64'000), 5}}});
  JobId other = world.AddJob({"ada", {{Cpus(1000), 9}}});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(other), 4u);
  EXPECT_TRUE(world.reserved.empty() || world.reserved[0].job == other);
  EXPECT_EQ(world.board.users.at("ada").line.fronts().size(), 1u);  // the misfit has left it
  world.AddNode({.slots = 64});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(misfit), 1u);
}

TEST(Decide, WhatFitsIsNoMisfitForTheClassesBehindIt) {
  World world;
  NodeId node = world.AddNode({.slots = 8, .named = {{"gpus", {"0"}}}});
  Needs card{.milli_cpus = 1000, .named = {{"gpus", 1}}};
  JobId first = world.AddJob({"ada", {{card, 1}}});
  world.Decide();
  ASSERT_EQ(world.LeasedOf(first), 1u);
  // The card is taken, the next one goes, and the last one fits nowhere. Another one who wants some
  // makes that two turns.
  world.AddJob({"bob", {{Cpus(1000), 20}}});
  world.board.SetRule("ada", {.weight = 100});
  ClassTurn second{.sequence = 1};
  ClassTurn third{.sequence = 2};
  JobId job = world.AddJob({"ada", {{card, 1}, {Cpus(1000), 1, second}, {Cpus(64'000), 1, third}}});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(job), 1u);
  world.End(first, 0, node);
  world.Decide();
  EXPECT_EQ(world.LeasedOf(job), 2u);
}

TEST(Decide, WhoStandsAsideLeavesOthersAlone) {
  World world;
  world.AddNode({.slots = 4});
  for (int32_t priority : {0, 0, 7}) {
    world.AddJob({.user = "ada", .classes = {{Cpus(64'000), 5}}, .priority = priority});
  }
  world.AddJob({"bob", {{Cpus(64'000), 5}}});
  world.AddJob({"ada", {{Cpus(1000), 9}}});
  EXPECT_TRUE(world.board.Contended());
  world.Decide();
  EXPECT_FALSE(world.board.Contended());
  EXPECT_EQ(world.board.users.at("ada").contenders()->jobs, 1u);
  EXPECT_FALSE(world.board.users.at("bob").contenders());
  // A misfit that comes later stands aside with its like, and another job is a contender.
  world.AddJob({"ada", {{Cpus(64'000), 1}}});
  EXPECT_FALSE(world.board.Contended());
  world.AddJob({"ada", {{Cpus(1000), 9}}});
  EXPECT_TRUE(world.board.Contended());
  world.AddNode({.slots = 64});
  world.Decide();
  EXPECT_TRUE(world.board.Contended()) << "nothing stands aside where a node fits it";
}

TEST(Decide, AnswersTellWhereTasksMayNotGo) {
  World world;
  NodeId first = world.AddNode({.slots = 2});
  NodeId second = world.AddNode({.slots = 2});
  world.AddJob({"", {{Cpus(1000), 4}}});
  std::vector<NodeId> asked;
  world.decider.Decide(kNow, [&](const Assignment& each) -> Answer {
    asked.push_back(each.node);
    return {};
  });
  EXPECT_EQ(asked, (std::vector<NodeId>{first, second}));  // once each, and no end
}

// ---- Properties

class AnyWorld {
 public:
  explicit AnyWorld(uint64_t seed) : world(seed % 2 == 0), prng_(seed) {
    for (uint64_t n = 2 + prng_.Below(5); n > 0; --n) world.AddNode(AnyOffer());
    for (uint64_t n = 1 + prng_.Below(8); n > 0; --n) world.AddJob(AnyJob());
    for (const char* user : kUsers) {
      UserRule rule{.weight = 1 + static_cast<uint32_t>(prng_.Below(3))};
      if (prng_.Chance(30)) rule.max_running = 1 + static_cast<uint32_t>(prng_.Below(9));
      if (prng_.Chance(30)) rule.group = "@lab";
      world.board.SetRule(user, rule);
    }
    if (prng_.Chance(50)) world.board.SetRule("@lab", {.max_running = 4});
  }
  // Some of what runs ends, and jobs come.
  void Change() {
    for (auto& [id, node] : world.board.nodes) {
      for (const auto& [job, request] : std::vector(running_[id].begin(), running_[id].end())) {
        if (!prng_.Chance(40)) continue;
        world.End(job, request, id);
        running_[id].erase(running_[id].find({job, request}));
      }
    }
    if (prng_.Chance(50)) world.AddJob(AnyJob());
    world.now = world.now + Duration::Seconds(static_cast<int64_t>(prng_.Below(40)));
  }
  void Decide() {
    for (const Given& each : world.Decide()) {
      for (uint32_t i = 0; i < each.tasks; ++i) {
        running_[each.node].insert({each.job, each.request});
      }
    }
  }

  World world;

 private:
  static constexpr const char* kUsers[] = {"ada", "bob", "cyd"};

  Offer AnyOffer() {
    Offer offer{.slots = 1 + static_cast<uint32_t>(prng_.Below(8))};
    offer.milli_cpus = kMilliCpu * static_cast<uint32_t>(1 + prng_.Below(8));
    offer.memory = 8;
    if (prng_.Chance(40)) offer.named = {{"gpus", {"0", "1"}}};
    return offer;
  }
  Needs AnyNeeds() {
    Needs needs{.milli_cpus = static_cast<uint32_t>(250 << prng_.Below(5))};
    if (prng_.Chance(30)) needs.memory = 1 + prng_.Below(6);
    if (prng_.Chance(25)) needs.named = {{"gpus", 1 + static_cast<uint32_t>(prng_.Below(2))}};
    return needs;
  }
  JobView AnyJob() {
    JobView job{.user = kUsers[prng_.Below(3)]};
    uint64_t place = 0;
    for (uint64_t n = 1 + prng_.Below(4); n > 0; --n) {
      ClassView each{AnyNeeds(), 1 + static_cast<uint32_t>(prng_.Below(12))};
      each.turn.sequence = place;
      place += each.tasks;
      if (prng_.Chance(30)) each.turn.kind = ClassTurn::Kind::kAgain;
      if (prng_.Chance(30)) each.turn.priority = static_cast<int32_t>(prng_.Below(3)) - 1;
      job.classes.push_back(std::move(each));
    }
    job.priority = static_cast<int32_t>(prng_.Below(2));
    job.weight = 50 * (1 + static_cast<uint32_t>(prng_.Below(4)));
    if (prng_.Chance(25)) job.max_running = 1 + static_cast<uint32_t>(prng_.Below(6));
    return job;
  }

  Prng prng_;
  std::map<NodeId, std::multiset<std::pair<JobId, uint32_t>>> running_;
};

// Nothing is given that a node has not got, nor past a bound.
void CheckBounds(const World& world) {
  for (const auto& [id, node] : world.board.nodes) {
    ASSERT_FALSE(Crowded(node.offer, node.held)) << "node " << id.value;
  }
  for (const auto& [id, job] : world.board.jobs) {
    uint32_t most = world.ViewOf(id).max_running;
    if (most > 0) ASSERT_LE(world.LeasedOf(id), most) << "job " << id.value;
  }
  for (const auto& [name, user] : world.board.users) {
    if (user.rule.max_running > 0) ASSERT_LE(user.leased, user.rule.max_running) << name;
  }
}

bool IsKept(const World& world, NodeId id, const Job& from) {
  return std::ranges::any_of(world.reserved, [&](const Reservation& each) {
    bool own = world.ViewOf(each.job).user == *from.user_name;
    return each.node == id && !(own && each.passed);
  });
}

// Nothing that may start is left waiting, but where room is kept from it.
void CheckNothingIdle(const World& world) {
  for (const auto& [id, job] : world.board.jobs) {
    if (!job.asks() || job.user->IsBound()) continue;
    for (const Ready::Entry& each : job.ready.order()) {
      for (const auto& [node_id, node] : world.board.nodes) {
        const Needs& needs = job.NeedsOf(each.number);
        bool starts =
            FitNow(node, *job.user_name, needs, kNow) > 0 && Starts(node.offer, node.held, needs);
        ASSERT_TRUE(!starts || IsKept(world, node_id, job))
            << "job " << id.value << " class " << each.number << " node " << node_id.value;
      }
    }
  }
}

// Before a class is served, those of its job whose turn is earlier have no room.
struct Passed {
  const Job* job;
  uint32_t request;
  NodeId node;  // it would have started there
};
std::vector<Passed> PassedWithRoom(const World& world, const Assignment& assigned) {
  std::vector<Passed> passed;
  for (const Ready::Entry& each : assigned.job.ready.order()) {
    if (each.number == assigned.request) break;
    const Needs& needs = assigned.job.NeedsOf(each.number);
    for (const auto& [id, node] : world.board.nodes) {
      if (FitNow(node, *assigned.job.user_name, needs, kNow) > 0 &&
          Starts(node.offer, node.held, needs)) {
        passed.push_back({&assigned.job, each.number, id});
      }
    }
  }
  return passed;
}

TEST(DecideProperties, HoldOverManyPasses) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    AnyWorld any(seed);
    std::vector<Passed> passed;
    uint64_t round = 0;
    any.world.look = [&](const Assignment& each) {
      // Once nobody contends any more, all jobs are asked again.
      if (std::exchange(round, any.world.board.rounds) != any.world.board.rounds) passed.clear();
      auto more = PassedWithRoom(any.world, each);
      passed.insert(passed.end(), more.begin(), more.end());
    };
    for (int pass = 0; pass < 12; ++pass) {
      passed.clear();
      any.Decide();
      CheckBounds(any.world);
      CheckNothingIdle(any.world);
      if (round != any.world.board.rounds) passed.clear();
      for (const Passed& each : passed) {
        ASSERT_TRUE(IsKept(any.world, each.node, *each.job))
            << "class " << each.request << " of job " << each.job->id.value << " was passed";
      }
      if (testing::Test::HasFatalFailure()) return;
      any.Change();
    }
  }
}

TEST(DecideProperties, TheSameComesOfTheSame) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    AnyWorld one(seed);
    AnyWorld other(seed);
    for (int pass = 0; pass < 8; ++pass) {
      one.Decide();
      other.Decide();
      ASSERT_EQ(one.world.given, other.world.given) << "seed " << seed;
      one.Change();
      other.Change();
    }
  }
}

// Users who all want more than there is have as much as each other by their weights, to the largest
// part that was given at once.
TEST(DecideProperties, UsersShareByTheirWeights) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    World world;
    for (uint64_t n = 1 + prng.Below(6); n > 0; --n) {
      world.AddNode({.slots = 2 + static_cast<uint32_t>(prng.Below(14))});
    }
    std::vector<std::pair<JobId, uint32_t>> users;  // and their weights
    for (const char* user : {"ada", "bob", "cyd"}) {
      auto weight = 1 + static_cast<uint32_t>(prng.Below(4));
      world.board.SetRule(user, {.weight = weight});
      users.emplace_back(world.AddJob({user, {{Cpus(1000), 500}}}), weight);
    }
    world.Decide();
    double largest = 0;
    for (const Given& each : world.given) {
      largest = std::max(largest, double(each.tasks) / users[each.job.value - 1].second);
    }
    for (const auto& [a, of_a] : users) {
      for (const auto& [b, of_b] : users) {
        double more = double(world.LeasedOf(a)) / of_a - double(world.LeasedOf(b)) / of_b;
        ASSERT_LE(more, largest + 1e-9) << "jobs " << a.value << " and " << b.value;
      }
    }
  }
}

// A group has its part by its weight, however many members it has, and each member a part of that.
TEST(DecideProperties, GroupsShareByTheirWeights) {
  for (uint32_t members : {1u, 2u, 5u}) {
    for (uint32_t weight : {1u, 3u}) {
      SCOPED_TRACE(fmt::format("{} members, weight {}", members, weight));
      World world;
      for (int n = 0; n < 10; ++n) world.AddNode({.slots = 12});
      world.board.SetRule("@lab", {.weight = weight});
      std::vector<JobId> jobs;
      for (uint32_t n = 0; n < members; ++n) {
        const std::string user = fmt::format("member{}", n);
        // Some join when they have jobs.
        if (n % 2 == 0) world.board.SetRule(user, {.group = "@lab"});
        jobs.push_back(world.AddJob({user, {{Cpus(1000), 500}}}));
        if (n % 2 == 1) world.board.SetRule(user, {.group = "@lab"});
      }
      JobId alone = world.AddJob({"zoe", {{Cpus(1000), 500}}});
      world.Decide();
      const double expected = 120.0 / (weight + 1);
      EXPECT_NEAR(world.LeasedOf(alone), expected, 6);
      for (JobId job : jobs) {
        EXPECT_NEAR(world.LeasedOf(job), expected * weight / members, 6) << job.value;
      }
    }
  }
}

TEST(Decide, AGroupRunsNoMoreThanItMay) {
  World world;
  world.AddNode({.slots = 64});
  world.board.SetRule("@lab", {.max_running = 5});
  for (const char* user : {"ada", "bob"}) world.board.SetRule(user, {.group = "@lab"});
  JobId first = world.AddJob({"ada", {{Cpus(1000), 20}}});
  JobId second = world.AddJob({"bob", {{Cpus(1000), 20}}});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(first) + world.LeasedOf(second), 5u);
  EXPECT_TRUE(world.board.turns.empty());
  // A member who leaves it may go on; the other may then start as many as the group.
  world.board.SetRule("bob", {});
  world.Decide();
  EXPECT_EQ(world.LeasedOf(first), 5u);
  EXPECT_EQ(world.LeasedOf(second), 20u);
}

}  // namespace
}  // namespace spate::engine::place
