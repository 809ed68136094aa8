// Gangs under random jobs over a board without an engine: the same starts as backfill.h gives on a
// machine of one node, and on several nodes what gangs.h promises.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "doors/simulate/backfill/backfill.h"
#include "doors/simulate/backfill/gang_machine.h"

namespace spate::engine::place {
namespace {

constexpr uint32_t kProcessors = 16;
constexpr Instant kBegin{1'700'000'000'000'000'000};

Duration Ticks(int64_t count) { return Duration::Millis(count); }

struct Row {
  int64_t gap = 0;
  GangShape shape;
  int64_t run = 1;
  int64_t estimate = 1;
};

// Each row is a job of one gang; by its number, from 1.
void Arrive(GangMachine& machine, uint32_t number, const Row& row) {
  TaskClass of_gang(Needs{.time = Ticks(row.estimate)});
  of_gang.gang = row.shape;
  machine.AddJob(JobId(number), "ann", {of_gang});
  RC_ASSERT(machine.Arrive(JobId(number), 0) == number);
}
void End(GangMachine& machine, uint32_t number) {
  machine.End(number);
  machine.DropJob(JobId(number));
}
const std::vector<GangMachine::Started>& Pass(GangMachine& machine, Instant now) {
  const auto& started = machine.Pass(now);
  for (const auto& [id, node] : machine.board().nodes) {
    RC_ASSERT(node.held.At(Amounts::kSlots) <= node.offer.slots);
    RC_ASSERT(node.held.At(Amounts::kCpus) <= node.offer.milli_cpus);
  }
  return started;
}

rc::Gen<Row> AnyRow(bool exact) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(1, int(kProcessors) + 1),
                     rc::gen::inRange(1, 40), rc::gen::inRange(0, 40), rc::gen::inRange(0, 8)),
      [exact](const std::tuple<int, int, int, int, int>& t) {
        const auto& [gap, procs, run, more, nodes] = t;
        Row row{gap,
                {.procs = static_cast<uint32_t>(procs)},
                run,
                run + (exact || more % 3 == 0 ? 0 : more)};
        if (nodes > 0 && nodes < 4) {
          row.shape = {.procs = static_cast<uint32_t>(nodes * (1 + procs % 4)),
                       .nodes = static_cast<uint32_t>(nodes)};
        }
        row.shape.whole = nodes == 7;
        return row;
      });
}

// All events of an instant, then a pass.
template <typename Take, typename Pass>
void Play(const std::vector<Row>& rows, std::multimap<int64_t, uint32_t>& ends, Take take,
          Pass pass) {
  size_t next = 0;
  int64_t arrival = rows.empty() ? INT64_MAX : rows.front().gap;
  while (next < rows.size() || !ends.empty()) {
    const int64_t now = std::min(next < rows.size() ? arrival : INT64_MAX,
                                 ends.empty() ? INT64_MAX : ends.begin()->first);
    while (!ends.empty() && ends.begin()->first == now) {
      const uint32_t number = ends.begin()->second;
      ends.erase(ends.begin());
      take(number, /*ends=*/true, now);
    }
    while (next < rows.size() && arrival == now) {
      take(static_cast<uint32_t>(++next), /*ends=*/false, now);
      if (next < rows.size()) arrival += rows[next].gap;
    }
    pass(now);
  }
}

void IsAsBackfillOnOneNode(GangPolicy policy, BackfillPolicy as, const std::vector<Row>& given) {
  std::vector<Row> rows = given;
  for (Row& row : rows) row.shape = {.procs = std::min(row.shape.procs, kProcessors)};
  GangMachine machine(policy, {kProcessors});
  Backfill backfill({.policy = as, .processors = kProcessors});
  std::multimap<int64_t, uint32_t> ends;
  std::map<uint32_t, Ticket> tickets;
  Play(
      rows, ends,
      [&](uint32_t number, bool has_ended, int64_t now) {
        const Row& row = rows[number - 1];
        if (has_ended) {
          End(machine, number);
          backfill.End(tickets.at(number), now);
        } else {
          Arrive(machine, number, row);
          tickets[number] = backfill.Arrive({row.shape.procs, row.estimate});
        }
      },
      [&](int64_t now) {
        std::vector<uint32_t> expected;
        for (const Start& start : backfill.Pass(now)) {
          expected.push_back(static_cast<uint32_t>(start.ticket));
        }
        std::vector<uint32_t> started;
        for (const auto& each : Pass(machine, kBegin + Ticks(now))) {
          const auto number = static_cast<uint32_t>(each.task);
          started.push_back(number);
          ends.emplace(now + rows[number - 1].run, number);
        }
        RC_ASSERT(started == expected);
      });
  RC_ASSERT(machine.waiting() == 0u);
}

// If nothing outlives its estimate, no promised gang starts later, whatever the others do.
void KeepsPromises(GangPolicy policy, const std::vector<Row>& rows) {
  const std::vector<uint32_t> nodes = {4, 4, 4, 8};
  GangMachine machine(policy, nodes);
  std::multimap<int64_t, uint32_t> ends;
  std::map<uint32_t, Instant> promised;
  std::map<NodeId, uint32_t> whole;
  Play(
      rows, ends,
      [&](uint32_t number, bool has_ended, int64_t) {
        if (has_ended) {
          End(machine, number);
        } else {
          Arrive(machine, number, rows[number - 1]);
        }
      },
      [&](int64_t now) {
        const Instant at = kBegin + Ticks(now);
        for (const auto& each : Pass(machine, at)) {
          const auto number = static_cast<uint32_t>(each.task);
          const Row& row = rows[number - 1];
          uint32_t procs = 0;
          for (const GangPlace& place : each.places) {
            procs += place.procs;
            if (row.shape.nodes > 0) RC_ASSERT(place.procs == row.shape.procs_per_node());
            if (row.shape.whole) RC_ASSERT(machine.board().nodes.at(place.node).leased == 1u);
          }
          RC_ASSERT(procs == row.shape.procs);
          if (row.shape.nodes > 0) RC_ASSERT(each.places.size() == row.shape.nodes);
          if (promised.contains(number)) RC_ASSERT(at <= promised.at(number));
          ends.emplace(now + row.run, number);
        }
        for (const GangPromise& promise : machine.promises()) {
          RC_ASSERT(promise.start != Instant::Never());
          promised.emplace(promise.job.value, promise.start);
        }
      });
  // The rest never fits: a gang of three nodes of 4, or whole ones, has room on these.
  for (const auto& [id, job] : machine.board().asking_for_gangs) {
    const GangShape& shape = rows[id.value - 1].shape;
    RC_ASSERT(shape.procs > 20 || (shape.whole && shape.procs > 20));
  }
}

class RandomGangs : public testing::TestWithParam<uint64_t> {
 protected:
  static void Check(const std::function<void()>& property) {
    rc::detail::TestParams params;
    params.seed = GetParam();
    params.maxSuccess = 60;
    params.maxSize = 120;
    auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
    std::stringstream text;
    rc::detail::printResultMessage(result, text);
    EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
        << "seed " << GetParam() << ": " << text.str();
  }
};

TEST_P(RandomGangs, StartAsOnAMachineOfOneNode) {
  Check([] {
    auto rows = *rc::gen::container<std::vector<Row>>(AnyRow(false));
    IsAsBackfillOnOneNode(GangPolicy::kFcfs, BackfillPolicy::kFcfs, rows);
    IsAsBackfillOnOneNode(GangPolicy::kEasy, BackfillPolicy::kEasy, rows);
    IsAsBackfillOnOneNode(GangPolicy::kEasySjbf, BackfillPolicy::kEasySjbf, rows);
  });
}

TEST_P(RandomGangs, StartNoLaterThanPromisedOnSeveralNodes) {
  Check([] {
    auto rows = *rc::gen::container<std::vector<Row>>(AnyRow(*rc::gen::arbitrary<bool>()));
    for (auto policy : {GangPolicy::kFair, GangPolicy::kFcfs, GangPolicy::kEasy,
                        GangPolicy::kEasySjbf, GangPolicy::kConservative}) {
      KeepsPromises(policy, rows);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGangs, testing::Range<uint64_t>(1, 11));

}  // namespace
}  // namespace spate::engine::place
