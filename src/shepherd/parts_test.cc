// The shepherd's parts, each by itself: checks, PATH, the process tree.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "os/file.h"
#include "os/temp_dir.h"
#include "shepherd/output_check.h"
#include "shepherd/path_lookup.h"
#include "shepherd/process_tree.h"
#include "shepherd/spawn.h"

namespace spate::shepherd {
namespace {

TEST(OutputCheck, SaysWhatParasolSays) {
  os::TempDir dir;
  dir.Write("empty", "");
  dir.Write("whole", "a\nb\n");
  dir.Write("cut", "a\nb");
  dir.Write("folder/file", "x\n");
  ASSERT_EQ(chdir(dir.path().c_str()), 0);
  using K = CheckKind;
  struct {
    K kind;
    const char* file;
    const char* why;
  } cases[] = {
      {K::kExists, "whole", ""},
      {K::kExists, "empty", ""},
      {K::kExists, "folder", ""},
      {K::kExists, "none", "none does not exist"},
      {K::kExists, "whole/below", "whole/below does not exist"},
      {K::kExistsPlus, "whole", ""},
      {K::kExistsPlus, "cut", ""},
      {K::kExistsPlus, "empty", "empty is empty"},
      {K::kExistsPlus, "folder", ""},
      {K::kExistsPlus, "none", "none does not exist"},
      {K::kLine, "whole", ""},
      {K::kLine, "empty", ""},
      {K::kLine, "cut", "cut has an incomplete last line"},
      {K::kLine, "none", "none does not exist"},
      {K::kLine, "folder", "folder cannot be read: Is a directory"},
      {K::kLinePlus, "whole", ""},
      {K::kLinePlus, "empty", "empty is empty"},
      {K::kLinePlus, "cut", "cut has an incomplete last line"},
      {K::kLinePlus, "none", "none does not exist"},
      {K::kLine, "", " does not exist"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(WhyCheckFails(c.kind, c.file), c.why) << c.file << " " << static_cast<int>(c.kind);
  }
  EXPECT_FALSE(MayAppearLate("none"));
}

TEST(OutputCheck, DoesNotHangAtAPipe) {
  os::TempDir dir;
  ASSERT_EQ(mkfifo(dir.Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(WhyCheckFails(CheckKind::kLine, dir.Path("fifo").c_str()), "");
}

TEST(PathLookup, FindsTheFirstThatMayBeExecuted) {
  os::TempDir dir;
  std::string first = dir.Path("first");
  std::string second = dir.Path("second");
  dir.Write("first/plain", "");
  dir.Write("first/blocked", "");
  dir.Write("second/blocked", "");
  dir.Write("second/tool", "");
  chmod((second + "/blocked").c_str(), 0755);
  chmod((second + "/tool").c_str(), 0755);
  std::string search = first + ":" + second;
  PathLookup lookup;
  EXPECT_EQ(lookup.Find("tool", search).path, second + "/tool");
  EXPECT_TRUE(lookup.Find("tool", search).remembered);
  EXPECT_EQ(lookup.Find("blocked", search).path, second + "/blocked");
  EXPECT_EQ(lookup.Find("plain", search).error, EACCES);
  EXPECT_EQ(lookup.Find("none", search).error, ENOENT);
  EXPECT_EQ(lookup.Find("", search).error, ENOENT);
  EXPECT_EQ(lookup.Find("./tool", search).path, "./tool");
  // Another PATH is another matter.
  EXPECT_EQ(lookup.Find("tool", first).error, ENOENT);
  // A remembered place may be gone.
  EXPECT_EQ(lookup.Find("tool", search).path, second + "/tool");
  ASSERT_TRUE(os::RemoveFile(second + "/tool"));
  lookup.Forget("tool");
  EXPECT_EQ(lookup.Find("tool", search).error, ENOENT);
}

TEST(PathLookup, AnEmptyEntryIsTheCurrentFolder) {
  os::TempDir dir;
  dir.Write("tool", "");
  chmod(dir.Path("tool").c_str(), 0755);
  ASSERT_EQ(chdir(dir.path().c_str()), 0);
  PathLookup lookup;
  EXPECT_EQ(lookup.Find("tool", "/nowhere:").path, "./tool");
  EXPECT_FALSE(lookup.Find("tool", "/nowhere:").remembered);
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(lookup.Find("tool", "/nowhere:").error, ENOENT);
}

class SpawnTest : public testing::Test {
 protected:
  StartResult Start(const char* path, std::vector<const char*> argv) {
    argv.push_back(nullptr);
    static const char* const kEnvironment[] = {"A=1", nullptr};
    Program program;
    program.path = path;
    program.argv = argv.data();
    program.envp = kEnvironment;
    return starter_.StartProgram(program);
  }
  int Wait(pid_t pid) {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }
  Starter starter_;
};

TEST_F(SpawnTest, StartsAndTellsWhyNot) {
  StartResult good = Start("/bin/sh", {"sh", "-c", "exit 7"});
  ASSERT_GT(good.pid, 0);
  EXPECT_EQ(good.exec_error, 0);
  EXPECT_EQ(WEXITSTATUS(Wait(good.pid)), 7);
  StartResult none = Start("/nowhere/tool", {"tool"});
  ASSERT_GT(none.pid, 0);
  EXPECT_EQ(none.exec_error, ENOENT);
  EXPECT_EQ(WEXITSTATUS(Wait(none.pid)), 127);
  StartResult folder = Start("/tmp", {"tmp"});
  EXPECT_EQ(folder.exec_error, EACCES);
  EXPECT_TRUE(folder.is_folder);
  Wait(folder.pid);
}

TEST_F(SpawnTest, AScriptWithoutAFirstLineIsRunByTheShell) {
  os::TempDir dir;
  dir.Write("script", "exit $(( $1 + $# ))\n");
  chmod(dir.Path("script").c_str(), 0755);
  StartResult started = Start(dir.Path("script").c_str(), {"script", "40", "x"});
  EXPECT_EQ(started.exec_error, 0);
  EXPECT_EQ(WEXITSTATUS(Wait(started.pid)), 42);
}

TEST_F(SpawnTest, LeadsAGroupWithAnEmptySignalMask) {
  sigset_t block;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &block, &before);
  StartResult started = Start("/bin/sh", {"sh", "-c", "kill -USR1 $$; exit 1"});
  int status = Wait(started.pid);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGUSR1);
  started = Start("/bin/sleep", {"sleep", "100"});
  EXPECT_EQ(getpgid(started.pid), started.pid);
  kill(started.pid, SIGKILL);
  Wait(started.pid);
}

// A child with its own memory tells what its start has come to once it has ended.
class AsideTest : public SpawnTest {
 protected:
  struct Outcome {
    StartResult start;
    int status = 0;
  };
  AsideTest() {
    dir_.Write("tool", "#!/bin/sh\npwd >&5; ls /proc/self/fd >&5; exit 7\n");
    dir_.Write("lost", "#!/nowhere/sh\n");
    for (const char* name : {"tool", "lost"}) chmod(dir_.Path(name).c_str(), 0755);
    written_.Reset(open(dir_.Path("written").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  Outcome Run(const std::string& path, const char* folder, const char* search = nullptr) {
    const char* argv[] = {"tool", nullptr};
    const char* environment[] = {nullptr};
    os::Fd above(fcntl(written_.get(), F_DUPFD_CLOEXEC, 100));
    Descriptor five{above.get(), 5};
    Program program;
    program.path = path.c_str();
    program.argv = argv;
    program.envp = environment;
    program.descriptors = {&five, 1};
    program.folder = folder;
    program.aside = true;
    program.search = search;
    StartResult started = starter_.StartProgram(program);
    EXPECT_GT(started.pid, 0);
    Outcome outcome;
    outcome.status = Wait(started.pid);
    EXPECT_EQ(starter_.Waiting(), nullptr);
    outcome.start = starter_.Ended(started.pid).value_or(StartResult{});
    EXPECT_EQ(outcome.start.pid, started.pid);
    EXPECT_FALSE(starter_.Ended(started.pid).has_value());
    return outcome;
  }
  os::TempDir dir_;
  os::Fd written_;
};

TEST_F(AsideTest, AProgramHasItsFolderAndItsDescriptorsOnly) {
  Outcome outcome = Run("./tool", dir_.path().c_str());
  EXPECT_EQ(outcome.start.exec_error, 0);
  EXPECT_EQ(WEXITSTATUS(outcome.status), 7);
  // 3 is of ls itself.
  EXPECT_EQ(os::ReadFile(dir_.Path("written"), 1000).value_or(""),
            dir_.path() + "\n0\n1\n2\n3\n5\n");
}

TEST_F(AsideTest, AProgramThatHasMovedIsFoundAlongPath) {
  std::string search = "/nowhere:" + dir_.path();
  EXPECT_EQ(WEXITSTATUS(Run("/before/tool", nullptr, search.c_str()).status), 7);
  EXPECT_EQ(Run("/before/tool", nullptr, "/nowhere").start.exec_error, ENOENT);
}

TEST_F(AsideTest, AFailureIsToldAsOfAnyOther) {
  Outcome none = Run("./none", dir_.path().c_str());
  EXPECT_EQ(none.start.exec_error, ENOENT);
  EXPECT_FALSE(none.start.lacks_interpreter);
  EXPECT_EQ(WEXITSTATUS(none.status), 127);
  EXPECT_TRUE(Run(dir_.Path("lost"), nullptr).start.lacks_interpreter);
  Outcome folder = Run("/tmp", nullptr);
  EXPECT_EQ(folder.start.exec_error, EACCES);
  EXPECT_TRUE(folder.start.is_folder);
  Outcome nowhere = Run("/bin/true", "/nowhere");
  EXPECT_EQ(nowhere.start.exec_error, ENOENT);
  EXPECT_TRUE(nowhere.start.refused_folder);
}

TEST(ProcessTree, FindsAndEndsWhatIsBelow) {
  int ready[2];
  ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
  pid_t top = fork();
  if (top == 0) {
    for (int i = 0; i < 3; ++i) {
      if (fork() == 0) break;  // three children, each of which goes on here and makes its own
    }
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ProcessTree tree(getpid());
  int found = 0;
  EXPECT_TRUE(tree.Each([&](pid_t) { ++found; }));
  EXPECT_EQ(found, 4);
  ProcessTree below(top);
  EXPECT_EQ(below.SignalAll(SIGSTOP), 3);
  EXPECT_EQ(below.SignalAll(SIGKILL), 3);
  EXPECT_GE(tree.SignalAll(SIGKILL), 1);
  EXPECT_EQ(waitpid(top, nullptr, 0), top);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace spate::shepherd
