#include "os/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "os/affinity.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

// ------------------------------------------------------------------ tables of real machines

struct PlacesRow {
  const char* name;
  const char* mountinfo;
  const char* cgroup;
  const char *v2_mount, *v2_dir;
  const char* memory_dir;  // of v1
};

const PlacesRow kPlaces[] = {
    {"user slice of systemd, v2",
     "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 "
     "rw,nsdelegate,memory_recursiveprot\n",
     "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n", "/sys/fs/cgroup",
     "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope", ""},
    {"docker, v2 with a cgroup namespace",
     "1020 1019 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\n",
     "0::/\n", "/sys/fs/cgroup", "/sys/fs/cgroup", ""},
    {"docker, v1 without a cgroup namespace",
     "716 715 0:33 /docker/ab12 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
     "717 715 0:34 /docker/ab12 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
     "11:memory:/docker/ab12\n5:cpu,cpuacct:/docker/ab12\n1:name=systemd:/docker/ab12\n", "", "",
     "/sys/fs/cgroup/memory"},
    {"slurm, v1",
     "34 25 0:29 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
     "35 25 0:30 / /sys/fs/cgroup/freezer rw,nosuid - cgroup cgroup rw,freezer\n",
     "9:memory:/slurm/uid_1000/job_77/step_batch/task_0\n"
     "3:freezer:/slurm/uid_1000/job_77/step_batch\n0::/system.slice/slurmd.service\n",
     "", "", "/sys/fs/cgroup/memory/slurm/uid_1000/job_77/step_batch/task_0"},
    {"hybrid, memory with v1",
     "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
     "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
     "4:memory:/api/5cfb\n1:name=systemd:/\n0::/\n", "/sys/fs/cgroup/unified",
     "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory/api/5cfb"},
    {"a part mounted elsewhere", "41 31 0:38 /other /mnt/cg rw - cgroup2 cgroup2 rw\n",
     "0::/mine/x\n", "/mnt/cg", "", ""},
    {"two mounts, the second shows us",
     "41 31 0:38 /other /mnt/cg rw - cgroup2 cgroup2 rw\n"
     "42 31 0:38 /mine /mnt/cg2 rw - cgroup2 cgroup2 rw\n",
     "0::/mine/x\n", "/mnt/cg2", "/mnt/cg2/x", ""},
    {"a prefix that is no folder", "41 31 0:38 /min /mnt/cg rw - cgroup2 cgroup2 rw\n",
     "0::/mine\n", "/mnt/cg", "", ""},
    {"moved out of the namespace", "41 31 0:38 / /mnt/cg rw - cgroup2 cgroup2 rw\n",
     "0::/../outside\n", "/mnt/cg", "", ""},
    {"nothing", "22 27 0:21 / /proc rw,relatime - proc proc rw\n", "", "", "", ""},
};

TEST(CgroupPlaces, Machines) {
  for (const PlacesRow& row : kPlaces) {
    SCOPED_TRACE(row.name);
    CgroupPlaces places = ParseCgroups(row.mountinfo, row.cgroup);
    EXPECT_EQ(places.v2_mount, row.v2_mount);
    EXPECT_EQ(places.v2_dir, row.v2_dir);
    const auto* memory = places.FindV1("memory");
    EXPECT_EQ(memory == nullptr ? "" : memory->dir, row.memory_dir);
  }
}

TEST(CgroupPlaces, ReadsFilesBelowARoot) {
  TempDir root;
  root.Write("proc/self/mountinfo", kPlaces[0].mountinfo);
  root.Write("proc/self/cgroup", kPlaces[0].cgroup);
  EXPECT_EQ(FindCgroups(root.path()).v2_dir, kPlaces[0].v2_dir);
  EXPECT_EQ(FindCgroups(root.Path("none")).v2_mount, "");
}

TEST(DescribeCgroups, SaysWhyNotMore) {
  TempDir root;
  auto describe = [&](int row) {
    return DescribeCgroups(ParseCgroups(kPlaces[row].mountinfo, kPlaces[row].cgroup), root.path());
  };
  std::string user = std::string(kPlaces[0].v2_dir);
  EXPECT_EQ(describe(0), "no cgroup is used: '" + user + "' does not exist");
  root.Write(user + "/cgroup.procs", "1");
  root.Write(user + "/cgroup.controllers", "memory pids");
  EXPECT_EQ(describe(0), "cgroup v2 in '" + user + "' can contain tasks and limit memory");
  root.Write(user + "/cgroup.controllers", "cpu pids");
  EXPECT_EQ(describe(0), "cgroup v2 in '" + user +
                             "' can contain tasks, but not limit memory: it offers no memory "
                             "controller");
  EXPECT_EQ(describe(1), "no cgroup is used: '/sys/fs/cgroup' is mounted read-only");
  EXPECT_EQ(describe(2),
            "no cgroup is used: this machine has cgroup v1 only, which is not supported");
  root.Write("sys/fs/cgroup/unified/cgroup.procs", "1");
  root.Write("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb");
  EXPECT_EQ(describe(4),
            "cgroup v2 in '/sys/fs/cgroup/unified' can contain tasks, but not limit memory: its "
            "controller belongs to cgroup v1 on this machine");
  EXPECT_EQ(describe(5),
            "no cgroup is used: the one of this process is not visible below '/mnt/cg'");
  EXPECT_EQ(describe(9), "no cgroup is used: none is mounted on this machine");
}

TEST(Cgroup, ReadsItsFiles) {
  TempDir dir;
  dir.Write("cgroup.events", "populated 1\nfrozen 0\n");
  dir.Write("cgroup.procs", "12\n345\n");
  Cgroup cgroup(dir.path());
  EXPECT_TRUE(cgroup.IsPopulated());
  EXPECT_EQ(cgroup.Pids(), (std::vector<Pid>{12, 345}));
  cgroup.Begin({.memory = 1, .processes = 1});  // no controller has made its files
  EXPECT_FALSE(cgroup.holds().memory);
  EXPECT_FALSE(cgroup.holds().processes);
  EXPECT_FALSE(cgroup.holds().cpu_weight);
  dir.Write("pids.max", "max\n");
  cgroup.Begin({.processes = 7});
  EXPECT_FALSE(cgroup.holds().processes);  // it is known that there is none
  Cgroup fresh(dir.path());
  dir.Write("cpu.weight", "100\n");
  dir.Write("cpu.max", "max 100000\n");
  fresh.Begin({.processes = 7, .cpu_weight = 250, .milli_cpus = 1500});
  EXPECT_TRUE(fresh.holds().processes && fresh.holds().cpu_weight && fresh.holds().milli_cpus);
  EXPECT_FALSE(fresh.holds().memory_low);
  auto text = [&](const char* name) { return ReadFile(dir.path() + "/" + name, 100).value(); };
  EXPECT_EQ(text("pids.max").substr(0, 1), "7");
  EXPECT_EQ(text("cpu.weight").substr(0, 3), "250");
  EXPECT_EQ(text("cpu.max").substr(0, 13), "150000 100000");
  fresh.Begin({});  // the next attempt asks for none
  EXPECT_EQ(text("pids.max").substr(0, 3), "max");
  EXPECT_EQ(text("cpu.max").substr(0, 3), "max");
  EXPECT_FALSE(fresh.holds().processes);
}

// ------------------------------------------------------------------ the real thing

class RealCgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    tree_ = CgroupTree::Create(FindCgroups());
    if (!tree_) GTEST_SKIP() << tree_.error().message;
  }
  static Cgroup SlotOf(const CgroupTree& tree, uint32_t number = 1) {
    const std::string dir = fmt::format("{}/slot-{}", tree.dir(), number);
    EXPECT_TRUE(MakeDir(dir));
    return Cgroup(dir);
  }
  // A process of the slot that runs `body` once it sits in it. It has none of our descriptors, as a
  // program that was executed: so no lock of a tree.
  static pid_t StartIn(Cgroup& slot, void (*body)()) {
    SocketPair go = MakeSocketPair().value();
    char c = 0;
    pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      dup2(go.b.get(), 3);
      close_range(4, ~0U, 0);
      (void)!write(3, &c, 1);
      (void)!read(3, &c, 1);
      close(3);
      body();
      _exit(0);
    }
    (void)!read(go.a.get(), &c, 1);
    EXPECT_TRUE(WriteFile(slot.dir() + "/cgroup.procs", fmt::format("{}", pid)));
    return pid;
  }
  static int StatusOf(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  static void WaitForever() {
    for (;;) pause();
  }

  Result<std::unique_ptr<CgroupTree>> tree_ = Fail(ErrorKind::kIo, "");
};

TEST_F(RealCgroup, ContainsKillsAndRemoves) {
  std::string dir = (*tree_)->dir();
  RecordProperty("describe", (*tree_)->Describe());
  Cgroup slot = SlotOf(**tree_);
  EXPECT_FALSE(slot.IsPopulated());
  EXPECT_TRUE(slot.KillAll(Duration::Seconds(1)));
  pid_t pid = StartIn(slot, [] {
    if (fork() == 0) setsid();
    WaitForever();
  });
  EXPECT_TRUE(slot.IsPopulated());
  auto killed = slot.KillAll(Duration::Seconds(20));
  EXPECT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(WTERMSIG(StatusOf(pid)), SIGKILL);
  EXPECT_FALSE(slot.IsPopulated());
  // It can be used again, and a tree with somebody in it goes too.
  pid = StartIn(slot, WaitForever);
  EXPECT_EQ(slot.Pids(), std::vector<Pid>{pid});
  auto removed = (*tree_)->Remove(Duration::Seconds(20));
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(WTERMSIG(StatusOf(pid)), SIGKILL);
  EXPECT_FALSE(Exists(dir));
}

TEST_F(RealCgroup, Freezes) {
  Cgroup slot = SlotOf(**tree_);
  pid_t pid = StartIn(slot, WaitForever);
  EXPECT_TRUE(slot.Freeze());
  EXPECT_TRUE(slot.KillAll(Duration::Seconds(20)));
  EXPECT_EQ(WTERMSIG(StatusOf(pid)), SIGKILL);
}

TEST_F(RealCgroup, LimitsProcesses) {
  if (!(*tree_)->has_pids()) GTEST_SKIP() << (*tree_)->Describe();
  Cgroup slot = SlotOf(**tree_);
  slot.Begin({.processes = 1});
  ASSERT_TRUE(slot.holds().processes);
  int status = StatusOf(StartIn(slot, [] { _exit(fork() == -1 && errno == EAGAIN ? 0 : 1); }));
  EXPECT_EQ(status, 0);
}

// Keeps one processor, the same for all, busy for so long.
void Spin(int64_t nanos) {
  (void)SetAllowedCpus(CpuMask::Of({AllowedCpus().Cpus().front()}));
  const int64_t end = MonotonicNanos() + nanos;
  while (MonotonicNanos() < end) {
  }
}

TEST_F(RealCgroup, SharesAndCapsCpus) {
  if (!(*tree_)->has_cpu()) GTEST_SKIP() << (*tree_)->Describe();
  std::vector<Cgroup> slots;
  for (uint32_t i = 1; i <= 3; ++i) slots.push_back(SlotOf(**tree_, i));
  slots[0].Begin({.cpu_weight = 100});
  slots[1].Begin({.cpu_weight = 300});
  slots[2].Begin({.milli_cpus = 300});
  ASSERT_TRUE(slots[1].holds().cpu_weight && slots[2].holds().milli_cpus);
  auto used = [&](size_t i) {
    const std::string text = ReadFile(slots[i].dir() + "/cpu.stat", 4096).value();
    return std::stoll(text.substr(text.find("usage_usec ") + 11));
  };
  // Both want the same processor.
  const pid_t small = StartIn(slots[0], [] { Spin(4'000'000'000); });
  const pid_t large = StartIn(slots[1], [] { Spin(4'000'000'000); });
  StatusOf(small);
  StatusOf(large);
  const double share = static_cast<double>(used(1)) / static_cast<double>(used(0));
  EXPECT_GT(share, 2.0);
  EXPECT_LT(share, 4.5);
  const int64_t before = MonotonicNanos();
  StatusOf(StartIn(slots[2], [] { Spin(4'000'000'000); }));
  const double cpus =
      static_cast<double>(used(2)) * 1000 / static_cast<double>(MonotonicNanos() - before);
  EXPECT_GT(cpus, 0.15);
  EXPECT_LT(cpus, 0.45);
}

TEST_F(RealCgroup, GuaranteesMemory) {
  if (!(*tree_)->has_memory()) GTEST_SKIP() << (*tree_)->Describe();
  Cgroup slot = SlotOf(**tree_);
  slot.Begin({.memory_high = 64 << 20, .memory_low = 32 << 20});
  EXPECT_TRUE(slot.holds().memory_low && slot.holds().memory_high && !slot.holds().memory);
  EXPECT_EQ(ReadFile(slot.dir() + "/memory.low", 100).value(), "33554432\n");
  EXPECT_EQ(ReadFile((*tree_)->dir() + "/memory.low", 100).value(), "max\n");
}

constexpr uint64_t kMega = 1 << 20;

// The shepherd: two attempts, the first with too little memory. Returns 0, or the check that
// failed.
int TwoAttempts(Cgroup& cgroup, int (*take_memory)()) {
  cgroup.Enter();
  cgroup.Begin({.memory = 32 * kMega});
  const int limited = take_memory();
  if (!WIFSIGNALED(limited) || WTERMSIG(limited) != SIGKILL) return 1;
  if (!cgroup.WasOutOfMemory()) return 2;
  auto peak = cgroup.Peak();
  if (peak && (*peak <= 16 * kMega || *peak > 32 * kMega)) return 3;
  cgroup.Begin({});
  if (take_memory() != 0) return 4;
  if (cgroup.WasOutOfMemory()) return 5;
  peak = cgroup.Peak();
  if (peak && *peak < 64 * kMega) return 6;
  return 0;
}

TEST_F(RealCgroup, LimitsMemoryAndReadsItsPeak) {
  if (!(*tree_)->has_memory()) GTEST_SKIP() << (*tree_)->Describe();
  Cgroup slot = SlotOf(**tree_);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    _exit(TwoAttempts(
        slot, +[] {
          const pid_t task = fork();
          if (task != 0) return StatusOf(task);
          void* block =
              mmap(nullptr, 64 * kMega, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          memset(block, 1, 64 * kMega);
          _exit(0);
        }));
  }
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RealCgroup, BoundsMemoryBesideWhatIsFrozen) {
  if (!(*tree_)->has_memory()) GTEST_SKIP() << (*tree_)->Describe();
  Cgroup slot = SlotOf(**tree_);
  const pid_t pid = StartIn(
      slot, +[] {
        Cgroup own(FindCgroups().v2_dir);
        own.Enter();
        own.Begin({.memory = 64 << 20});
        if (!own.Freeze()) _exit(1);
        if (ReadFile(own.dir() + "-aside/memory.max", 100).value_or("") != "67108864\n") _exit(2);
        own.Thaw();
      });
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RealCgroup, KillsAllButItsOwner) {
  Cgroup slot = SlotOf(**tree_);
  const pid_t pid = StartIn(
      slot, +[] {
        Cgroup own(FindCgroups().v2_dir);
        own.Enter();
        const pid_t task = fork();
        if (task == 0) WaitForever();
        if (!own.Freeze() || !own.is_frozen()) _exit(1);
        own.Thaw();
        (void)own.KillAll({});
        if (WTERMSIG(StatusOf(task)) != SIGKILL) _exit(2);
        if (FindCgroups().v2_dir != own.dir()) _exit(3);
      });
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A visit that began before its task was frozen, and what it starts.
TEST_F(RealCgroup, LetsSomeRunOnWhileFrozen) {
  Cgroup slot = SlotOf(**tree_);
  const pid_t pid = StartIn(
      slot, +[] {
        Cgroup own(FindCgroups().v2_dir);
        own.Enter();
        const SocketPair talk = MakeSocketPair().value();
        const pid_t visit = fork();
        char c = 0;
        if (visit == 0) {
          while (read(talk.b.get(), &c, 1) == 1 && write(talk.b.get(), &c, 1) == 1) {
          }
          _exit(0);
        }
        const pid_t task = fork();
        if (task == 0) WaitForever();
        if (!own.Freeze()) _exit(1);
        own.MoveAside({visit});
        c = 'x';
        if (write(talk.a.get(), &c, 1) != 1 || read(talk.a.get(), &c, 1) != 1) _exit(2);
        while (!own.StandsStill()) sched_yield();
        own.Thaw();
        if (own.Pids().size() != 3) _exit(3);
        if (Exists(own.dir() + "-aside")) _exit(4);
        kill(visit, SIGKILL);
        kill(task, SIGKILL);
      });
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A folder does for a cgroup that may be changed but not entered.
TEST(Cgroup, NothingIsStoppedWhereItsOwnerCannotBe) {
  TempDir dir;
  const std::string freeze = dir.Write("slot/cgroup.freeze", "0");
  const std::string kill = dir.Write("slot/cgroup.kill", "");
  dir.Write("slot/cgroup.events", "populated 1\n");
  Cgroup slot(dir.Path("slot"));
  slot.Enter();
  EXPECT_FALSE(slot.Freeze());
  EXPECT_FALSE(slot.is_frozen());
  EXPECT_TRUE(slot.KillAll({}));
  EXPECT_EQ(ReadFile(freeze, 100).value_or(""), "0");
  EXPECT_EQ(ReadFile(kill, 100).value_or("?"), "");
}

// Folders do for what is asked of a tree where nothing runs.
TEST(SweepCgroups, TreesOfDeadNodesGoWhenNothingRunsThere) {
  TempDir dir;
  // Its owner is in another pid namespace, so only the lock tells.
  const std::string alive = "spate-node-ab-1-8.held";
  const std::string dead = "spate-node-ab-1-7.held";
  // The last one is of a release that took no lock.
  for (const std::string& name :
       {dead, alive, std::string("spate-node-ab"), std::string("spate-1-7")}) {
    ASSERT_TRUE(MakeDir(dir.Path(name)));
  }
  Fd lock(open(dir.Path(alive).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  ASSERT_TRUE(MakeDir(dir.Path(dead + "/slot-1")));
  ASSERT_TRUE(MakeDir(dir.Path("spate-node-cd-1-7.held")));
  dir.Write("spate-node-cd-1-7.held/cgroup.events", "populated 1\nfrozen 0\n");
  CgroupPlaces places;
  places.v2_mount = dir.path();
  places.v2_dir = dir.path();
  EXPECT_EQ(SweepCgroups(places, Duration::Seconds(1)), 1u);
  EXPECT_FALSE(Exists(dir.Path(dead)));
  EXPECT_EQ(ListDir(dir.path())->size(), 4u);
  lock.Reset();
  EXPECT_EQ(SweepCgroups(places, Duration::Seconds(1)), 1u);
  EXPECT_FALSE(Exists(dir.Path(alive)));
}

TEST_F(RealCgroup, SweepsTreesOfTheDeadOnly) {
  // A run that ends without cleaning up, with a task of its still there.
  Pipe told = MakePipe().value();
  pid_t run = fork();
  if (run == 0) {
    alarm(60);
    auto tree = CgroupTree::Create(FindCgroups());
    if (!tree) _exit(1);
    Cgroup slot = SlotOf(**tree);
    StartIn(slot, WaitForever);
    (void)WriteAll(told.write.get(), (*tree)->dir() + "\n", "pipe");
    WaitForever();
  }
  char buffer[512];
  size_t n = ReadSome(told.read.get(), buffer, sizeof buffer, "pipe").value();
  ASSERT_GT(n, 1u);
  std::string dir(buffer, n - 1);
  SweepCgroups(FindCgroups(), Duration::Seconds(20));
  EXPECT_TRUE(Exists(dir));
  EXPECT_TRUE(Exists((*tree_)->dir()));
  kill(run, SIGKILL);
  StatusOf(run);
  // Another program may sweep at the same time, so the count may be 0.
  SweepCgroups(FindCgroups(), Duration::Seconds(20));
  EXPECT_FALSE(Exists(dir));
  EXPECT_TRUE(Exists((*tree_)->dir()));
}

// Pids mean nothing there, but the cgroups are the same.
TEST_F(RealCgroup, SparesTheTreeOfALivingRunInAnotherPidNamespace) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may make a pid namespace";
  Pipe told = MakePipe().value();
  pid_t outer = fork();
  if (outer == 0) {
    alarm(60);
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(1);
    pid_t run = fork();  // its number is 1 there
    if (run != 0) {
      StatusOf(run);
      _exit(0);
    }
    alarm(60);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(1);
    if (mount("proc", "/proc", "proc", 0, nullptr) != 0) _exit(1);
    auto tree = CgroupTree::Create(FindCgroups());
    if (!tree) _exit(1);
    (void)WriteAll(told.write.get(), (*tree)->dir() + "\n", "pipe");
    WaitForever();
  }
  told.write.Reset();
  char buffer[512];
  size_t n = ReadSome(told.read.get(), buffer, sizeof buffer, "pipe").value();
  if (n == 0) GTEST_SKIP() << "this machine lets nobody make a pid namespace";
  std::string dir(buffer, n - 1);
  SweepCgroups(FindCgroups(), Duration::Seconds(20));
  EXPECT_TRUE(Exists(dir));
  kill(outer, SIGKILL);
  StatusOf(outer);
  // Its child dies a moment later.
  for (int i = 0; Exists(dir) && i < 20000; ++i) {
    SweepCgroups(FindCgroups(), Duration::Seconds(20));
    poll(nullptr, 0, 1);
  }
  EXPECT_FALSE(Exists(dir));
}

TEST_F(RealCgroup, ANodesTreeIsSweptByItsNextProcessOnly) {
  Pipe told = MakePipe().value();
  pid_t node = fork();
  if (node == 0) {
    alarm(60);
    auto tree = CgroupTree::Create(FindCgroups(), "a-word");
    if (!tree) _exit(1);
    std::string text = (*tree)->dir();
    for (uint32_t number : {1, 2}) {
      Cgroup slot = SlotOf(**tree, number);
      text += fmt::format(" {}", StartIn(slot, WaitForever));
    }
    (void)WriteAll(told.write.get(), text, "pipe");
    WaitForever();
  }
  char buffer[512];
  size_t n = ReadSome(told.read.get(), buffer, sizeof buffer, "pipe").value();
  std::istringstream words(std::string(buffer, n));
  std::string dir;
  Pid first = 0;
  words >> dir >> first;
  ASSERT_GT(first, 0);
  auto next = CgroupTree::Create(FindCgroups(), "a-word").value();
  auto other = CgroupTree::Create(FindCgroups(), "word").value();
  EXPECT_EQ(SweepNodeCgroups(next->dir(), {}, Duration::Seconds(20)), 0u);  // it lives
  kill(node, SIGKILL);
  StatusOf(node);
  SweepCgroups(FindCgroups(), Duration::Seconds(20));
  EXPECT_EQ(SweepNodeCgroups(other->dir(), {}, Duration::Seconds(20)), 0u);
  EXPECT_EQ(SweepNodeCgroups((*tree_)->dir(), {}, Duration::Seconds(20)), 0u);
  EXPECT_TRUE(Exists(dir + "/slot-2"));
  EXPECT_EQ(SweepNodeCgroups(next->dir(), {first}, Duration::Seconds(20)), 1u);
  EXPECT_TRUE(Exists(dir + "/slot-1"));
  EXPECT_FALSE(Exists(dir + "/slot-2"));
  EXPECT_EQ(SweepNodeCgroups(next->dir(), {}, Duration::Seconds(20)), 1u);
  EXPECT_FALSE(Exists(dir));
  EXPECT_TRUE(Exists(next->dir()));
}

// Result of `systemd-run --scope -p Delegate=yes`: a cgroup with this process, maybe among others.
class DelegatedCgroup : public RealCgroup, public ::testing::WithParamInterface<bool> {};

TEST_P(DelegatedCgroup, HandsControllersDownWhenAlone) {
  bool alone = GetParam();
  Cgroup scope = SlotOf(**tree_, 7);
  pid_t other = alone ? 0 : StartIn(scope, WaitForever);
  pid_t run = StartIn(
      scope, +[] {
        CgroupPlaces places = FindCgroups();
        bool was_alone = Cgroup(places.v2_dir).Pids().size() == 1;
        auto offered = ReadFile(places.v2_dir + "/cgroup.controllers", 4096).value_or("");
        auto tree = CgroupTree::Create(places);
        if (!tree) _exit(10);
        bool expected = was_alone && offered.contains("memory");
        if ((*tree)->has_memory() != expected) _exit(11);
        Cgroup slot = SlotOf(**tree);
        pid_t task = StartIn(slot, WaitForever);
        if (expected && !Exists(slot.dir() + "/memory.max")) _exit(12);
        if (!(*tree)->Remove(Duration::Seconds(20))) _exit(13);
        StatusOf(task);
        // Back where it was, nothing left behind.
        if (FindCgroups().v2_dir != places.v2_dir) _exit(14);
        auto entries = ListDir(places.v2_dir).value();
        for (const DirEntry& entry : entries) {
          if (entry.kind == FileKind::kDir) _exit(15);
        }
      });
  int status = StatusOf(run);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(scope.KillAll(Duration::Seconds(20)));
  if (other != 0) StatusOf(other);
}
INSTANTIATE_TEST_SUITE_P(Others, DelegatedCgroup, ::testing::Bool());

}  // namespace
}  // namespace spate::os
