// Constants in a master and slaves of one process.
#include <gtest/gtest.h>
#include <spate/mw_local.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace spate::mw {
namespace {

std::atomic<int> read{0};   // values that were made of bytes,
std::atomic<int> alive{0};  // and those of them that there are

// A value that counts how often it is made of bytes: by the slaves, and by a master that looks.
struct Table {
  std::vector<double> cells;
  struct Count {
    bool counts = false;
    Count() = default;
    Count(const Count&) = delete;
    Count(Count&& other) noexcept : counts(std::exchange(other.counts, false)) {}
    Count& operator=(const Count&) = delete;
    Count& operator=(Count&&) = delete;
    ~Count() { alive -= counts ? 1 : 0; }
  } count;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells);
    if constexpr (Archive::reads) {
      count.counts = true;
      ++read, ++alive;
    }
  }
};

struct Question {
  std::vector<constant<Table>> tables;
  size_t row = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(tables, row);
  }
};

const auto look_up = algorithm<"constants-look-up">(
    [](const constant<Table>& table, size_t row) { return table->cells.at(row); });
const auto look_up_all = algorithm<"constants-look-up-all">([](const Question& of) {
  double sum = 0;
  for (const auto& each : of.tables) sum += each->cells.at(of.row);
  return sum;
});
const auto give_back = algorithm<"constants-give-back">(
    [](const constant<Table>& table) { return std::vector<constant<Table>>{table}; });
std::atomic<int> at_barrier{0};
std::atomic<bool> barrier_is_open{true};
const auto behind_barrier = algorithm<"constants-behind-barrier">([](const constant<Table>& table) {
  ++at_barrier;
  while (!barrier_is_open && !stop_requested()) std::this_thread::yield();
  return table->cells.size();
});

Table Squares(size_t size) {
  Table table;
  for (size_t i = 0; i < size; ++i) table.cells.push_back(static_cast<double>(i * i));
  return table;
}

class ConstantsClusterTest : public testing::Test {
 protected:
  ConstantsClusterTest() {
    read = alive = at_barrier = 0;
    barrier_is_open = true;
  }
  static void Until(const std::atomic<int>& what, int value) {
    while (what != value) std::this_thread::yield();
  }
  // The slaves that have computed tasks of this table.
  static std::set<slave_id> LookUp(master& m, const constant<Table>& table, size_t tasks) {
    for (size_t i = 0; i < tasks; ++i) m.submit(look_up, table, i % table->cells.size());
    std::set<slave_id> slaves;
    double sum = 0, expected = 0;
    for (size_t i = 0; i < tasks; ++i) expected += table->cells[i % table->cells.size()];
    while (m.pending() > 0) {
      m.wait();
      for (const result& each : m.take_results()) {
        sum += each.get(look_up);
        slaves.insert(each.slave);
      }
    }
    EXPECT_EQ(sum, expected);
    return slaves;
  }
};

TEST_F(ConstantsClusterTest, ASlaveGetsItOnceForAllTasks) {
  local_cluster cluster(2);
  master& m = cluster.master();
  auto table = m.broadcast(Squares(300'000));  // in three pieces
  EXPECT_EQ(table->cells[7], 49) << "the master may look, too";
  EXPECT_EQ(read, 1);
  std::set<slave_id> slaves = LookUp(m, table, 200);
  EXPECT_EQ(read, 1 + static_cast<int>(slaves.size()));
  slaves.merge(LookUp(m, table, 200));
  EXPECT_EQ(read, 1 + static_cast<int>(slaves.size()));
  EXPECT_EQ(look_up(table, 9u), 81) << "an algorithm that is called here has it as well";
  // One that joins later gets it, too.
  cluster.kill_slave(*slaves.begin());
  cluster.add_slave();
  slaves.merge(LookUp(m, table, 200));
  EXPECT_EQ(read, 1 + static_cast<int>(slaves.size()));
}

TEST_F(ConstantsClusterTest, ItEndsWithTheLastThatNamesIt) {
  local_cluster cluster(1);
  master& m = cluster.master();
  barrier_is_open = false;
  auto table = m.broadcast(Squares(100));
  auto copy = table;
  auto size = m.async(behind_barrier, table);
  table = {};
  m.poll();
  Until(at_barrier, 1);
  EXPECT_EQ(alive, 1);
  barrier_is_open = true;
  EXPECT_EQ(size.get(), 100u);
  auto again = m.async(behind_barrier, copy);
  EXPECT_EQ(again.get(), 100u);
  EXPECT_EQ(read, 1) << "it was kept for a copy";
  copy = {};
  Until(alive, 0);
  // One that nothing but its task names.
  EXPECT_EQ(m.async(look_up, m.broadcast(Squares(50)), 7u).get(), 49);
  Until(alive, 0);
}

TEST_F(ConstantsClusterTest, WithinOtherArguments) {
  local_cluster cluster(1);
  master& m = cluster.master();
  auto first = m.broadcast(Squares(10)), second = m.broadcast(Squares(20));
  EXPECT_EQ(m.async(look_up_all, Question{{first, second, first}, 3}).get(), 27);
  EXPECT_EQ(read, 2);
  EXPECT_THROW((void)m.async(look_up_all, Question{{first, {}}, 3}), error);
  std::vector<constant<Table>> many;
  for (int i = 0; i < 1001; ++i) many.push_back(m.broadcast(Table()));
  EXPECT_THROW((void)m.async(look_up_all, Question{many, 0}), error);
  EXPECT_THROW((void)m.broadcast(many), error) << "of constants";
  many.pop_back();
  EXPECT_THROW((void)m.async(look_up_all, Question{many, 0}).get(), error) << "at() throws";
  EXPECT_EQ(m.pending(), 0u);
}

TEST_F(ConstantsClusterTest, NotInResults) {
  local_cluster cluster(1);
  master& m = cluster.master();
  auto back = m.async(give_back, m.broadcast(Squares(10)));
  try {
    (void)back.get();
    FAIL();
  } catch (const error& why) {
    EXPECT_NE(std::string(why.what()).find("not of results"), std::string::npos) << why.what();
  }
  EXPECT_THROW((void)*constant<Table>(), error);
}

// Arguments of a task that comes back can be read, and submitted again.
TEST_F(ConstantsClusterTest, OfATaskThatIsHandedBack) {
  local_cluster cluster(1);
  master& m = cluster.master();
  barrier_is_open = false;
  m.submit(behind_barrier, policy{.retry = false}, m.broadcast(Squares(10)));
  m.poll();
  Until(at_barrier, 1);
  cluster.kill_slave(m.list_slaves().at(0).id);
  while (m.wait().unrunnable == 0) continue;
  barrier_is_open = true;
  cluster.add_slave();
  {
    const std::vector<task> back = m.take_unrunnable();
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(std::get<0>(back[0].arguments_of(behind_barrier))->cells.size(), 10u);
    m.submit_bytes(back[0].algorithm, {}, back[0].arguments, back[0].constants);
    m.submit_bytes(back[0].algorithm, {.tag = "without"}, back[0].arguments);
  }
  while (m.pending() > 0) {
    m.wait();
    for (const result& each : m.take_results()) {
      if (each.tag.empty()) EXPECT_EQ(each.get(behind_barrier), 10u);
      if (!each.tag.empty()) {
        EXPECT_NE(each.failure.find("did not come with them"), std::string::npos);
      }
    }
  }
  Until(alive, 0);
}

TEST_F(ConstantsClusterTest, ACheckpointKeepsThemWithTheirTasks) {
  local_cluster cluster(2);
  constant<Table> table;
  {
    master& m = cluster.master();
    table = m.broadcast(Squares(300'000));
    barrier_is_open = false;
    for (int i = 0; i < 20; ++i) m.submit(behind_barrier, table);
    m.checkpoint("here");
    Until(at_barrier, 2);
  }
  master& m = cluster.restart_master();
  barrier_is_open = true;
  EXPECT_THROW(m.submit(behind_barrier, table), error) << "of the earlier master";
  EXPECT_EQ(m.restored()->pending, 20u);
  table = m.broadcast(Squares(5));
  m.submit(behind_barrier, table);
  size_t large = 0, small = 0;
  while (m.pending() > 0) {
    m.wait();
    for (const result& each : m.take_results()) {
      (each.get(behind_barrier) == 300'000u ? large : small) += 1;
    }
  }
  EXPECT_EQ(large, 20u);
  EXPECT_EQ(small, 1u);
  m.checkpoint("all");
  table = {};
  Until(alive, 0);
  master& last = cluster.restart_master();
  EXPECT_EQ(last.restored()->pending, 0u);
}

}  // namespace
}  // namespace spate::mw
