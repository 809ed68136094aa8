#include "doors/parasol/row/parasol_dialect.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/environment.h"

namespace spate::parasol {
namespace {

NodeTasks TasksOf() {
  NodeTasks tasks;
  tasks.host = "kk1";
  tasks.account = [](const std::string& user) -> Result<os::Account> {
    if (user != "ann") return Fail(ErrorKind::kNotFound, "no such user");
    return os::Account{"ann", os::EffectiveUser(), 0, "/home/ann", "/bin/sh"};
  };
  return tasks;
}

TEST(ParasolDialect, EnvironmentIsTheUsers) {
  NodeTasks tasks = TasksOf();
  tasks.user_path = {"bin", "bin/x86"};
  tasks.sys_path = {"/share/bin"};
  std::string own = os::Environment::OfProcess().GetOr("PATH", "");
  std::vector<std::string> expected = {"PARASOL=7", "HOST=kk1", "USER=ann", "HOME=/home/ann",
                                       "PATH=/home/ann/bin:/home/ann/bin/x86:/share/bin:" + own};
  EXPECT_EQ(EnvironmentOf(tasks, "ann"), expected);
  tasks.user_path = tasks.sys_path = {};
  expected.pop_back();  // the node's own stays
  EXPECT_EQ(EnvironmentOf(tasks, "ann"), expected);
  tasks.environment = {"HOME=/x"};
  expected.push_back("HOME=/x");
  EXPECT_EQ(EnvironmentOf(tasks, "ann"), expected);
}

TEST(ParasolDialect, ANodeAddsToTheJob) {
  NodeTasks tasks = TasksOf();
  tasks.umask = 022;
  format::Dialects dialects;
  AddDialect(dialects, tasks);
  JobSettings settings;
  settings.user = "ann";
  auto added = dialects.Find(RowKind::kParasol)->Additions(settings);
  EXPECT_EQ(added.environment, EnvironmentOf(tasks, "ann"));
  EXPECT_EQ(added.umask, 022);
  EXPECT_TRUE(added.inherits);
  EXPECT_TRUE(added.keeps_stderr);
}

TEST(ParasolDialect, NamesOfStderr) {
  EXPECT_EQ(KeptName(JobId(2), 5), "para200000005.err");
  EXPECT_TRUE(IsKeptName("para200000005.err"));
  for (const char* name : {"para.err", "parax.err", "para3.error", "para-4.err", "xpara5.err"}) {
    EXPECT_FALSE(IsKeptName(name)) << name;
  }
}

}  // namespace
}  // namespace spate::parasol
