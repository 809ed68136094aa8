#include "doors/parasol/programs/site_programs.h"

#include <gtest/gtest.h>

namespace spate::parasol {
namespace {

using Words = std::vector<std::string>;

template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(SitePrograms, HubOptions) {
  auto plain = MakeParaHubOptions(Words{"list"}).value();
  EXPECT_EQ(plain.machine_list, "list");
  EXPECT_FALSE(plain.port || plain.ram_unit || plain.debug);
  EXPECT_EQ(plain.default_ram_units, 1u);
  // Every option of the manual and of the program, in both spellings.
  auto all = MakeParaHubOptions(Words{
      "-spokes=30", "jobCheckPeriod=10", "-machineCheckPeriod=20", "subnet=10.0.0.0/8",
      "-nextJobId=7", "-logFacility=local0", "-logMinPriority=info", "log=stdout", "-logFlush",
      "-debug", "-noResume", "-ramUnit=512m", "defaultJobRam=3", "-verbose=2", "-port=0", "list"});
  ASSERT_TRUE(all) << MessageOf(all);
  EXPECT_EQ(all->subnet, "10.0.0.0/8");
  EXPECT_EQ(all->log, "stdout");
  EXPECT_TRUE(all->debug);
  EXPECT_EQ(all->ram_unit, uint64_t{512} << 20);
  EXPECT_EQ(all->default_ram_units, 3u);
  EXPECT_EQ(all->port, 0);
  // Words copied from the manual.
  auto bare = MakeParaHubOptions(Words{"list", "–log=stdout", "logFlush", "noResume"});
  ASSERT_TRUE(bare) << MessageOf(bare);
  EXPECT_EQ(bare->machine_list, "list");
  EXPECT_EQ(bare->log, "stdout");
  EXPECT_FALSE(MakeParaHubOptions(Words{"list", "debug"}));
  EXPECT_FALSE(MakeParaHubOptions(Words{"logFlush"}));
}

TEST(SitePrograms, NodeOptions) {
  auto plain = MakeParaNodeOptions(Words{"start"}).value();
  EXPECT_EQ(plain.cpus, 1u);
  EXPECT_EQ(plain.umask, 0002u);
  EXPECT_EQ(plain.temp_dir, "/tmp");
  EXPECT_EQ(plain.keep_errors, Duration::Seconds(7 * 86400));
  EXPECT_FALSE(plain.memory || plain.port || plain.kit_from_stdin || plain.debug);
  auto all = MakeParaNodeOptions(Words{"any",
                                       "cpu=4",
                                       "-ram=2048",
                                       "hub=head:1",
                                       "-node=n1",
                                       "-umask=022",
                                       "userPath=bin:b2",
                                       "sysPath=/sbin",
                                       "-env=A=1",
                                       "env=B=x=y",
                                       "-tempDir=/scratch",
                                       "-errKeep=0.5",
                                       "-randomDelay=0",
                                       "-logFacility=x",
                                       "-logMinPriority=warn",
                                       "-log=/l",
                                       "-debug",
                                       "-localhost",
                                       "-port=77",
                                       "-access=stdin"});
  ASSERT_TRUE(all) << MessageOf(all);
  EXPECT_EQ(all->cpus, 4u);
  EXPECT_EQ(all->memory, uint64_t{2} << 30);
  EXPECT_EQ(all->hub, "head:1");
  EXPECT_EQ(all->name, "n1");
  EXPECT_EQ(all->umask, 022u);
  EXPECT_EQ(all->user_path, "bin:b2");
  EXPECT_EQ(all->sys_path, "/sbin");
  EXPECT_EQ(all->environment, (Words{"A=1", "B=x=y"}));
  EXPECT_EQ(all->temp_dir, "/scratch");
  EXPECT_EQ(all->keep_errors, Duration::Seconds(43200));
  EXPECT_EQ(all->log, "/l");
  EXPECT_EQ(all->port, 77);
  EXPECT_TRUE(all->debug && all->kit_from_stdin);
  EXPECT_EQ(MakeParaNodeOptions(Words{"start", "-localhost"})->name, "localhost");
}

TEST(SitePrograms, StartOptions) {
  auto plain = MakeParaNodeStartOptions(Words{"list"}).value();
  EXPECT_EQ(plain.rsh.front(), "ssh");
  EXPECT_EQ(plain.exe, "paraNode");
  EXPECT_TRUE(plain.passed.empty());
  auto all = MakeParaNodeStartOptions(
      Words{"list", "-exe=/x/paraNode", "rsh=rsh -l root", "hub=head", "-log=/tmp/log", "umask=022",
            "userPath=bin", "sysPath=/a:/b", "env=A=two words", "-randomDelay=5", "-logFacility=l",
            "-logMinPriority=p", "-errKeep=3"});
  ASSERT_TRUE(all) << MessageOf(all);
  EXPECT_EQ(all->rsh, (Words{"rsh", "-l", "root"}));
  EXPECT_EQ(all->hub, "head");
  EXPECT_EQ(all->passed,
            (Words{"log=/tmp/log", "logFacility=l", "logMinPriority=p", "umask=022", "userPath=bin",
                   "sysPath=/a:/b", "randomDelay=5", "errKeep=3", "env='A=two words'"}));
}

TEST(SitePrograms, AskOptions) {
  auto asked = MakeParaNodeStatusOptions(Words{"-long", "list", "-retries=7", "-anything"}).value();
  EXPECT_TRUE(asked.lengthy);
  EXPECT_EQ(asked.machine_list, "list");
  EXPECT_FALSE(MakeParaNodeStopOptions(Words{"list"})->lengthy);
  EXPECT_TRUE(CheckParaHubStop(Words{"now"}));
}

TEST(SitePrograms, Errors) {
  struct Case {
    std::string message;
    std::string_view wanted;
  };
  const Case cases[] = {
      {MessageOf(MakeParaHubOptions(Words{})), kParaHub.usage},
      {MessageOf(MakeParaHubOptions(Words{"a", "b"})), kParaHub.usage},
      {MessageOf(MakeParaNodeOptions(Words{})), kParaNode.usage},
      {MessageOf(MakeParaNodeStartOptions(Words{})), kParaNodeStart.usage},
      {MessageOf(MakeParaNodeStopOptions(Words{})), kParaNodeStop.usage},
      {MessageOf(MakeParaNodeStatusOptions(Words{})), kParaNodeStatus.usage},
      {MessageOf(MakeParaHubOptions(Words{"list", "-foo"})), "-foo is not a valid option"},
      {MessageOf(MakeParaHubOptions(Words{"list", "-ramUnit=2G"})),
       "-ramUnit: '2G' is not a valid size (write for example 512m or 2g)"},
      {MessageOf(MakeParaHubOptions(Words{"list", "-defaultJobRam=0"})),
       "-defaultJobRam=0: must be from 1 to 1000000"},
      {MessageOf(MakeParaHubOptions(Words{"list", "-port=65536"})),
       "-port=65536: must be from 0 to 65535"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "cpu=0"})), "-cpu=0: must be from 1 to 65535"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "umask=8"})),
       "-umask=8: write octal digits, such as 022"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "umask=1000"})),
       "-umask=1000: write octal digits, such as 022"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "-env=X"})), "-env=X: write -env=NAME=VALUE"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "-errKeep=-1"})),
       "-errKeep=-1: must be from 0 to 36500 days"},
      {MessageOf(MakeParaNodeOptions(Words{"start", "-access=secret"})),
       "-access: write -access=stdin"},
      {MessageOf(MakeParaNodeStartOptions(Words{"list", "-env==X"})),
       "-env==X: write -env=NAME=VALUE"},
      {MessageOf(MakeParaNodeStartOptions(Words{"list", "-rsh= "})),
       "-rsh and -exe need a command"},
      {MessageOf(MakeParaNodeStatusOptions(Words{"list", "-port=x"})),
       "-port=x is not a whole number; write for example -port=4"},
  };
  for (const Case& c : cases) EXPECT_EQ(c.message, c.wanted);
  EXPECT_FALSE(CheckParaHubStop(Words{}));
}

}  // namespace
}  // namespace spate::parasol
