#include "os/stand_ins.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/signals.h"
#include "os/spawn_child.h"

namespace spate::os {
namespace {

class StandInsTest : public testing::Test {
 protected:
  StandInsTest() {
    loop_ = std::move(*RealLoop::Create());
    processes_ = std::move(*StandIns::Create(*loop_, {.signalled =
                                                          [this](Pid pid, int signo) {
                                                            heard_.emplace_back(pid, signo);
                                                            loop_->Stop();
                                                          },
                                                      .stopped =
                                                          [this](Pid pid) {
                                                            heard_.emplace_back(pid, kSignalStop);
                                                            loop_->Stop();
                                                          },
                                                      .killed =
                                                          [this](Pid pid) {
                                                            heard_.emplace_back(pid, kSignalKill);
                                                            loop_->Stop();
                                                          }}));
  }

  // Another process of this user sends it.
  void Send(int signo, Pid pid) {
    auto shell = SpawnChild(
        {.argv = {"/bin/sh", "-c", "kill -$0 $1", std::to_string(signo), std::to_string(pid)}});
    ASSERT_TRUE(shell);
  }
  // Until something was heard, or half a second has passed.
  void RunAWhile() {
    const TimerId timer =
        loop_->At(loop_->Now() + Duration::Millis(500), [this] { loop_->Stop(); });
    loop_->Run();
    loop_->Cancel(timer);
  }
  void Await(Pid pid, int signo) {
    heard_.clear();
    for (int i = 0; i < 40 && heard_.empty(); ++i) RunAWhile();
    ASSERT_EQ(heard_.size(), 1u);
    EXPECT_EQ(heard_.front(), (std::pair<Pid, int>(pid, signo)));
  }
  char StateOf(Pid pid) {
    auto info = InfoOf(pid);
    return info ? info->state : '?';
  }
  void AwaitState(Pid pid, char state) {
    for (int i = 0; i < 40 && StateOf(pid) != state; ++i) {
      loop_->At(loop_->Now() + Duration::Millis(10), [this] { loop_->Stop(); });
      loop_->Run();
    }
    EXPECT_EQ(StateOf(pid), state);
  }

  std::unique_ptr<RealLoop> loop_;
  std::unique_ptr<StandIns> processes_;
  std::vector<std::pair<Pid, int>> heard_;
};

TEST_F(StandInsTest, HasItsTitle) {
  const auto pid =
      processes_->Start("12.3@n1 ./sim --of a thing that is longer than the words of this test");
  ASSERT_TRUE(pid);
  std::string words;
  for (int i = 0; i < 200 && !words.starts_with("12.3@n1"); ++i) {
    words = ReadFile("/proc/" + std::to_string(*pid) + "/cmdline", 4096).value_or("");
    loop_->At(loop_->Now() + Duration::Millis(5), [this] { loop_->Stop(); });
    loop_->Run();
  }
  words.resize(words.find_last_not_of('\0') + 1);
  EXPECT_TRUE(words.starts_with("12.3@n1 ./sim")) << words;
  EXPECT_EQ(InfoOf(*pid)->command, "12.3@n1 ./sim -");
  EXPECT_EQ(InfoOf(*pid)->group, *pid);
}

TEST_F(StandInsTest, ReportsWhatItsUserSends) {
  const Pid pid = *processes_->Start("one");
  Send(SIGUSR1, pid);
  Await(pid, SIGUSR1);
  Send(SIGTERM, pid);
  Await(pid, SIGTERM);
  Send(SIGCONT, pid);
  Await(pid, SIGCONT);
  Send(40, pid);
  Await(pid, 40);
  AwaitState(pid, 'S');
}

TEST_F(StandInsTest, ReportsStopAndContinueOfOthersOnly) {
  const Pid pid = *processes_->Start("one");
  processes_->Stop(pid);
  AwaitState(pid, 'T');
  RunAWhile();
  EXPECT_TRUE(processes_->is_stopped(pid));
  processes_->Continue(pid);
  AwaitState(pid, 'S');
  RunAWhile();
  EXPECT_FALSE(processes_->is_stopped(pid));
  kill(pid, SIGUSR1);  // this process's own
  RunAWhile();
  EXPECT_TRUE(heard_.empty());
  Send(SIGSTOP, pid);
  Await(pid, kSignalStop);
  EXPECT_TRUE(processes_->is_stopped(pid));
  Send(SIGCONT, pid);
  Await(pid, SIGCONT);
  Send(SIGKILL, pid);
  Await(pid, kSignalKill);
}

// The parent of a stand-in sees the status; here a process that has several.
TEST_F(StandInsTest, EndsWithAStatus) {
  for (const int status : {0, 7 * 256, SIGSEGV, SIGKILL}) {
    const Pid pid = *processes_->Start("one");
    processes_->Stop(pid);
    AwaitState(pid, 'T');
    processes_->End(pid, status);
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) {
      ASSERT_EQ(errno, EINTR);
    }
    EXPECT_EQ(info.si_code, status == 0 || status > 255 ? CLD_EXITED : CLD_KILLED);
    EXPECT_EQ(info.si_status, status > 255 ? status / 256 : status);
  }
  RunAWhile();
  EXPECT_TRUE(heard_.empty());
}

}  // namespace
}  // namespace spate::os
