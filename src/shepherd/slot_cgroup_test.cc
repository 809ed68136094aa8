// Memory of a slot's cgroup, where this machine lets the test make one.
#include "shepherd/slot_cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "os/cgroup.h"
#include "os/file.h"

namespace spate::shepherd {
namespace {

constexpr uint64_t kMega = 1 << 20;

int StatusOf(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The status of a process that touches 64 MB.
int TakeMemory() {
  const pid_t pid = fork();
  if (pid != 0) return StatusOf(pid);
  void* block =
      mmap(nullptr, 64 * kMega, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(block, 1, 64 * kMega);
  _exit(0);
}

// The shepherd: two attempts, the first with too little memory. Returns 0, or the check that
// failed.
int Shepherd(const std::string& folder) {
  SlotCgroup cgroup(folder);
  cgroup.Begin(32 * kMega);
  const int limited = TakeMemory();
  if (!WIFSIGNALED(limited) || WTERMSIG(limited) != SIGKILL) return 1;
  if (!cgroup.WasOutOfMemory()) return 2;
  auto peak = cgroup.Peak();
  if (peak && (*peak <= 16 * kMega || *peak > 32 * kMega)) return 3;
  cgroup.Begin(0);
  if (TakeMemory() != 0) return 4;
  if (cgroup.WasOutOfMemory()) return 5;
  peak = cgroup.Peak();
  if (peak && *peak < 64 * kMega) return 6;
  return 0;
}

TEST(SlotCgroup, LimitsMemoryAndReadsItsPeak) {
  auto tree = os::CgroupTree::Create(os::FindCgroups());
  if (!tree) GTEST_SKIP() << tree.error().message;
  if (!(*tree)->has_memory()) GTEST_SKIP() << (*tree)->Describe();
  const std::string folder = (*tree)->dir() + "/slot-1";
  ASSERT_TRUE(os::MakeDir(folder));
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    _exit(Shepherd(folder));
  }
  const int status = StatusOf(pid);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE((*tree)->Remove(Duration::Seconds(20)));
}

}  // namespace
}  // namespace spate::shepherd
