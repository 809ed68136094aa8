// Backfill over tables of gangs, and its parts beside naive ones.
#include "doors/simulate/backfill/backfill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/prng.h"

namespace spate::engine::place {
namespace {

using enum BackfillPolicy;

struct Row {
  Moment submit = 0;
  Moment run = 0;
  uint32_t processors = 0;
  Moment estimate = 0;
};

// When each starts; one pass for each instant.
std::vector<Moment> StartsOf(BackfillRules rules, const std::vector<Row>& rows) {
  Backfill backfill(rules);
  std::multimap<Moment, Ticket> ends;
  std::vector<Moment> starts(rows.size(), -1);
  size_t next = 0;
  while (true) {
    Moment now = std::min(next < rows.size() ? rows[next].submit : INT64_MAX,
                          ends.empty() ? INT64_MAX : ends.begin()->first);
    now = std::min(now, backfill.NextDue().value_or(INT64_MAX));
    if (now == INT64_MAX) return starts;
    for (; !ends.empty() && ends.begin()->first == now; ends.erase(ends.begin())) {
      backfill.End(ends.begin()->second, now);
    }
    for (; next < rows.size() && rows[next].submit == now; ++next) {
      backfill.Arrive({rows[next].processors, rows[next].estimate});
    }
    for (const Start& start : backfill.Pass(now)) {
      starts[start.ticket - 1] = now;
      ends.emplace(now + rows[start.ticket - 1].run, start.ticket);
    }
  }
}

using Starts = std::vector<Moment>;

TEST(Backfill, WhoMayOvertake) {
  // For 100 s 3 of 4 processors are taken, and the second job needs all of them.
  const std::vector<Row> all = {{0, 100, 3, 100}, {1, 10, 4, 10}, {2, 50, 1, 50}, {3, 200, 1, 200}};
  // The head needs 3: one processor is left beside it, and a long gang may take that.
  const std::vector<Row> most = {{0, 100, 3, 100}, {1, 10, 3, 10}, {2, 300, 1, 300}, {3, 9, 1, 9}};
  // Two would end in time, but only one of them has room.
  const std::vector<Row> two = {{0, 100, 3, 100}, {1, 10, 4, 10}, {2, 90, 1, 90}, {2, 40, 1, 40}};
  // Beside the head one processor is left for a while, and that is enough.
  const std::vector<Row> queue = {
      {0, 100, 2, 100}, {1, 100, 3, 100}, {2, 100, 4, 100}, {3, 150, 1, 150}};
  struct Case {
    BackfillPolicy policy;
    const std::vector<Row>& rows;
    Starts starts;
  };
  const Case cases[] = {
      {kFcfs, all, {0, 100, 110, 110}},         {kEasy, all, {0, 100, 2, 110}},
      {kConservative, all, {0, 100, 2, 110}},   {kFcfs, most, {0, 100, 100, 110}},
      {kEasy, most, {0, 100, 2, 110}},          {kEasySjbf, most, {0, 100, 2, 110}},
      {kEasy, two, {0, 100, 2, 110}},           {kEasySjbf, two, {0, 100, 110, 2}},
      {kConservative, two, {0, 100, 2, 110}},   {kEasy, queue, {0, 100, 200, 3}},
      {kConservative, queue, {0, 100, 200, 3}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(StartsOf({.policy = c.policy, .processors = 4}, c.rows), c.starts)
        << static_cast<int>(c.policy) << " " << (&c - cases);
  }
}

TEST(Backfill, ConservativeKeepsAllPromises) {
  // The last one may run beside the head, but not when the one behind the head is promised all.
  const std::vector<Row> rows = {
      {0, 100, 3, 100}, {1, 100, 2, 100}, {2, 100, 4, 100}, {3, 250, 1, 250}};
  EXPECT_EQ(StartsOf({.policy = kEasy, .processors = 4}, rows), (Starts{0, 100, 253, 3}));
  EXPECT_EQ(StartsOf({.policy = kConservative, .processors = 4}, rows), (Starts{0, 100, 200, 300}));
}

TEST(Backfill, AnEarlyEndBringsEverybodyForward) {
  const std::vector<Row> rows = {{0, 20, 4, 100}, {1, 10, 4, 10}, {2, 10, 4, 10}};
  for (BackfillPolicy policy : {kFcfs, kEasy, kEasySjbf, kConservative}) {
    EXPECT_EQ(StartsOf({.policy = policy, .processors = 4}, rows), (Starts{0, 20, 30}));
  }
}

TEST(Backfill, ReservationsAreBounded) {
  // The third one that waits has no reservation until the first one has started, and does not
  // start though it would delay nobody.
  const std::vector<Row> rows = {{0, 100, 3, 100}, {1, 10, 4, 10}, {2, 10, 4, 10}, {3, 20, 1, 20}};
  EXPECT_EQ(StartsOf({.policy = kConservative, .processors = 4, .reservations = 2}, rows),
            (Starts{0, 100, 110, 120}));
  EXPECT_EQ(StartsOf({.policy = kConservative, .processors = 4, .reservations = 3}, rows),
            (Starts{0, 100, 110, 3}));
}

TEST(Backfill, OneThatOutlivesItsEstimateKeepsItsProcessors) {
  for (BackfillPolicy policy : {kFcfs, kEasy, kEasySjbf, kConservative}) {
    const std::vector<Row> rows = {{0, 150, 3, 100}, {1, 10, 4, 10}, {120, 40, 1, 40}};
    Starts starts = StartsOf({.policy = policy, .processors = 4}, rows);
    EXPECT_GE(starts[1], 150) << static_cast<int>(policy);
  }
}

TEST(Backfill, WhoeverIsWithdrawnDoesNotStart) {
  for (BackfillPolicy policy : {kFcfs, kEasy, kEasySjbf, kConservative}) {
    Backfill backfill({.policy = policy, .processors = 4});
    backfill.Arrive({4, 100});
    backfill.Pass(0);
    Ticket head = backfill.Arrive({4, 50});
    Ticket second = backfill.Arrive({2, 50});
    EXPECT_TRUE(backfill.Pass(1).empty());
    backfill.Withdraw(head, 2);
    EXPECT_EQ(backfill.Head(), second);
    EXPECT_TRUE(backfill.Pass(2).empty());
    backfill.End(1, 10);
    auto started = backfill.Pass(10);
    ASSERT_EQ(started.size(), 1u);
    EXPECT_EQ(started[0].ticket, second);
    EXPECT_FALSE(started[0].overtakes);
    EXPECT_EQ(backfill.waiting(), 0u);
    EXPECT_EQ(backfill.free(), 2u);
  }
}

// For each number of processors the longest time from a beginning in [from, before).
void CheckRooms(const FreeProfile& profile, const std::vector<int64_t>& naive, Moment from,
                Moment before) {
  FreeProfile::Rooms rooms;
  profile.RoomsIn(from, before, rooms);
  const auto end = static_cast<Moment>(naive.size()) - 1;
  for (int64_t need = 1; need <= 10; ++need) {
    Moment longest = 0;
    for (Moment begin = from; begin < before; ++begin) {
      Moment at = begin;
      while (at < end && naive[at] >= need) ++at;
      longest = std::max(longest, at == end ? INT64_MAX : at - begin);
    }
    if (need < 8) ASSERT_EQ(rooms.LongestOf(need), longest) << need;
    ASSERT_GE(rooms.LongestOf(need), longest) << need;
  }
}

TEST(FreeProfile, IsTheSumOfWhatIsTaken) {
  Prng prng(7);
  for (int round = 0; round < 200; ++round) {
    constexpr Moment kEnd = 60;
    FreeProfile profile(10);
    std::vector<int64_t> naive(kEnd + 1, 10);
    Moment now = 0;
    for (int step = 0; step < 30; ++step) {
      now += static_cast<Moment>(prng.Below(2));
      profile.Advance(now);
      Moment from = now + static_cast<Moment>(prng.Below(20));
      Moment to = from + static_cast<Moment>(prng.Below(10));
      auto processors = static_cast<int64_t>(prng.Below(3));
      profile.Reserve(from, to, processors);
      for (Moment at = from; at < std::min(to, kEnd); ++at) naive[at] -= processors;
      for (Moment at = now; at < kEnd; ++at) ASSERT_EQ(profile.FreeAt(at), naive[at]) << at;
      const Moment before = now + static_cast<Moment>(prng.Below(30));
      CheckRooms(profile, naive, now, before);
      const auto need = static_cast<int64_t>(prng.Below(11));
      const Moment length = 1 + static_cast<Moment>(prng.Below(8));
      Moment start = now;
      auto fits = [&] {
        for (Moment at = start; at < start + length && at < kEnd; ++at) {
          if (naive[at] < need) return false;
        }
        return true;
      };
      while (!fits()) ++start;
      ASSERT_EQ(profile.EarliestFit(need, length, now), start);
      // With a place of its own, as if that were free.
      const Moment own =
          profile.EarliestFit(need, length, now + static_cast<Moment>(prng.Below(20)));
      profile.Reserve(own, own + length, need);
      ASSERT_EQ(profile.EarliestFit(need, length, now, {.at = own}), start);
      const Moment behind = now + static_cast<Moment>(prng.Below(20));
      ASSERT_EQ(profile.EarliestFit(need, length, now, {.at = own, .behind = behind}),
                start < behind ? start : own);
      profile.Release(own, own + length, need);
    }
    profile.Advance(kEnd);
    EXPECT_EQ(profile.steps(), 1u);
  }
}

TEST(WaitingLine, FindsWhatFits) {
  Prng prng(11);
  WaitingLine line;
  std::vector<WaitingGang> naive;
  Ticket ticket = 0;
  auto before = [](const WaitingGang& a, const WaitingGang& b) { return a.turn < b.turn; };
  for (int step = 0; step < 5'000; ++step) {
    if (naive.empty() || prng.Chance(70)) {
      auto rank = static_cast<Moment>(prng.Below(50));
      WaitingGang gang{{rank, ++ticket},
                       1 + static_cast<uint32_t>(prng.Below(64)),
                       1 + static_cast<Moment>(prng.Below(1'000))};
      line.Insert(gang);
      naive.insert(std::upper_bound(naive.begin(), naive.end(), gang, before), gang);
    } else {
      size_t which = prng.Below(naive.size());
      line.Remove(naive[which].turn);
      naive.erase(naive.begin() + static_cast<ptrdiff_t>(which));
    }
    const Gap gap{.free = static_cast<int64_t>(prng.Below(8)),
                  .length = static_cast<Moment>(prng.Below(40)),
                  .extra = static_cast<int64_t>(prng.Below(3))};
    std::optional<WaitingTurn> last;
    if (!naive.empty() && prng.Chance(50)) last = naive[prng.Below(naive.size())].turn;
    auto expected = std::find_if(naive.begin(), naive.end(), [&](const WaitingGang& gang) {
      return (!last || *last < gang.turn) && gap.Fits(gang.processors, gang.estimate);
    });
    auto found = line.NextThatFits(gap, last);
    ASSERT_EQ(found.has_value(), expected != naive.end());
    if (found) ASSERT_EQ(found->turn, expected->turn);
  }
}

}  // namespace
}  // namespace spate::engine::place
