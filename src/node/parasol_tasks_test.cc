#include "node/parasol_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/environment.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::node {
namespace {

ParasolTasks TasksAt(const std::string& dir) {
  ParasolTasks tasks;
  tasks.temp_dir = dir;
  tasks.host = "kk1";
  tasks.account = [](const std::string& user) -> Result<os::Account> {
    if (user != "ann") return Fail(ErrorKind::kNotFound, "no such user");
    return os::Account{"ann", os::EffectiveUser(), 0, "/home/ann", "/bin/sh"};
  };
  return tasks;
}

TEST(ParasolTasks, EnvironmentIsTheUsers) {
  ParasolTasks tasks = TasksAt("/tmp");
  tasks.user_path = {"bin", "bin/x86"};
  tasks.sys_path = {"/share/bin"};
  std::string own = os::Environment::OfProcess().GetOr("PATH", "");
  std::vector<std::string> expected = {"PARASOL=7", "HOST=kk1", "USER=ann", "HOME=/home/ann",
                                       "PATH=/home/ann/bin:/home/ann/bin/x86:/share/bin:" + own};
  EXPECT_EQ(ParasolEnvironment(tasks, "ann"), expected);
  tasks.user_path = tasks.sys_path = {};
  expected.pop_back();  // the node's own stays
  EXPECT_EQ(ParasolEnvironment(tasks, "ann"), expected);
  tasks.environment = {"HOME=/x"};
  expected.push_back("HOME=/x");
  EXPECT_EQ(ParasolEnvironment(tasks, "ann"), expected);
}

TEST(ParasolTasks, StderrIsReadWhenItIsTheUsersFile) {
  os::TempDir dir;
  ParasolTasks tasks = TasksAt(dir.path());
  std::string path = ParasolStderr(tasks, JobId(2), 5);
  EXPECT_EQ(path, dir.Path("para200000005.err"));
  EXPECT_EQ(*ReadParasolStderr(tasks, "ann", JobId(2), 5, 100), "");
  ASSERT_TRUE(os::WriteFile(path, std::string("a\0b\n", 4)).has_value());
  EXPECT_EQ(*ReadParasolStderr(tasks, "ann", JobId(2), 5, 100), std::string("a\0b\n", 4));
  EXPECT_EQ(*ReadParasolStderr(tasks, "ann", JobId(2), 5, 1), "a");
  EXPECT_EQ(ReadParasolStderr(tasks, "bob", JobId(2), 5, 100).error().kind, ErrorKind::kNotFound);

  auto others = tasks.account;
  tasks.account = [&](const std::string& user) {
    auto account = others(user);
    account->user += 1;
    return account;
  };
  EXPECT_EQ(ReadParasolStderr(tasks, "ann", JobId(2), 5, 100).error().kind, ErrorKind::kPermission);
}

TEST(ParasolTasks, AFolderOfItsOwnIsMadeWhenItIsNeeded) {
  os::TempDir dir;
  ParasolTasks tasks = TasksAt(dir.Path("own"));
  ASSERT_TRUE(MakeTempDir(tasks));
  EXPECT_FALSE(os::Exists(tasks.temp_dir)) << "it is another one's to make";
  tasks.makes_temp_dir = true;
  ASSERT_TRUE(MakeTempDir(tasks));
  auto info = os::Stat(tasks.temp_dir);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->permissions & 0777, os::EffectiveUser() == 0 ? 0777u : 0700u);
  EXPECT_TRUE(MakeTempDir(tasks)) << "it is there";
  tasks.temp_dir = "/";
  EXPECT_EQ(MakeTempDir(tasks).has_value(), os::EffectiveUser() == 0) << "it is root's";
}

TEST(ParasolTasks, RootMakesRoomForStderr) {
  if (os::EffectiveUser() != 0) GTEST_SKIP() << "only root may";
  os::TempDir dir;
  ParasolTasks tasks = TasksAt(dir.path());
  std::string own = ParasolStderr(tasks, JobId(2), 5);
  ASSERT_TRUE(os::WriteFile(own, "text"));
  MakeRoomForStderr(tasks, "ann", JobId(2), 5);
  EXPECT_TRUE(os::Exists(own)) << "it is hers";
  auto account = tasks.account;
  tasks.account = [account](const std::string& user) {
    auto found = account(user);
    if (found) found->user = 12345;
    return found;
  };
  ASSERT_TRUE(os::MakeSymlink(own, ParasolStderr(tasks, JobId(2), 6)));
  MakeRoomForStderr(tasks, "ann", JobId(2), 6);
  EXPECT_FALSE(os::StatLink(ParasolStderr(tasks, JobId(2), 6)));
  EXPECT_TRUE(os::Exists(own)) << "a link is removed, not what it leads to";
  MakeRoomForStderr(tasks, "nobody", JobId(2), 5);
  EXPECT_TRUE(os::Exists(own)) << "there is no such user";
  MakeRoomForStderr(tasks, "ann", JobId(2), 5);
  EXPECT_FALSE(os::Exists(own));
  MakeRoomForStderr(tasks, "ann", JobId(2), 5);
}

TEST(ParasolTasks, StderrIsNeverReadThroughALink) {
  os::TempDir dir;
  ParasolTasks tasks = TasksAt(dir.path());
  ASSERT_TRUE(os::WriteFile(dir.Path("secret"), "s").has_value());
  ASSERT_TRUE(os::MakeSymlink(dir.Path("secret"), ParasolStderr(tasks, JobId(1), 0)).has_value());
  EXPECT_FALSE(ReadParasolStderr(tasks, "ann", JobId(1), 0, 100).has_value());
}

}  // namespace
}  // namespace spate::node
