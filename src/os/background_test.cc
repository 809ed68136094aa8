#include "os/background.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

// Runs `body` in a process of its own and returns that process's exit code.
template <typename Body>
int CodeOf(Body body) {
  pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(99);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Background, TheFirstProcessEndsWhenTheDaemonIsReady) {
  TempDir dir;
  std::string log = dir.Path("log");
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe);
  int code = CodeOf([&] {
    auto background = Background::Enter();
    if (!background || !background->Ready(log)) _exit(1);
    pipe->read.Reset();
    (void)WriteAll(2, "told\n", "log");
    (void)WriteAll(1, "lost\n", "null");
    char session = getsid(0) == getpid() ? 'y' : 'n';
    (void)WriteAll(pipe->write.get(), {&session, 1}, "pipe");
    _exit(5);
  });
  EXPECT_EQ(code, 0);
  pipe->write.Reset();
  EXPECT_EQ(ReadToEnd(pipe->read.get(), 10, "pipe").value(), "y");
  EXPECT_EQ(ReadFile(log, 100).value(), "told\n");
  EXPECT_EQ(Stat(log)->permissions, 0600u);
}

TEST(Background, ADaemonThatFailsFirstGivesItsCode) {
  EXPECT_EQ(CodeOf([&] {
              auto background = Background::Enter();
              _exit(7);
            }),
            7);
}

TEST(Background, ALogThatCannotBeWrittenIsTold) { EXPECT_FALSE(LogTo("/nowhere/log")); }

}  // namespace
}  // namespace spate::os
