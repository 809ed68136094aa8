#include "doors/mw/overseer/target.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/prng.h"

namespace spate::mw {
namespace {

constexpr uint64_t kMost = 10'000;
constexpr int64_t kBegin = 1'795'000'000;  // seconds since 1970

Instant At(double seconds) { return Instant{kBegin * 1'000'000'000} + Duration::SecondsF(seconds); }

ResourceFile Wants(int64_t needed, int64_t written, int64_t interval = 10) {
  return {.timestamp = kBegin + written,
          .update_interval = interval,
          .slaves_needed = needed,
          .executable = "/srv/app/ping"};
}

SlaveSeen Queued(uint64_t id) { return {id, false, {}}; }
SlaveSeen Runs(uint64_t id, double since) { return {id, true, At(since)}; }

TEST(SlaveTargetTest, OneFileAndOneLook) {
  struct Case {
    std::string name;
    ResourceFile file;
    std::vector<SlaveSeen> there;
    SlaveOrders orders;
    uint64_t most = kMost;
  };
  const std::vector<Case> cases = {
      {"all are missing", Wants(3, 0), {}, {.start = 3}},
      {"none is", Wants(0, 0), {}, {}},
      {"queued ones are subtracted", Wants(3, 0), {Queued(1), Queued(2)}, {.start = 1}},
      {"and those that have just begun", Wants(3, 0), {Queued(1), Runs(2, 0)}, {.start = 1}},
      {"the file knows of those that run for long", Wants(3, 0), {Runs(1, -10)}, {.start = 3}},
      {"not of those that ran shorter than an interval", Wants(3, 0), {Runs(1, -9)}, {.start = 2}},
      {"more queued ones than are missing", Wants(1, 0), {Queued(1), Queued(2)}, {}},
      {"none is missing", Wants(0, 0), {Queued(1), Queued(2), Runs(3, 0)}, {.withdraw = 2}},
      {"more run than are missing", Wants(1, 0), {Runs(1, 0), Runs(2, 0)}, {}},
      {"connecting ones do not make queued ones too many",
       Wants(1, 0),
       {Queued(1), Runs(2, 0)},
       {}},
      {"no more than may be", Wants(9, 0), {Runs(1, -20), Queued(2)}, {.start = 2}, 4},
      {"more there than may be", Wants(9, 0), {Runs(1, -20), Runs(2, -20)}, {}, 1},
      {"a long interval: a minute is enough",
       Wants(3, 0, 300),
       {Runs(1, -60), Runs(2, -59)},
       {.start = 2}},
      {"an interval of 0 counts as a second",
       Wants(3, 0, 0),
       {Runs(1, -1), Runs(2, -0.5)},
       {.start = 2}},
      {"a file of no time is stale", {.slaves_needed = 3}, {Queued(1)}, {.withdraw = 1}},
      {"finished",
       {.finished = true, .slaves_needed = 3},
       {Queued(1), Runs(2, 0)},
       {.withdraw = 1}},
      {"a number that nobody means", Wants(kResourceNumberMax, 0), {Queued(1)}, {.start = 9999}},
  };
  for (const Case& each : cases) {
    SlaveTarget target;
    target.Read(each.file, At(0));
    target.Observe(each.there, At(0));
    EXPECT_EQ(target.Decide(At(0), each.most), each.orders) << each.name;
  }
}

TEST(SlaveTargetTest, DecidesNothingBeforeItKnows) {
  SlaveTarget target;
  EXPECT_EQ(target.Phase(At(0)), FilePhase::kUnread);
  target.Observe({}, At(0));
  EXPECT_EQ(target.Decide(At(0), kMost), SlaveOrders());
  SlaveTarget unseen;
  unseen.Read(Wants(3, 0), At(0));
  EXPECT_EQ(unseen.Decide(At(0), kMost), SlaveOrders());
}

TEST(SlaveTargetTest, PhaseOfAFile) {
  struct Case {
    std::string name;
    ResourceFile file;
    double now;
    FilePhase phase;
  };
  const std::vector<Case> cases = {
      {"interval and slack of a minute", Wants(1, 0, 10), 70, FilePhase::kActive},
      {"more than that", Wants(1, 0, 10), 70.1, FilePhase::kStale},
      {"the slack is an interval, if that is longer", Wants(1, 0, 300), 600, FilePhase::kActive},
      {"more than two intervals", Wants(1, 0, 300), 600.1, FilePhase::kStale},
      {"an interval without end", Wants(1, 0, kResourceNumberMax), 1e7, FilePhase::kActive},
      {"a time in the far future", Wants(1, 1'000'000'000, 10), 0, FilePhase::kActive},
      {"a finished one is never stale", {.finished = true}, 1e7, FilePhase::kFinished},
      {"nor is a failed one", {.finished = true, .failed = true}, 1e7, FilePhase::kFailed},
      {"a time before 1970", {.timestamp = -2'000'000'000}, 0, FilePhase::kStale},
  };
  for (const Case& each : cases) {
    SlaveTarget target;
    target.Read(each.file, At(each.now));
    EXPECT_EQ(target.Phase(At(each.now)), each.phase) << each.name;
  }
}

// A master whose clock is an hour ahead is dead as soon as another one.
TEST(SlaveTargetTest, AClockAheadKeepsNobodyAlive) {
  SlaveTarget target;
  target.Read(Wants(1, 3600), At(0));
  EXPECT_EQ(target.Phase(At(70)), FilePhase::kActive);
  EXPECT_EQ(target.Phase(At(71)), FilePhase::kStale);
}

// And one that is behind is alive while it writes.
TEST(SlaveTargetTest, AClockBehindKillsNobody) {
  SlaveTarget target;
  target.Read(Wants(1, -3600), At(0));
  EXPECT_EQ(target.Phase(At(0)), FilePhase::kStale);
  target.Read(Wants(1, -3590), At(10));
  EXPECT_EQ(target.Phase(At(10)), FilePhase::kActive);
  EXPECT_EQ(target.Phase(At(80)), FilePhase::kActive);
  EXPECT_EQ(target.Phase(At(81)), FilePhase::kStale);
}

// A master that was busy goes on writing.
TEST(SlaveTargetTest, AStaleFileMayGoOn) {
  SlaveTarget target;
  target.Read(Wants(2, 0), At(100));
  target.Observe({}, At(100));
  EXPECT_EQ(target.Decide(At(100), kMost), SlaveOrders());
  target.Read(Wants(2, 105), At(106));
  EXPECT_EQ(target.Decide(At(106), kMost), (SlaveOrders{.start = 2}));
}

TEST(SlaveTargetTest, TheNextFileKnowsOfWhoHasConnected) {
  SlaveTarget target;
  target.Read(Wants(2, 0), At(0));
  target.Observe({}, At(0));
  ASSERT_EQ(target.Decide(At(0), kMost).start, 2u);
  std::vector<SlaveSeen> both = {Runs(1, 1), Runs(2, 1)};
  target.Observe(both, At(1));
  EXPECT_EQ(target.Decide(At(1), kMost), SlaveOrders());
  // Written between the looks at 9 and 10: whether it knows them is not known.
  target.Read(Wants(2, 0), At(9));
  target.Read(Wants(1, 10), At(10));
  target.Observe(both, At(10));
  EXPECT_EQ(target.Decide(At(10), kMost), SlaveOrders());
  // The one after it does.
  target.Read(Wants(1, 10), At(19));
  target.Read(Wants(1, 20), At(20));
  target.Observe(both, At(20));
  EXPECT_EQ(target.counts().connected, 2u);
  EXPECT_EQ(target.Decide(At(20), kMost), (SlaveOrders{.start = 1}));
}

// A slave's start is heard late: its master knew it before.
TEST(SlaveTargetTest, OnlyALastingSurplusIsTakenBack) {
  SlaveTarget target;
  target.Read(Wants(1, 0), At(0));
  for (double now : {0.0, 1.0, 1.9}) {
    target.Observe(std::vector{Queued(1), Queued(2)}, At(now));
    EXPECT_EQ(target.Decide(At(now), kMost), SlaveOrders()) << now;
  }
  target.Observe(std::vector{Runs(1, 2), Queued(2)}, At(2));
  EXPECT_EQ(target.Decide(At(2), kMost), SlaveOrders());
  target.Observe(std::vector{Queued(2), Queued(3)}, At(3));
  EXPECT_EQ(target.Decide(At(3), kMost), SlaveOrders());
  target.Observe(std::vector{Queued(2), Queued(3)}, At(5));
  EXPECT_EQ(target.Decide(At(5), kMost), (SlaveOrders{.withdraw = 1}));
}

// The clock of a node says little: only an overseer that has just begun asks it.
TEST(SlaveTargetTest, SlavesBeginWhenTheyAreSeen) {
  SlaveTarget target;
  target.Read(Wants(2, 0), At(0));
  target.Observe({}, At(0));
  target.Observe(std::vector{Runs(1, -5000)}, At(1));
  EXPECT_EQ(target.counts().connected, 0u);
  SlaveTarget again;
  again.Read(Wants(2, 0), At(0));
  again.Observe(std::vector{Runs(1, -5000), Runs(2, 5000)}, At(1));
  EXPECT_EQ(again.counts().connected, 1u);
}

TEST(SlaveTargetTest, ThoseThatFailAtOnceAreTriedOneByOne) {
  SlaveTarget target;
  target.Read(Wants(5, 0), At(0));
  target.Observe({}, At(0));
  for (int i = 0; i < 2; ++i) target.Ended(false, Duration::Millis(100), At(1));
  EXPECT_FALSE(target.backs_off());
  EXPECT_EQ(target.Decide(At(1), kMost).start, 5u);
  target.Ended(false, Duration::Millis(100), At(1));
  ASSERT_TRUE(target.backs_off());
  EXPECT_EQ(*target.backs_off(), At(6));
  // Others fail together with it.
  for (int i = 0; i < 20; ++i) target.Ended(false, Duration::Millis(100), At(2));
  EXPECT_EQ(*target.backs_off(), At(6));
  target.Observe(std::vector{Queued(1), Queued(2)}, At(3));
  EXPECT_EQ(target.Decide(At(3), kMost), (SlaveOrders{.withdraw = 2}));
  target.Observe({}, At(6));
  EXPECT_EQ(target.Decide(At(6), kMost), (SlaveOrders{.start = 1}));
  target.Observe(std::vector{Queued(3)}, At(7));
  EXPECT_EQ(target.Decide(At(7), kMost), SlaveOrders());
  target.Observe(std::vector{Runs(3, 8)}, At(8));
  EXPECT_EQ(target.Decide(At(8), kMost), SlaveOrders());
  target.Ended(false, Duration::Millis(100), At(9));
  EXPECT_EQ(*target.backs_off(), At(19));
  EXPECT_EQ(target.Decide(At(18), kMost), SlaveOrders());
  // This one stays.
  target.Observe(std::vector{Runs(4, 20)}, At(20));
  target.Observe(std::vector{Runs(4, 20)}, At(30));
  EXPECT_FALSE(target.backs_off());
  EXPECT_EQ(target.Decide(At(30), kMost).start, 4u);
}

TEST(SlaveTargetTest, LateFailuresAndDoneOnesHoldNobodyUp) {
  SlaveTarget target;
  target.Read(Wants(5, 0), At(0));
  for (int i = 0; i < 9; ++i) target.Ended(false, Duration::Seconds(10), At(1));
  EXPECT_FALSE(target.backs_off());
  for (int i = 0; i < 9; ++i) target.Ended(false, Duration::Seconds(1), At(1));
  EXPECT_TRUE(target.backs_off());
  target.Ended(true, Duration::Seconds(1), At(2));
  EXPECT_FALSE(target.backs_off());
}

// A master that wants so many slaves, and slaves that come late, connect and die, in seconds.
class World {
 public:
  World(uint64_t seed, int64_t desired)
      : prng_(seed),
        desired_(desired),
        interval_(static_cast<int64_t>(1 + prng_.Below(20))),
        poll_(static_cast<int64_t>(1 + prng_.Below(7))),
        // A slave has connected before it counts as one that has.
        connect_(static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(interval_)))),
        queue_(static_cast<int64_t>(prng_.Below(40))) {}

  void Second(bool troubles) {
    ++now_;
    Move(troubles);
    bool busy = troubles && prng_.Chance(20);  // a master does not write while it works
    if (now_ >= written_ + interval_ && !busy) Write();
    if (now_ % poll_ == 0) Look(troubles);
    most_there_ = std::max(most_there_, static_cast<int64_t>(slaves_.size()));
  }
  // A new master: nobody has connected to it, and those of the old one die soon.
  void Restart() {
    for (Slave& slave : slaves_) {
      slave.connected = false;
      if (slave.started > 0) slave.dies = now_ + 1;
    }
    Write();
  }
  void Want(int64_t desired) { desired_ = desired; }
  int64_t most_there() const { return most_there_; }
  void ForgetMost() { most_there_ = 0; }
  int64_t there() const { return static_cast<int64_t>(slaves_.size()); }
  int64_t connected() const {
    return std::ranges::count_if(slaves_, [](const Slave& slave) { return slave.connected; });
  }
  int64_t killed() const { return killed_; }

 private:
  struct Slave {
    uint64_t id = 0;
    int64_t starts = 0;   // when
    int64_t started = 0;  // 0: queued
    int64_t dies = 0;     // 0: not yet known
    bool connected = false;
  };

  void Move(bool troubles) {
    for (Slave& slave : slaves_) {
      if (slave.started == 0 && now_ >= slave.starts) slave.started = now_;
      if (slave.started != 0 && slave.dies == 0 && now_ >= slave.started + connect_) {
        slave.connected = true;
      }
      if (troubles && prng_.Chance(1)) slave.dies = now_;
    }
    std::erase_if(slaves_, [this](const Slave& slave) {
      bool dead = slave.started != 0 && slave.dies != 0 && slave.dies <= now_;
      if (dead) target_.Ended(false, Duration::Seconds(now_ - slave.started), At(1.0 * now_));
      return dead;
    });
  }
  void Write() {
    written_ = now_;
    file_ = Wants(std::max<int64_t>(0, desired_ - connected()), now_, interval_);
  }
  void Look(bool troubles) {
    const Instant now = At(1.0 * now_);
    bool torn = troubles && prng_.Chance(20);
    if (written_ > 0 && !torn) target_.Read(file_, now);
    std::vector<SlaveSeen> there;
    for (const Slave& slave : slaves_) {
      there.push_back({slave.id, slave.started != 0, At(1.0 * slave.started)});
    }
    target_.Observe(there, now);
    SlaveOrders orders = target_.Decide(now, kMost);
    for (uint64_t i = 0; i < orders.start; ++i) {
      int64_t wait = queue_ == 0 ? 0 : static_cast<int64_t>(prng_.Below(1u * queue_));
      slaves_.push_back({.id = next_id_++, .starts = now_ + 1 + wait});
    }
    for (uint64_t i = 0; i < orders.withdraw; ++i) {
      auto queued = std::ranges::find(slaves_, 0, &Slave::started);
      if (queued == slaves_.end()) {
        ++killed_;
        return;
      }
      slaves_.erase(queued);
    }
  }

  Prng prng_;
  int64_t desired_;
  const int64_t interval_, poll_, connect_, queue_;
  int64_t now_ = 0, written_ = 0, most_there_ = 0, killed_ = 0;
  ResourceFile file_;
  std::vector<Slave> slaves_;
  uint64_t next_id_ = 1;
  SlaveTarget target_;
};

constexpr int kLong = 1500;  // seconds

TEST(SlaveTargetProperty, ReachesTheNumberAndNeverMore) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Prng prng(seed);
    const auto desired = static_cast<int64_t>(prng.Below(60));
    World world(seed, desired);
    for (int i = 0; i < kLong; ++i) world.Second(false);
    RC_ASSERT(world.most_there() == desired);
    RC_ASSERT(world.connected() == desired);
    RC_ASSERT(world.killed() == 0);
  }));
}

TEST(SlaveTargetProperty, ComesBackAfterTroubles) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Prng prng(seed);
    const auto desired = static_cast<int64_t>(1 + prng.Below(60));
    World world(seed, desired);
    for (int i = 0; i < kLong; ++i) {
      world.Second(true);
      if (prng.Below(500) == 0) world.Restart();
    }
    for (int i = 0; i < kLong; ++i) world.Second(false);
    RC_ASSERT(world.connected() == desired);
    RC_ASSERT(world.killed() == 0);
  }));
}

TEST(SlaveTargetProperty, TroublesStartNobodyTwice) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Prng prng(seed);
    const auto desired = static_cast<int64_t>(1 + prng.Below(60));
    World world(seed, desired);
    for (int i = 0; i < kLong; ++i) world.Second(true);
    RC_ASSERT(world.most_there() <= desired);
  }));
}

// Running slaves stay; no others are started.
TEST(SlaveTargetProperty, FewerAreWanted) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    Prng prng(seed);
    const auto desired = static_cast<int64_t>(1 + prng.Below(60));
    World world(seed, desired);
    for (int i = 0; i < static_cast<int>(prng.Below(60)); ++i) world.Second(false);
    world.Want(0);
    for (int i = 0; i < 200; ++i) world.Second(false);
    const int64_t left = world.there();
    RC_ASSERT(left == world.connected());
    RC_ASSERT(left <= desired);
    world.ForgetMost();
    for (int i = 0; i < kLong; ++i) world.Second(false);
    RC_ASSERT(world.most_there() == left);
  }));
}

}  // namespace
}  // namespace spate::mw
