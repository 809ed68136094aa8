// Limits of tasks, with a cgroup for each slot and without. Only what a shell has in itself is
// used, so that these run in the small virtual machine with all controllers, too
// (tests/cgroup2-vm/run).
#include <sys/resource.h>

#include "node/testing_executor.h"
#include "os/cgroup.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

constexpr Instant kStop{77};

// Starts processes one after another, waits until told, and ends well.
constexpr const char* kMany =
    "i=0; while [ $i -lt 60 ]; do sleep 9999.MARK & i=$((i+1)); sleep 0.02; done\n"
    "while ! [ -e done ]; do sleep 0.05; done; exit 0";
// Has 64 MB in a variable, then writes as long as it runs.
constexpr const char* kLarge =
    "a=0123456789abcdef; i=0; while [ $i -lt 22 ]; do a=$a$a; i=$((i+1)); done\n"
    "while ! [ -e done ]; do echo x >> ticks; sleep 0.05; done";

class TaskLimitsTest : public ProcessExecutorTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) return;
    auto tree = os::CgroupTree::Create(os::FindCgroups());
    if (!tree) GTEST_SKIP() << tree.error().message;
    tree_ = std::move(*tree);
    options_.cgroup = tree_->dir();
  }
  void TearDown() override {
    executor_.reset();
    if (tree_) {
      EXPECT_TRUE(tree_->Remove(Duration::Seconds(20)));
    }
  }
  bool has_pids() const { return tree_ && tree_->has_pids(); }
  bool has_memory() const { return tree_ && tree_->has_memory(); }

  AttemptRef StartMany() { return Start(Shell(WithMark(kMany, mark_))); }
  size_t Size(const char* name) {
    auto text = os::ReadFile(dir_.Path(name), 1 << 20);
    return text ? text->size() : 0;
  }
  // Nothing is written for a while.
  bool StandsStill() {
    const size_t before = Size("ticks");
    poll(nullptr, 0, 400);
    return Size("ticks") == before;
  }
  // An attempt may be known to have begun while its program is still being opened.
  std::vector<EnforcedLimit> LimitsOf(const AttemptRef& ref) {
    for (int tries = 0; tries < 200; ++tries) {
      std::optional<RunLook> look;
      LookAt(*executor_, ref, 0, {.use = true}, [&](RunLook told) { look = std::move(told); });
      RunUntil([&] { return look.has_value(); });
      if (look->use) return look->use->limits;
      poll(nullptr, 0, 20);
    }
    return {};
  }
  static std::optional<LimitBy> ByOf(const std::vector<EnforcedLimit>& limits, LimitOf what) {
    auto found = std::ranges::find(limits, what, &EnforcedLimit::what);
    return found == limits.end() ? std::nullopt : std::optional(found->by);
  }

  std::unique_ptr<os::CgroupTree> tree_;
};
INSTANTIATE_TEST_SUITE_P(, TaskLimitsTest, testing::Bool(),
                         [](const auto& with) { return with.param ? "InACgroup" : "WithoutOne"; });

TEST_P(TaskLimitsTest, TooManyProcessesAreKilled) {
  settings_.max_processes = 20;
  const AttemptRef ref = StartMany();
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kExcess) << ended.end.note;
  EXPECT_NE(ended.end.note.find("asked for 20"), std::string::npos) << ended.end.note;
  EXPECT_LT(ended.end.wall, Duration::Seconds(10));
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  EXPECT_TRUE(exceeded_.empty()) << "the end says it";
  // The slot's next task is another one.
  EXPECT_EQ(Run("exit 0").end.cause, Cause::kSuccess);
}

// A fork bomb that is a tree of processes, each of which waits for its two. It ends by itself at
// 1,023 of them, so that a failing test harms nobody.
constexpr const char* kBomb =
    "cat > bomb.sh <<'X'\n[ $1 -gt 0 ] || exec sleep 9999.MARK\n"
    "sh ./bomb.sh $(($1 - 1)) 9999.MARK & sh ./bomb.sh $(($1 - 1)) 9999.MARK & wait\nX\n"
    "sh ./bomb.sh 9 9999.MARK & wait";

TEST_P(TaskLimitsTest, AForkBombEndsAndItsNeighbourDoesNot) {
  settings_.max_processes = 30;
  const AttemptRef neighbour = Start(
      Shell("i=0; while [ $i -lt 60 ]; do (exit 0) || exit 9; i=$((i+1)); sleep 0.02; done"), 2);
  const AttemptRef bomb = Start(Shell(WithMark(kBomb, mark_)));
  const Ended& ended = Await(bomb);
  EXPECT_EQ(ended.end.cause, Cause::kExcess) << ended.end.note;
  EXPECT_LT(ended.end.wall, Duration::Seconds(tree_ && has_pids() ? 20 : 3));
  EXPECT_EQ(Await(neighbour).end.cause, Cause::kSuccess) << ended_[neighbour.index].end.note;
}

TEST_P(TaskLimitsTest, AWarningIsToldOnce) {
  settings_.max_processes = 20;
  settings_.on_excess_processes = OnExcess::kWarn;
  const AttemptRef ref = StartMany();
  RunUntil([&] { return exceeded_.contains(ref.index); });
  EXPECT_EQ(ByOf(LimitsOf(ref), LimitOf::kProcesses), LimitBy::kWatch);
  RunUntil([&] { return Marked("9999." + mark_).size() >= 60; });
  dir_.Write("done", "");
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_NE(ended.end.note.find("but asked for 20 processes"), std::string::npos);
  ASSERT_EQ(exceeded_[ref.index].size(), 1u);
  const Excess& excess = exceeded_[ref.index].front();
  EXPECT_EQ(excess.done, OnExcess::kWarn);
  EXPECT_EQ(excess.limit, 20u);
  EXPECT_GT(excess.used, 20u);
}

TEST_P(TaskLimitsTest, AStopLastsUntilItIsContinued) {
  settings_.max_processes = 20;
  settings_.on_excess_processes = OnExcess::kStop;
  const AttemptRef ref = StartMany();
  RunUntil([&] { return exceeded_.contains(ref.index); });
  EXPECT_EQ(exceeded_[ref.index].front().done, OnExcess::kStop);
  EXPECT_EQ(ByOf(LimitsOf(ref), LimitOf::kProcesses),
            has_pids() ? LimitBy::kCgroup : LimitBy::kWatch);
  const size_t then = Marked("9999." + mark_).size();
  EXPECT_LT(then, 40u);
  poll(nullptr, 0, 300);
  EXPECT_EQ(Marked("9999." + mark_).size(), then) << "nothing is started";
  // The hub's order to stop changes nothing, and that to continue lets all of it go.
  executor_->Freeze(ref, true, kStop);
  RunUntil([&] { return frozen_[ref.index]; });
  EXPECT_EQ(Marked("9999." + mark_).size(), then);
  executor_->Freeze(ref, false, {});
  RunUntil([&] { return Marked("9999." + mark_).size() >= 60; });
  dir_.Write("done", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess) << ended_[ref.index].end.note;
  EXPECT_EQ(exceeded_[ref.index].size(), 1u) << "who continues it accepts that";
  EXPECT_NE(ended_[ref.index].end.note.find("and was stopped"), std::string::npos);
}

TEST_P(TaskLimitsTest, MemoryStopsOrWarns) {
  for (OnExcess action : {OnExcess::kStop, OnExcess::kWarn}) {
    settings_.on_excess_memory = action;
    executor_.reset();
    for (const char* file : {"done", "ticks"}) (void)os::RemoveFile(dir_.Path(file));
    StartOrder order;
    order.body = Shell(kLarge);
    order.needs.memory = 40'000'000;
    const AttemptRef ref = StartOf(order);
    RunUntil([&] { return exceeded_.contains(ref.index); });
    EXPECT_EQ(exceeded_[ref.index].front().what, Resource::kMemory);
    EXPECT_GT(exceeded_[ref.index].front().used, 38'000'000u);
    if (action == OnExcess::kStop) {
      EXPECT_EQ(ByOf(LimitsOf(ref), LimitOf::kMemory),
                has_memory() ? LimitBy::kCgroup : LimitBy::kWatch);
      EXPECT_TRUE(StandsStill());
      executor_->Freeze(ref, false, {});
    }
    EXPECT_EQ(ByOf(LimitsOf(ref), LimitOf::kMemoryGuarantee),
              has_memory() ? LimitBy::kCgroup : LimitBy::kNothing);
    RunUntil([&] { return Size("ticks") >= 10; });
    dir_.Write("done", "");
    const Ended& ended = Await(ref);
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
    EXPECT_NE(ended.end.note.find("but asked for 38 MB of memory"), std::string::npos)
        << ended.end.note;
    EXPECT_EQ(exceeded_[ref.index].size(), 1u);
  }
}

TEST_P(TaskLimitsTest, CpusAreSharedAndCapped) {
  settings_.on_excess_cpu = OnExcess::kStop;
  settings_.nice = 2;
  StartOrder order;
  order.body = Shell("while ! [ -e done ]; do sleep 0.05; done");
  order.needs.milli_cpus = 500;
  order.tell_start = true;
  const AttemptRef ref = StartOf(order);
  RunUntil([&] { return started_.contains(ref.index); });
  const std::vector<EnforcedLimit> limits = LimitsOf(ref);
  const LimitBy by = tree_ && tree_->has_cpu() ? LimitBy::kCgroup : LimitBy::kNothing;
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0], (EnforcedLimit{LimitOf::kCpuShare, by, 32}));  // half of 100, two steps less
  EXPECT_EQ(limits[1], (EnforcedLimit{LimitOf::kCpu, by, 500, OnExcess::kStop}));
  dir_.Write("done", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_P(TaskLimitsTest, SoftLimitsAreCutToTheNodesHardOnes) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit lower{256, 512};
  setrlimit(RLIMIT_NOFILE, &lower);
  settings_.soft_limits = {
      {LimitKind::kStackBytes, 1 << 20}, {LimitKind::kCoreBytes, 0}, {LimitKind::kOpenFiles, 600}};
  constexpr const char* kTell = "ulimit -S -s; ulimit -S -c; ulimit -S -n; ulimit -H -n";
  const Ended& first = Run(kTell);
  EXPECT_EQ(first.output->out.bytes, "1024\n0\n512\n512\n");
  EXPECT_EQ(first.end.note,
            "has at most 512 open files (this node's hard limit), not 600 as the submitter");
  EXPECT_EQ(Run(kTell).end.note, "") << "once for the job is enough";
  settings_.limits = {{LimitKind::kOpenFiles, 100}};
  executor_.reset();
  const Ended& own = Run(kTell);
  EXPECT_EQ(own.output->out.bytes, "1024\n0\n100\n100\n");
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
