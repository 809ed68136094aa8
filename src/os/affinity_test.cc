#include "os/affinity.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace spate::os {
namespace {

TEST(CpuMask, NumbersComeBack) {
  EXPECT_EQ(CpuMask::Of({0}).Cpus(), std::vector<int>{0});
  EXPECT_EQ(CpuMask::Of({63}).Cpus(), std::vector<int>{63});
  EXPECT_EQ(CpuMask::Of({1500}).Cpus(), std::vector<int>{1500});
  EXPECT_EQ(CpuMask::Of({70, 0, 3}).Cpus(), (std::vector<int>{0, 3, 70}));
  EXPECT_TRUE(CpuMask().Cpus().empty());
}

TEST(Affinity, OneProcessorAndBack) {
  CpuMask all = AllowedCpus();
  ASSERT_FALSE(all.Cpus().empty());
  int last = all.Cpus().back();
  ASSERT_TRUE(SetAllowedCpus(CpuMask::Of({last})));
  EXPECT_EQ(AllowedCpus().Cpus(), std::vector<int>{last});
  ASSERT_TRUE(SetAllowedCpus(all));
  EXPECT_EQ(AllowedCpus().Cpus(), all.Cpus());
}

TEST(Affinity, AllIsWhatTheMachineLeavesUs) {
  CpuMask all = AllowedCpus();
  ASSERT_TRUE(SetAllowedCpus(CpuMask::All()));
  CpuMask cleared = AllowedCpus();
  ASSERT_TRUE(SetAllowedCpus(CpuMask::Of({cleared.Cpus().back()})));
  ASSERT_TRUE(SetAllowedCpus(CpuMask::All()));
  EXPECT_EQ(AllowedCpus(), cleared);
  ASSERT_TRUE(SetAllowedCpus(all));
}

TEST(Affinity, OfAllThreadsOfAProcess) {
  CpuMask one = CpuMask::Of({AllowedCpus().Cpus().back()});
  int ready[2], go[2], answer[2];
  ASSERT_EQ(pipe(ready) + pipe(go) + pipe(answer), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte = 0;
    bool threads = false;
    std::thread([&] {
      bool told = write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1;
      threads = told && AllowedCpus().Cpus() == one.Cpus();
    }).join();
    bool both = threads && AllowedCpus().Cpus() == one.Cpus();
    _exit(write(answer[1], both ? "y" : "n", 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(SetAllowedCpusOf(child, one));
  ASSERT_EQ(write(go[1], "g", 1), 1);
  ASSERT_EQ(read(answer[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  auto gone = SetAllowedCpusOf(child, one);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
  for (int fd : {ready[0], ready[1], go[0], go[1], answer[0], answer[1]}) close(fd);
}

TEST(MemoryPolicy, IsTheUsualOneAfterwards) {
  unsigned long nodes = 1;
  if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 8 * sizeof nodes) != 0) {
    // If nothing may be set, a reset says so and does no harm.
    if (!ResetMemoryPolicy()) {
      EXPECT_TRUE(errno == EPERM || errno == ENOSYS);
    }
    return;
  }
  EXPECT_TRUE(ResetMemoryPolicy());
  int policy = -1;
  ASSERT_EQ(syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0), 0);
  EXPECT_EQ(policy, MPOL_DEFAULT);
}

TEST(Affinity, NoneIsRefused) {
  CpuMask all = AllowedCpus();
  EXPECT_FALSE(SetAllowedCpus(CpuMask()));
  EXPECT_EQ(AllowedCpus(), all);
}

// The slice of the calling thread, nanoseconds; 0: this kernel has none.
uint64_t Slice() {
  uint64_t attributes[6] = {};  // sched_attr of sched_setattr(2); its fourth word is the slice
  constexpr unsigned kRoom = sizeof attributes;
  return syscall(SYS_sched_getattr, 0, attributes, kRoom, 0) == 0 ? attributes[3] : 0;
}

TEST(Turns, AreShortAndThenUsual) {
  const uint64_t usual = Slice();
  if (usual == 0 || sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "no slices here";
  TakeShortTurns();
  EXPECT_EQ(Slice(), 100'000u);
  TakeUsualTurns();
  EXPECT_EQ(Slice(), usual);
}

}  // namespace
}  // namespace spate::os
