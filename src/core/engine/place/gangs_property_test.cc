// Gangs under random jobs over a board without an engine: the same starts as backfill.h gives on a
// machine of one node, and on several nodes what gangs.h promises.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "core/engine/place/backfill.h"
#include "core/engine/place/gangs.h"

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

// What keeps a board of gangs alone, as the engine does: each job is one gang.
class Board1 {
 public:
  Board1(GangPolicy policy, const std::vector<uint32_t>& nodes) : gangs_(board_) {
    gangs_.SetPolicy(policy);
    for (uint32_t slots : nodes) {
      Node& node = board_.nodes[NodeId(static_cast<uint32_t>(board_.nodes.size()) + 1)];
      node.offer = {.node_name = "n", .slots = slots, .milli_cpus = slots * kMilliCpu};
      node.present = true;
    }
  }

  void Arrive(uint32_t number, const Row& row) {
    Kept& kept = kept_[JobId(number)];
    kept.classes = {TaskClass(Needs{.time = Ticks(row.estimate)})};
    kept.classes.front().gang = row.shape;
    Job& job = board_.AddJob(JobId(number), "ann", 0, kept.classes);
    Tell(job, 1, 0);
  }
  void End(uint32_t number) {
    Kept& kept = kept_.at(JobId(number));
    Job& job = *board_.FindJob(JobId(number));
    for (const GangPlace& place : kept.places) {
      board_.DropPart(job, place.node, board_.nodes.at(place.node), {job.id, 0});
    }
    board_.TakeBackGangs(job, 1);
    Tell(job, 0, 0);
    board_.DropJob(job.id);
    kept_.erase(job.id);
  }
  struct Started {
    uint32_t number = 0;
    std::vector<GangPlace> places;
  };
  std::vector<Started> Pass(Instant now) {
    std::vector<Started> started;
    auto heads = [this] {
      return head_ ? std::vector<ClassKey>{{*head_, 0}} : std::vector<ClassKey>();
    };
    gangs_.Decide(now, heads, [&](const GangStart& start) {
      Job& job = *board_.FindJob(start.job.id);
      for (const GangPlace& place : start.places) {
        Node& node = board_.nodes.at(place.node);
        board_.AddPart(job, node, {job.id, 0}, 0, place.procs, now);
        for (size_t kind : {Amounts::kSlots, Amounts::kCpus}) {
          const uint64_t offered =
              kind == Amounts::kSlots ? node.offer.slots : node.offer.milli_cpus;
          RC_ASSERT(node.held.At(kind) <= offered);
        }
      }
      board_.GiveGangs(job, 1);
      kept_.at(job.id).places = start.places;
      started.push_back({job.id.value, start.places});
      Tell(job, 0, 1);
      return true;
    });
    head_ = gangs_.promises().empty() ? std::nullopt : std::optional(gangs_.promises().front().job);
    return started;
  }
  const std::vector<GangPromise>& promises() const { return gangs_.promises(); }
  const Board& board() const { return board_; }
  size_t waiting() const { return board_.asking_for_gangs.size(); }

 private:
  struct Kept {
    std::vector<TaskClass> classes;
    std::vector<GangPlace> places;
  };
  void Tell(Job& job, uint32_t queued, uint32_t leased) {
    Ready::Queued in_queue{.waiting = queued};
    if (queued > 0) in_queue.turn = ClassTurn{};
    job.gangs.Set(0, in_queue);
    board_.SetFacts(job, {.runnable = true,
                          .finished = queued + leased == 0,
                          .queued = queued,
                          .leased = leased,
                          .waiting = queued,
                          .gangs_waiting = queued});
    board_.Settle(job);
  }

  Board board_{kLimits};
  Gangs gangs_;
  std::map<JobId, Kept> kept_;
  std::optional<JobId> head_;
};

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
  Board1 board(policy, {kProcessors});
  Backfill backfill({.policy = as, .processors = kProcessors});
  std::multimap<int64_t, uint32_t> ends;
  std::map<uint32_t, Ticket> tickets;
  Play(
      rows, ends,
      [&](uint32_t number, bool has_ended, int64_t now) {
        const Row& row = rows[number - 1];
        if (has_ended) {
          board.End(number);
          backfill.End(tickets.at(number), now);
        } else {
          board.Arrive(number, row);
          tickets[number] = backfill.Arrive({row.shape.procs, row.estimate});
        }
      },
      [&](int64_t now) {
        std::vector<uint32_t> expected;
        for (const Start& start : backfill.Pass(now)) {
          expected.push_back(static_cast<uint32_t>(start.ticket));
        }
        std::vector<uint32_t> started;
        for (const auto& each : board.Pass(kBegin + Ticks(now))) {
          started.push_back(each.number);
          ends.emplace(now + rows[each.number - 1].run, each.number);
        }
        RC_ASSERT(started == expected);
      });
  RC_ASSERT(board.waiting() == 0u);
}

// With exact estimates nobody who had a promise starts later, whatever the others do.
void KeepsPromises(GangPolicy policy, const std::vector<Row>& rows) {
  const std::vector<uint32_t> nodes = {4, 4, 4, 8};
  Board1 board(policy, nodes);
  std::multimap<int64_t, uint32_t> ends;
  std::map<uint32_t, Instant> promised;
  std::map<NodeId, uint32_t> whole;
  Play(
      rows, ends,
      [&](uint32_t number, bool has_ended, int64_t) {
        if (has_ended) {
          board.End(number);
        } else {
          board.Arrive(number, rows[number - 1]);
        }
      },
      [&](int64_t now) {
        const Instant at = kBegin + Ticks(now);
        for (const auto& each : board.Pass(at)) {
          const Row& row = rows[each.number - 1];
          uint32_t procs = 0;
          for (const GangPlace& place : each.places) {
            procs += place.procs;
            if (row.shape.nodes > 0) RC_ASSERT(place.procs == row.shape.procs_per_node());
            if (row.shape.whole) RC_ASSERT(board.board().nodes.at(place.node).leased == 1u);
          }
          RC_ASSERT(procs == row.shape.procs);
          if (row.shape.nodes > 0) RC_ASSERT(each.places.size() == row.shape.nodes);
          if (promised.contains(each.number)) RC_ASSERT(at <= promised.at(each.number));
          ends.emplace(now + row.run, each.number);
        }
        for (const GangPromise& promise : board.promises()) {
          RC_ASSERT(promise.start != Instant::Never());
          if (policy == GangPolicy::kConservative) continue;  // the order of classes is not strict
          promised.emplace(promise.job.value, promise.start);
        }
      });
  // What is left never fits: a gang of three nodes of 4, or whole ones, has room on these.
  for (const auto& [id, job] : board.board().asking_for_gangs) {
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
    auto rows = *rc::gen::container<std::vector<Row>>(AnyRow(true));
    for (auto policy : {GangPolicy::kFair, GangPolicy::kFcfs, GangPolicy::kEasy,
                        GangPolicy::kEasySjbf, GangPolicy::kConservative}) {
      KeepsPromises(policy, rows);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGangs, testing::Range<uint64_t>(1, 11));

}  // namespace
}  // namespace spate::engine::place
