// Processes that tasks leave behind, and the effects of killing a run, a shepherd or a
// task. The program itself serves, with the argument `__run`, as a run that is killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node/testing_executor.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "shepherd/launch.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

TEST_F(ProcessExecutorTest, WhatIsLeftBehindIsEndedAndNamed) {
  for (const auto& [name, text] : WaysToRunAway()) {
    const Ended& ended = Run(WithMark(text, mark_));
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << name;
    EXPECT_GE(ended.end.left_behind, 1u) << name;
    // By its name of that moment: setsid or env may not have become sleep yet.
    EXPECT_NE(ended.end.note.find(" (pid "), std::string::npos) << name << ": " << ended.end.note;
    EXPECT_TRUE(ended.end.note.starts_with("leftover processes: ")) << ended.end.note;
    EXPECT_TRUE(ended.end.note.ends_with(", ended")) << ended.end.note;
    EXPECT_TRUE(Marked("9999." + mark_).empty()) << name;
  }
}

TEST_F(ProcessExecutorTest, WhatEndsByItselfInAMomentIsNotLeftBehind) {
  const Ended& ended = Run("(sleep 0.01; echo late) & echo first");
  EXPECT_EQ(ended.output->out.bytes, "first\nlate\n");
  EXPECT_EQ(ended.end.left_behind, 0u);
  EXPECT_EQ(ended.end.note, "");
}

// Bombs that end by themselves after a while, so that a failing test harms nobody.
// A chain: everybody forks and ends, each in a session of its own.
constexpr const char* kChain =
    "cat > chain.sh <<'X'\n[ $1 -gt 0 ] && exec setsid sh -c \"sh ./chain.sh $(($1 - 1)) "
    "9999.MARK & exit 0\"\nX\nsh ./chain.sh 1000 9999.MARK & sleep 0.05";
// A tree: everybody forks twice, one of them into a session of its own.
constexpr const char* kTree =
    "cat > tree.sh <<'X'\n[ $1 -gt 0 ] || exec sleep 9999.MARK\n"
    "setsid sh ./tree.sh $(($1 - 1)) 9999.MARK & sh ./tree.sh $(($1 - 1)) 9999.MARK & wait\nX\n"
    "sh ./tree.sh 8 9999.MARK & sleep 0.1";

TEST_F(ProcessExecutorTest, ProcessesThatForkWhileTheyAreKilledEnd) {
  const Ended& chain = Run(WithMark(kChain, mark_));
  EXPECT_EQ(chain.end.cause, Cause::kSuccess);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  const Ended& tree = Run(WithMark(kTree, mark_));
  EXPECT_EQ(tree.end.cause, Cause::kSuccess);
  EXPECT_GE(tree.end.left_behind, 2u);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(ProcessExecutorTest, NoZombiesGather) {
  for (int i = 0; i < 20; ++i) Run("(true &); true & exec true");
  for (pid_t pid : executor_->ShepherdPids()) {
    int children = 0;
    shepherd::ProcessTree(pid).Each([&](pid_t) { ++children; });
    EXPECT_EQ(children, 0);
  }
}

TEST_F(ProcessExecutorTest, EndsByTermAndByKill) {
  AttemptRef term =
      Start(Shell(WithMark("trap 'echo got it; exit 3' TERM; "
                           "echo here > ready; sleep 9999.MARK & wait",
                           mark_)));
  RunUntil([&] { return FileHas("ready", "here\n"); });
  executor_->End(term, EndHow::kTerm, Cause::kTimeLimit);
  const Ended& gentle = Await(term);
  EXPECT_EQ(gentle.end.cause, Cause::kTimeLimit);
  EXPECT_EQ(gentle.end.status, 0);
  EXPECT_EQ(gentle.output->out.bytes, "got it\n");
  EXPECT_EQ(gentle.end.left_behind, 0u);  // the order ended all of it
  AttemptRef deaf =
      Start(Shell(WithMark("trap '' TERM; echo here > deaf; "
                           "(setsid sleep 9999.MARK &); sleep 9999.MARK",
                           mark_)));
  RunUntil([&] { return FileHas("deaf", "here\n"); });
  executor_->End(deaf, EndHow::kTerm, Cause::kTimeLimit);
  executor_->End(deaf, EndHow::kKill, Cause::kTimeLimit);
  EXPECT_EQ(Await(deaf).end.cause, Cause::kTimeLimit);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  // An end that comes too late changes nothing.
  executor_->End(deaf, EndHow::kKill, Cause::kStopped);
  EXPECT_EQ(Run("exit 0").end.cause, Cause::kSuccess);
}

TEST_F(ProcessExecutorTest, HeldOrdersCanBeTakenBackAndEnded) {
  StartOrder first;
  first.body = Plain({"sleep", "9999." + mark_});
  first.tell_start = true;
  AttemptRef running = StartOf(first);
  RunUntil([&] { return started_.contains(running.index); });
  AttemptRef held = Start(Plain({"true"}));
  AttemptRef other = Start(Plain({"true"}));
  AttemptRef stopped = Start(Plain({"true"}));
  executor_->Withdraw(held);
  executor_->End(stopped, EndHow::kTerm, Cause::kStopped);
  executor_->Withdraw(running);  // too late
  RunUntil([&] { return taken_back_.contains(held.index) && ended_.contains(stopped.index); });
  EXPECT_EQ(ended_[stopped.index].end.cause, Cause::kStopped);
  EXPECT_FALSE(ended_.contains(other.index));
  executor_->End(running, EndHow::kKill, Cause::kStopped);
  EXPECT_EQ(Await(running).end.cause, Cause::kStopped);
  EXPECT_EQ(Await(other).end.cause, Cause::kSuccess);
  EXPECT_EQ(taken_back_.size(), 1u);
}

TEST_F(ProcessExecutorTest, PausesWholeTrees) {
  AttemptRef ref =
      Start(Shell("(setsid sh -c 'while :; do echo x >> ticks; sleep 0.01; done' &); "
                  "while ! test -e stop; do sleep 0.01; done; pkill -g 0 x; exit 0"));
  RunUntil([&] { return os::Exists(dir_.Path("ticks")); });
  executor_->Pause(true);
  AttemptRef held = Start(Plain({"true"}), 2);
  auto size = [&] { return os::Stat(dir_.Path("ticks"))->size; };
  // Stopped when nothing came for a while that had time for several.
  uint64_t last = 0;
  int quiet = 0;
  RunUntil([&] {
    quiet = size() == last ? quiet + 1 : 0;
    last = size();
    return quiet > 30;
  });
  EXPECT_FALSE(ended_.contains(held.index));
  executor_->Pause(false);
  RunUntil([&] { return size() > last; });
  Await(held);
  dir_.Write("stop", "");
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(ProcessExecutorTest, AKilledShepherdIsReplacedAndNothingOfItsTaskSurvives) {
  std::string text = WithMark(
      "echo $PPID > shepherd; echo x >> runs; (setsid sleep 9999.MARK &); "
      "env -i setsid sleep 9999.MARK & sleep 9999.MARK",
      mark_);
  AttemptRef running = Start(Shell(text));
  AttemptRef held = Start(Plain({"true"}));
  RunUntil([&] { return Marked("9999." + mark_).size() >= 3; });
  pid_t pid = std::atoi(os::ReadFile(dir_.Path("shepherd"), 100)->c_str());
  ASSERT_EQ(executor_->ShepherdPids(), std::vector<pid_t>{pid});
  kill(pid, SIGKILL);
  const Ended& ended = Await(running);
  EXPECT_EQ(ended.end.cause, Cause::kNode);
  EXPECT_EQ(ended.end.note, "its shepherd was killed");
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  RunUntil([&] { return taken_back_.contains(held.index); });
  EXPECT_FALSE(ended_.contains(held.index));
  EXPECT_EQ(Run("exit 5").end.status, 5);
  EXPECT_NE(executor_->ShepherdPids(), std::vector<pid_t>{pid});
}

TEST_F(ProcessExecutorTest, EndsThatWereNotToldYetAreNotTakenForNeverStarted) {
  // The shepherd is stopped after a few tasks ran; what ran must not come back as "not started".
  std::vector<AttemptRef> refs;
  for (int i = 0; i < 300; ++i) {
    refs.push_back(Start(Shell(i == 150 ? "kill -9 $PPID; sleep 9999." + mark_
                                        : fmt::format("echo {} >> runs", i))));
  }
  RunUntil([&] { return ended_.size() + taken_back_.size() == refs.size(); });
  auto runs = os::ReadFile(dir_.Path("runs"), 1 << 20);
  ASSERT_TRUE(runs.has_value());
  for (int i = 0; i < 300; ++i) {
    bool ran = ("\n" + *runs).find(fmt::format("\n{}\n", i)) != std::string::npos || i == 150;
    EXPECT_EQ(ran, ended_.contains(refs[i].index)) << i;
  }
}

// With a tree of cgroups where this machine lets us have one.
class CgroupExecutorTest : public ProcessExecutorTest {
 protected:
  void SetUp() override {
    auto tree = os::CgroupTree::Create(os::FindCgroups());
    if (!tree) GTEST_SKIP() << tree.error().message;
    tree_ = std::move(*tree);
    options_.cgroup = tree_->dir();
  }
  void TearDown() override {
    executor_.reset();
    if (tree_) EXPECT_TRUE(tree_->Remove(Duration::Seconds(20)));
  }
  std::unique_ptr<os::CgroupTree> tree_;
};

TEST_F(CgroupExecutorTest, TasksAreInTheCgroupOfTheirSlot) {
  EXPECT_TRUE(Run("grep 0:: /proc/self/cgroup").output->out.bytes.ends_with("/slot-1\n"));
  const Ended& tree = Run(WithMark(kTree, mark_));
  EXPECT_EQ(tree.end.cause, Cause::kSuccess);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
  EXPECT_TRUE(Run("grep 0:: /proc/self/cgroup").output->out.bytes.ends_with("/slot-1\n"));
  executor_.reset();
  EXPECT_FALSE(os::Exists(tree_->dir() + "/slot-1"));
}

TEST_F(CgroupExecutorTest, TheKernelEndsWhatGoesOverItsMemory) {
  if (!tree_->has_memory()) GTEST_SKIP() << "no memory controller: " << tree_->Describe();
  StartOrder order;
  // The shell outlives the process that the kernel kills, and must go too.
  order.body =
      Shell("head -c 100000000 /dev/zero | tail -c 100000000 > /dev/null; sleep 9999." + mark_);
  order.needs.memory = 40'000'000;
  const Ended& over = Await(StartOf(order));
  EXPECT_EQ(over.end.cause, Cause::kMemory) << over.end.note;
  EXPECT_EQ(over.end.status, 0);
  EXPECT_EQ(over.end.memory_source, MemorySource::kCgroup);
  EXPECT_LE(over.end.peak_memory, 41'000'000u);
  const Ended& under = Run("head -c 50000000 /dev/zero | tail -c 50000000 | wc -c");
  EXPECT_EQ(under.end.cause, Cause::kSuccess);
  EXPECT_EQ(under.output->out.bytes, "50000000\n");
  EXPECT_EQ(under.end.memory_source, MemorySource::kCgroup);
  EXPECT_GE(under.end.peak_memory, 50'000'000u);
  const Ended& small = Run("true");
  EXPECT_LT(small.end.peak_memory, 40'000'000u) << WordOf(small.end.memory_source);
}

TEST_F(ProcessExecutorTest, ChildrenOfBeforeAreLeftAlone) {
  // One that was there, and one below it that comes to us as an orphan.
  options_.job_folder = dir_.path();
  pid_t foreign = fork();
  if (foreign == 0) {
    std::string text = "sleep 1000 & echo $! > orphan; while [ ! -e go ]; do sleep 0.01; done";
    if (chdir(dir_.path().c_str()) != 0) _exit(126);
    execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
    _exit(127);
  }
  auto orphan = [&] {
    auto text = os::ReadFile(dir_.Path("orphan"), 100);
    return text && text->ends_with("\n") ? std::atoi(text->c_str()) : 0;
  };
  ASSERT_TRUE(Until(kDeadline, [&] { return orphan() > 0; }));
  for (const auto& [name, text] : WaysToRunAway()) {
    if (std::string(name) == "empty environment") continue;  // the stated exception
    const Ended& killed =
        Run(WithMark(text + std::string("\nsleep 0.1; kill -9 $PPID; sleep 9999.MARK"), mark_));
    EXPECT_EQ(killed.end.cause, Cause::kNode) << name;
    EXPECT_TRUE(Marked("9999." + mark_).empty()) << name;
    dir_.Write("go", "");
    EXPECT_TRUE(Until(kDeadline, [&] {
      auto info = os::InfoOf(foreign);
      return !info || info->state == 'Z';
    }));
  }
  executor_.reset();
  auto info = os::InfoOf(orphan());
  EXPECT_TRUE(info && info->parent == getpid());
  kill(orphan(), SIGKILL);
  waitpid(orphan(), nullptr, 0);
  waitpid(foreign, nullptr, 0);
}

// ---- A run that is killed ----------------------------------------------------------------------

// The work of `__run FOLDER MARK`: every way to run away at once, until somebody kills it.
int RunAway(const std::string& folder, const std::string& mark) {
  class Silent final : public ExecutorEvents {
    void OnStarted(const AttemptRef&, Instant) override {}
    void OnEnded(AttemptEnd, TaskOutputPtr) override {}
    void OnTakenBack(const AttemptRef&) override {}
    void OnOutput(const AttemptRef&, int, std::string_view) override {}
    void OnMemory(const AttemptRef&, uint64_t) override {}
  } silent;
  auto loop = os::RealLoop::Create();
  ProcessExecutorOptions options;
  options.slots = 20;
  options.spool_folder = folder;
  options.job_folder = folder;
  auto executor = ProcessExecutor::Create(**loop, options);
  if (!executor) return 1;
  (*executor)->SetEvents(silent);
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = folder;
  settings->leftovers = Leftovers::kEnd;
  (*executor)->OpenJob(JobId(1), settings, false);
  uint16_t slot = 0;
  for (const auto& [name, text] : WaysToRunAway()) {
    StartOrder order;
    order.ref = {JobId(1), slot, Attempt(1)};
    order.slot = ++slot;
    order.body = Shell(WithMark(text + "\n sleep 9999.MARK", mark));
    (*executor)->Start(std::move(order));
  }
  (*loop)->Run();
  return 0;
}

class KilledRunTest : public testing::Test {
 protected:
  void SetUp() override {
    mark_ = fmt::format("7{}{:02}", getpid(), ++counter_);
    pid_ = fork();
    if (pid_ == 0) {
      execl("/proc/self/exe", "run", "__run", dir_.path().c_str(), mark_.c_str(), nullptr);
      _exit(127);
    }
    // A way starts one process for its marked sleep and one at least that runs away.
    ASSERT_TRUE(Until(Duration::Seconds(20), [&] {
      return Marked("9999." + mark_).size() >= 2 * WaysToRunAway().size();
    }));
  }
  void TearDown() override {
    for (pid_t pid : Marked("9999." + mark_)) kill(pid, SIGKILL);
  }
  void KillRun() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool GoneWithin(Duration patience) {
    return Until(patience, [&] { return Marked("9999." + mark_).empty(); });
  }
  os::TempDir dir_;
  std::string mark_;
  pid_t pid_ = -1;
  static inline int counter_ = 0;
};

TEST_F(KilledRunTest, EverythingIsGoneSoon) {
  KillRun();
  EXPECT_TRUE(GoneWithin(Duration::Seconds(5)));  // within one, where nothing else runs
}

TEST_F(KilledRunTest, LeftoversOfARunKilledWithItsShepherdsAreFound) {
  // Nobody may act in between: first all are stopped, then killed.
  std::vector<pid_t> shepherds;
  shepherd::ProcessTree(pid_).Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (info && info->parent == pid_) shepherds.push_back(pid);
  });
  EXPECT_EQ(shepherds.size(), WaysToRunAway().size());
  kill(pid_, SIGSTOP);
  for (pid_t pid : shepherds) kill(pid, SIGSTOP);
  for (pid_t pid : shepherds) kill(pid, SIGKILL);
  KillRun();
  EXPECT_FALSE(GoneWithin(Duration::Millis(100)));
  shepherd::Leftovers leftovers = shepherd::EndLeftovers(dir_.path(), "", 5'000'000'000);
  EXPECT_GE(leftovers.ended, 5);
  EXPECT_FALSE(leftovers.notes.empty());
  // A process that emptied its environment and took a session of its own is the stated exception.
  for (pid_t pid : Marked("9999." + mark_)) {
    auto environment = os::ReadFile(fmt::format("/proc/{}/environ", pid), 1 << 16);
    if (environment) EXPECT_EQ(environment->find("SPATE_JOB_DIR"), std::string::npos);
  }
  EXPECT_LE(Marked("9999." + mark_).size(), 1u);
}

// Two nodes may have folders of the same path, each in a file system of its own, and see each
// other's processes.
TEST(EndStrays, AreKnownByTheNodesIdAndNotByItsFolder) {
  pid_t other = fork();
  if (other == 0) {
    setsid();
    setenv("SPATE_NODE_DIR", "/the/folder", 1);
    setenv("SPATE_NODE_ID", "another", 1);
    execl("/bin/sleep", "sleep", "100", nullptr);
    _exit(127);
  }
  ASSERT_TRUE(Until(kDeadline, [&] {
    auto line = os::ReadFile(fmt::format("/proc/{}/cmdline", other), 1 << 16);
    return line && line->starts_with("sleep");
  }));
  EXPECT_EQ(shepherd::EndStrays("/the/folder", {}, 1'000'000'000).ended, 0);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  EXPECT_EQ(shepherd::EndStrays("another", {}, 1'000'000'000).ended, 1);
  waitpid(other, nullptr, 0);
}

pid_t ProcessOfAnotherJob() {
  pid_t other = fork();
  if (other != 0) return other;
  setsid();
  setenv("SPATE_JOB_DIR", "/another/job", 1);
  execl("/bin/sleep", "sleep", "100", nullptr);
  _exit(127);
}

TEST(EndLeftovers, LeavesOthersAlone) {
  os::TempDir dir;
  const pid_t other = ProcessOfAnotherJob();
  ASSERT_TRUE(shepherd::RecordShepherd(dir.path(), other));
  // The same pid with another start time: somebody else's.
  std::string record = *os::ReadFile(dir.Path("shepherds"), 4096);
  record.replace(record.rfind(' '), record.npos, " 12345\n");
  dir.Write("shepherds", record + "a line of another kind\n" + record.substr(0, 7));
  EXPECT_EQ(shepherd::EndLeftovers(dir.path(), "", 1'000'000'000).ended, 0);
  EXPECT_EQ(kill(other, 0), 0);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

// Anybody could name any process in a file of their own.
TEST(EndLeftovers, BelievesNoFileOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  os::TempDir dir;
  const pid_t other = ProcessOfAnotherJob();
  ASSERT_TRUE(shepherd::RecordShepherd(dir.path(), other));
  ASSERT_EQ(chown(dir.Path("shepherds").c_str(), 65534, 65534), 0);
  shepherd::EndLeftovers(dir.path(), "", 100'000'000);
  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "it lives";
  ASSERT_EQ(chown(dir.Path("shepherds").c_str(), 0, 0), 0);
  shepherd::EndLeftovers(dir.path(), "", 100'000'000);
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (argc == 4 && std::string(argv[1]) == "__run") return spate::node::RunAway(argv[2], argv[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
