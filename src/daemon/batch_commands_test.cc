#include "daemon/batch_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "shepherd/as_user.h"

namespace spate::daemon {
namespace {

using End = pool::Outcome::End;

constexpr Duration kLong = Duration::Seconds(50);

class BatchCommandsTest : public ::testing::Test {
 protected:
  BatchCommandsTest() : loop_(std::move(os::RealLoop::Create().value())) {
    os::IgnoreSignal(os::kSignalPipe);
    guard_ = loop_->At(loop_->Now() + Duration::Seconds(60), [this] {
      ADD_FAILURE() << "a command did not end";
      loop_->Stop();
    });
    Make({});
  }
  ~BatchCommandsTest() override { loop_->Cancel(guard_); }

  // A hub of "me", which finds `bin` in front.
  void Make(std::vector<std::string> variables, bool is_root = false) {
    os::Environment environment(std::move(variables));
    environment.Set("PATH", dir_.Path("bin") + ":/usr/sbin:/usr/bin:/sbin:/bin");
    if (!environment.Get("HOME")) environment.Set("HOME", dir_.path());
    commands_ = std::make_unique<BatchCommands>(
        *loop_, BatchCommands::Options{"me", is_root, std::move(environment)});
  }
  void Script(const std::string& name, const std::string& text) {
    std::string path = dir_.Write("bin/" + name, "#!/bin/sh\n" + text + "\n");
    ASSERT_TRUE(os::SetPermissions(path, 0755));
  }
  pool::Outcome Run(pool::CommandLine call, const std::string& user = "me",
                    Duration patience = kLong) {
    pool::Outcome outcome;
    bool within = true;
    commands_->Run(std::move(call), user, patience, [&](pool::Outcome how) {
      EXPECT_FALSE(within) << "told before Run returned";
      outcome = std::move(how);
      loop_->Stop();
    });
    within = false;
    loop_->Run();
    return outcome;
  }
  // Calls `then` in each turn of the loop until it is true, and stops.
  void Until(std::function<bool()> then) {
    if (then()) return loop_->Stop();
    loop_->At(loop_->Now() + Duration::Millis(2), [this, then] { Until(then); });
  }
  void Await(std::function<bool()> then) {
    loop_->At(loop_->Now(), [this, then] { Until(then); });
    loop_->Run();
  }
  Result<std::string> HomeOf(const std::string& user) {
    Result<std::string> home;
    bool within = true;
    commands_->FindHome(user, [&](Result<std::string> found) {
      EXPECT_FALSE(within) << "told before FindHome returned";
      home = std::move(found);
      loop_->Stop();
    });
    within = false;
    loop_->Run();
    return home;
  }
  size_t FilesIn(const std::string& name) { return os::ListDir(dir_.Path(name)).value().size(); }

  os::TempDir dir_;
  std::unique_ptr<os::RealLoop> loop_;
  os::TimerId guard_;
  std::unique_ptr<BatchCommands> commands_;
};

// A user database that hangs costs a thread for each: one user has no more of them than of
// commands.
TEST_F(BatchCommandsTest, FindsHomesInTurns) {
  int begun = 0, found = 0;
  for (int i = 0; i < 4; ++i) {
    commands_->Run(
        {.argv = {"sh", "-c", "while ! test -e " + dir_.Path("go") + "; do sleep 0.01; done"}},
        "me", kLong, [&](const pool::Outcome&) { ++begun; });
  }
  commands_->FindHome("me", [&](const Result<std::string>&) { ++found; });
  commands_->FindHome("other", [&](const Result<std::string>&) { ++found; });
  Await([&] { return found == 1; });
  EXPECT_EQ(begun, 0) << "the other user's came, and the first waits for its turn";
  dir_.Write("go", "");
  Await([&] { return found == 2; });
}

TEST_F(BatchCommandsTest, FindsHomes) {
  EXPECT_EQ(HomeOf("root").value(), os::AccountByName("root")->home);
  EXPECT_EQ(HomeOf("no-such-user").error().kind, ErrorKind::kNotFound);
}

TEST_F(BatchCommandsTest, RunsWhatACallSays) {
  Make({"SLURM_NTASKS=4", "SLURM_CONF=/c", "LANG=x"});
  Script("query", "cat; echo \"$1|$SLURM_NTASKS|$SLURM_CONF|$LANG|$(pwd)\"; echo no >&2; exit 2");
  pool::Outcome outcome = Run({{"query", "a b"}, "input\n", std::nullopt, {"LANG=y=z"}});
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "input\na b||/c|y=z|" + dir_.path() + "\n");
  EXPECT_EQ(outcome.err, "no\n");
}

TEST_F(BatchCommandsTest, ACommandThatIsNotThereIsNotStarted) {
  for (const char* home : {"/", "/no/such/home"}) {
    Make({std::string("HOME=") + home});
    pool::Outcome outcome = Run({{"no-such-query"}});
    EXPECT_EQ(outcome.end, End::kNotStarted);
    EXPECT_EQ(outcome.err, "cannot start 'no-such-query': No such file or directory");
    EXPECT_EQ(Run({{"pwd"}}).out, "/\n");
  }
}

TEST_F(BatchCommandsTest, TheFileIsThereBeforeTheCommand) {
  pool::CommandLine call{{"sh", "-c", "stat -c %a \"$0\"; cat \"$0\""}, "", {}, {}};
  for (const char* text : {"first\n", "2nd\n"}) {
    call.file = pool::TextFile{dir_.Path("a script"), text};
    call.argv.resize(3);
    call.argv.push_back(call.file->path);
    EXPECT_EQ(Run(call).out, std::string("700\n") + text);
  }
  // The caller removes the file: only the caller knows when the batch system no longer needs it.
  EXPECT_TRUE(os::Exists(dir_.Path("a script")));
  EXPECT_FALSE(os::Exists(dir_.Path("a script.new")));
}

TEST_F(BatchCommandsTest, WithoutItsFileNoCommandRuns) {
  pool::CommandLine call{{"touch", dir_.Path("ran")}, "", {}, {}};
  struct Case {
    std::string path, words;
  };
  // The file on its way there is a full disk.
  ASSERT_TRUE(os::MakeSymlink("/dev/full", dir_.Path("full.new")));
  for (const Case& each : {Case{dir_.Path("full"), "No space left on device"},
                           Case{dir_.Path("none/file"), "no folder of the user"}}) {
    call.file = pool::TextFile{each.path, "text"};
    pool::Outcome outcome = Run(call);
    EXPECT_EQ(outcome.end, End::kNotStarted);
    EXPECT_NE(outcome.err.find("cannot write " + each.path + ": "), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find(each.words), std::string::npos) << outcome.err;
    EXPECT_FALSE(os::Exists(each.path));
  }
  EXPECT_FALSE(os::Exists(dir_.Path("ran")));
}

TEST_F(BatchCommandsTest, PatienceEnds) {
  pool::Outcome outcome = Run({{"sleep", "1000"}}, "me", Duration::Millis(20));
  EXPECT_EQ(outcome.end, End::kTimedOut);
  // A file that cannot be written in time: a pipe that nobody reads.
  pool::CommandLine call{{"true"}, "", pool::TextFile{dir_.Path("pipe"), "text"}, {}};
  Script("dd", "exec sleep 1000");
  outcome = Run(call, "me", Duration::Millis(20));
  EXPECT_EQ(outcome.end, End::kNotStarted);
  EXPECT_EQ(outcome.err, "cannot write " + dir_.Path("pipe") + ": it took too long");
}

TEST_F(BatchCommandsTest, AListThatIsTooLongFails) {
  pool::Outcome outcome = Run({{"head", "-c", "9000000", "/dev/zero"}});
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "\n(it wrote 611392 bytes too many, which were dropped)\n");
}

TEST_F(BatchCommandsTest, OnlyRootRunsCommandsOfOthers) {
  pool::Outcome outcome = Run({{"true"}}, "ann");
  EXPECT_EQ(outcome.end, End::kNotStarted);
  EXPECT_EQ(outcome.err, "the hub runs as me and cannot run commands as ann; a hub of root can");
  Make({}, /*is_root=*/true);
  outcome = Run({{"true"}}, "no-such-user");
  EXPECT_EQ(outcome.end, End::kNotStarted);
  EXPECT_EQ(outcome.err, "this machine has no user 'no-such-user'");
}

TEST_F(BatchCommandsTest, RunsAsAnotherUser) {
  if (os::EffectiveUser() != 0) GTEST_SKIP() << "only root can";
  Make({"DBURL=secret", "TZ=s", "HOME=/root"}, /*is_root=*/true);
  os::TempDir shared;
  ASSERT_TRUE(os::SetPermissions(shared.path(), 01777));
  Run({{"mkdir", shared.Path("own")}}, "daemon");
  pool::CommandLine call{{"sh", "-c",
                          "stat -c %U \"$0\"; cat; id -un; pwd; "
                          "echo \"$HOME $USER $LOGNAME $SHELL|$DBURL|$TZ|$LC_ALL\"",
                          shared.Path("own/script")},
                         "input\n",
                         pool::TextFile{shared.Path("own/script"), "text"},
                         {"LC_ALL=C"}};
  pool::Outcome outcome = Run(call, "daemon");
  auto account = os::AccountByName("daemon").value();
  EXPECT_EQ(outcome.out, "daemon\ninput\ndaemon\n" + account.home + "\n" + account.home +
                             " daemon daemon " + account.shell + "||s|C\n")
      << outcome.err;
}

// Commands that wait for a file, at most 4 of a user and 16 in all.
TEST_F(BatchCommandsTest, OthersWaitInLine) {
  ASSERT_TRUE(os::MakeDir(dir_.Path("running")));
  Script("wait", ": >running/$$; while [ ! -e go ]; do sleep 0.01; done");
  size_t ended = 0;
  for (int k = 0; k < 6; ++k) {
    commands_->Run({{"wait"}}, "me", kLong, [&](pool::Outcome how) {
      EXPECT_EQ(how.exit_code, 0);
      ++ended;
    });
  }
  Await([&] { return FilesIn("running") == 4; });
  // Those who wait had their turn if they could.
  Run({{"true"}}, "other");
  EXPECT_EQ(FilesIn("running"), 4u);
  EXPECT_EQ(ended, 0u);
  dir_.Write("go", "");
  Await([&] { return ended == 6; });
  EXPECT_EQ(FilesIn("running"), 6u);
}

TEST_F(BatchCommandsTest, TellsNothingAfterItsEnd) {
  ASSERT_TRUE(os::MakeDir(dir_.Path("running")));
  Script("wait", ": >running/$$; exec sleep 1000");
  auto fail = [](const pool::Outcome&) { ADD_FAILURE() << "told after the end"; };
  for (int k = 0; k < 6; ++k) commands_->Run({{"wait"}}, "me", kLong, fail);
  Await([&] { return FilesIn("running") == 4; });
  commands_->Run({{"true"}}, "ann", kLong, fail);
  commands_.reset();
  std::vector<int> pids;
  auto running = os::ListDir(dir_.Path("running")).value();
  for (const os::DirEntry& entry : running) pids.push_back(std::stoi(entry.name));
  Await([&] {
    return std::ranges::none_of(pids, [](int pid) {
      auto info = os::InfoOf(pid);
      return info && info->state != 'Z';
    });
  });
}

TEST_F(BatchCommandsTest, MayEndInAnAnswer) {
  commands_->Run({{"true"}}, "me", kLong, [this](const pool::Outcome&) {
    commands_.reset();
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_EQ(commands_, nullptr);
}

TEST(InheritedEnvironment, IsAListOfWhatPasses) {
  for (const char* name : {"LANG", "LC_ALL", "SLURM_CONF", "SGE_ROOT", "LD_LIBRARY_PATH"}) {
    EXPECT_TRUE(shepherd::IsInherited(name)) << name;
  }
  for (const char* name : {"SLURM_JWT", "DBURL", "MYSQL_PWD", "AWS_SESSION", "HOME", "LANGX", ""}) {
    EXPECT_FALSE(shepherd::IsInherited(name)) << name;
  }
  setenv("SPATE_PASS_ENV", "SITE,DBURL", 1);
  EXPECT_TRUE(shepherd::IsInherited("SITE"));
  EXPECT_TRUE(shepherd::IsInherited("DBURL"));
  EXPECT_FALSE(shepherd::IsInherited("DB"));
  unsetenv("SPATE_PASS_ENV");
}

}  // namespace
}  // namespace spate::daemon
