#include "os/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

// Runs `body` in a child of its own: subreapers and ending all children are matters of a process.
int InChild(const std::function<bool()>& body) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void WaitForever() {
  for (;;) pause();
}

TEST(ProcessStat, Parse) {
  auto info = ParseProcessStat(
      "4242 (a) (b ) S 17 4200 4100 0 -1 4194304 90 0 0 0 12 34 5 6 20 0 1 0 987654 3000000 250 "
      "18446744073709551615 1 1 0");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pid, 4242);
  EXPECT_EQ(info->command, "a) (b ");
  EXPECT_EQ(info->state, 'S');
  EXPECT_EQ(info->parent, 17);
  EXPECT_EQ(info->group, 4200);
  EXPECT_EQ(info->session, 4100);
  EXPECT_EQ(info->start_time, 987654u);
  EXPECT_EQ(info->resident, 250u * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(info->user.millis(), 170);
  EXPECT_EQ(info->system.millis(), 400);
  EXPECT_FALSE(info->ending);
  for (const char* flags_and_signals :
       {"4194308 90 0 0 0 12 34 5 6 20 0 1 0 9 3 2 1 1 1 0 0 0 0",
        "4195328 90 0 0 0 12 34 5 6 20 0 1 0 9 3 2 1 1 1 0 0 0 0",
        "4194304 90 0 0 0 12 34 5 6 20 0 1 0 9 3 2 1 1 1 0 0 0 256"}) {
    auto killed = ParseProcessStat("7 (a) R 1 7 7 0 -1 " + std::string(flags_and_signals) + " 0 0");
    ASSERT_TRUE(killed);
    EXPECT_TRUE(killed->ending) << flags_and_signals;
  }
  EXPECT_FALSE(ParseProcessStat(""));
  EXPECT_FALSE(ParseProcessStat("1 (x) S 1 2"));
}

TEST(Process, OwnFactsAndLife) {
  auto info = InfoOf(getpid()).value();
  EXPECT_EQ(info.pid, getpid());
  EXPECT_EQ(info.parent, getppid());
  EXPECT_GT(info.resident, 0u);
  EXPECT_TRUE(IsAlive(getpid(), info.start_time));
  EXPECT_FALSE(IsAlive(getpid(), info.start_time + 1));
  EXPECT_EQ(InfoOf(0x7ffffff0).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(StartTimeOf(0x7ffffff0), 0u);
}

TEST(Process, OwnProgramAndLimits) {
  EXPECT_EQ(OwnPid(), getpid());
  EXPECT_TRUE(OwnProgram().value().ends_with("os_process_test"));
  OpenFileLimit limit = GetOpenFileLimit();
  EXPECT_LE(limit.now, limit.most);
  ASSERT_TRUE(SetOpenFileLimit(limit.now - 1));
  EXPECT_EQ(GetOpenFileLimit().now, limit.now - 1);
  EXPECT_EQ(GetOpenFileLimit().most, limit.most);
  ASSERT_TRUE(SetOpenFileLimit(limit.now));
  if (limit.most < UINT64_MAX) {
    EXPECT_FALSE(SetOpenFileLimit(limit.most + 1));
  }
}

// The part of the next test that runs as the copy.
TEST(Process, DISABLED_TellsItselfAfterAnUpgrade) {
  const std::string path = getenv("SPATE_TEST_COPY");
  ASSERT_EQ(OwnProgram().value(), path);
  ASSERT_TRUE(RemoveFile(path));
  // Nothing is there in its place.
  EXPECT_EQ(OwnProgram().value(), path + " (deleted)");
  ASSERT_TRUE(WriteFile(path, "the new one"));
  EXPECT_EQ(OwnProgram().value(), path);
  // One that is called so.
  ASSERT_TRUE(WriteFile(path + " (deleted)", "another"));
  EXPECT_EQ(OwnProgram().value(), path);
}

TEST(Process, OwnProgramAfterAnUpgradeIsTheNewOne) {
  TempDir dir;
  const std::string copy = RealPath(dir.path()).value() + "/program";
  const std::string words = "cp /proc/" + std::to_string(getpid()) + "/exe " + copy +
                            " && SPATE_TEST_COPY=" + copy + " " + copy +
                            " --gtest_also_run_disabled_tests "
                            "--gtest_filter=Process.DISABLED_TellsItselfAfterAnUpgrade >&2";
  EXPECT_EQ(std::system(words.c_str()), 0);
}

TEST(Process, ZombiesAreGone) {
  pid_t pid = fork();
  if (pid == 0) WaitForever();
  uint64_t start = StartTimeOf(pid);
  EXPECT_TRUE(IsAlive(pid, start));
  auto pidfd = PidfdOpen(pid);
  ASSERT_TRUE(pidfd);
  EXPECT_FALSE(PidfdEnded(pidfd->get()));
  ASSERT_TRUE(PidfdSignal(pidfd->get(), SIGKILL));
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(IsAlive(pid, start));
  EXPECT_EQ(StartTimeOf(pid), start);
  EXPECT_TRUE(PidfdEnded(pidfd->get()));
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(PidfdSignal(pidfd->get(), SIGKILL).error().kind, ErrorKind::kNotFound);
}

// /proc as a tree of files: with "children" files or, on kernels without them, by parents.
class FakeProc : public ::testing::TestWithParam<bool> {
 protected:
  void Add(Pid pid, Pid parent, const std::string& children) {
    std::string base = std::to_string(pid);
    dir_.Write(base + "/stat", base + " (x) S " + std::to_string(parent) +
                                   " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 7 0 0");
    dir_.Write(base + "/statm", "100 7 3 1 0 1 0");
    std::string task = base + "/task/" + base;
    dir_.Write(task + "/comm", "x");
    if (GetParam()) dir_.Write(task + "/children", children);
  }
  TempDir dir_;
};

TEST_P(FakeProc, Families) {
  Add(1, 0, "10 20 ");
  Add(10, 1, "11 12 ");
  Add(11, 10, "");
  Add(12, 10, "13 ");
  Add(13, 12, "");
  Add(20, 1, "");
  auto children = ChildrenOf(10, dir_.path());
  std::ranges::sort(children);
  EXPECT_EQ(children, (std::vector<Pid>{11, 12}));
  EXPECT_TRUE(ChildrenOf(13, dir_.path()).empty());
  EXPECT_TRUE(ChildrenOf(99, dir_.path()).empty());
  auto below = DescendantsOf(1, dir_.path());
  ASSERT_EQ(below.size(), 5u);
  EXPECT_LT(std::ranges::find(below, 12), std::ranges::find(below, 13));
  EXPECT_EQ(RssOfDescendants(10, dir_.path()), 3u * 7 * sysconf(_SC_PAGESIZE));
}
INSTANTIATE_TEST_SUITE_P(Kernels, FakeProc, ::testing::Bool());

TEST(EndAllChildren, NoneAtAll) {
  EXPECT_EQ(InChild([] {
              EndedChildren ended = EndAllChildren(Duration::Seconds(10));
              return ended.reaped == 0 && ended.rounds == 0 && ended.left.empty();
            }),
            0);
}

TEST(EndAllChildren, TreeWithSessionsAndDoubleForks) {
  EXPECT_EQ(InChild([] {
              if (!BecomeSubreaper()) return false;
              Pipe alive = MakePipe().value();
              for (int i = 0; i < 3; ++i) {
                if (fork() != 0) continue;
                // A chain of sessions, each of which ignores what can be ignored.
                for (int depth = 0; depth < 5; ++depth) {
                  setsid();
                  signal(SIGTERM, SIG_IGN);
                  signal(SIGHUP, SIG_IGN);
                  if (fork() != 0) {
                    if (depth % 2 == 1) _exit(0);
                    WaitForever();
                  }
                }
                (void)!write(alive.write.get(), "x", 1);
                WaitForever();
              }
              alive.write.Reset();
              char c;
              for (int i = 0; i < 3; ++i) {
                if (read(alive.read.get(), &c, 1) != 1) return false;
              }
              EndedChildren ended = EndAllChildren(Duration::Seconds(20));
              // The pipe ends when the last of them is gone.
              bool gone = read(alive.read.get(), &c, 1) == 0;
              return gone && ended.left.empty() && ended.reaped == 18 && ended.killed == 12 &&
                     waitpid(-1, nullptr, 0) == -1;
            }),
            0);
}

TEST(EndAllChildren, RunnersThatForkAndExitAllTheTime) {
  EXPECT_EQ(InChild([] {
              if (!BecomeSubreaper()) return false;
              Pipe alive = MakePipe().value();
              for (int i = 0; i < 2; ++i) {
                if (fork() != 0) continue;
                setsid();
                for (;;) {
                  if (fork() != 0) _exit(0);
                }
              }
              alive.write.Reset();
              EndedChildren ended = EndAllChildren(Duration::Seconds(20));
              char c;
              return ended.left.empty() && read(alive.read.get(), &c, 1) == 0;
            }),
            0);
}

TEST(EndAllChildren, TellsWhatEndedByItself) {
  EXPECT_EQ(InChild([] {
              if (fork() == 0) _exit(7);
              siginfo_t info;
              waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
              int exit_code = -1;
              EndedChildren ended = EndAllChildren(
                  Duration::Seconds(20),
                  [&](const ReapedChild& child) { exit_code = WEXITSTATUS(child.wait_status); });
              return exit_code == 7 && ended.reaped == 1 && ended.killed == 0;
            }),
            0);
}

TEST(EndAllChildren, GivesUpInTime) {
  // A child that cannot be killed: it belongs to somebody else.
  if (getuid() != 0) GTEST_SKIP() << "needs root to become two users";
  EXPECT_EQ(InChild([] {
              Pipe end = MakePipe().value();
              Pipe ready = MakePipe().value();
              if (fork() == 0) {
                end.write.Reset();
                char c;
                (void)!write(ready.write.get(), "x", 1);
                (void)!read(end.read.get(), &c, 1);
                _exit(0);
              }
              char c;
              if (read(ready.read.get(), &c, 1) != 1 || setuid(65534) != 0) return false;
              EndedChildren ended = EndAllChildren(Duration::Millis(50));
              if (ended.left.size() != 1) return false;
              end.write.Reset();
              return EndAllChildren(Duration::Seconds(20)).left.empty();
            }),
            0);
}

}  // namespace
}  // namespace spate::os
