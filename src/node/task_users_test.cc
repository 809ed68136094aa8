// Tasks of other users. Cases that need root are left out for others.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>

#include "node/task_users.h"
#include "node/testing_executor.h"
#include "os/fake_loop.h"
#include "os/real_loop.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

constexpr uint32_t kPerson = 65534;  // "nobody" where there is one; no account is needed

Result<shepherd::TaskUser> LookUp(const std::string& name) {
  if (name == "root") return shepherd::TaskUser{0, 0, {0}, "root", "/root", "/bin/sh"};
  if (name == "daemon") return shepherd::TaskUser{1, 1, {1}, "daemon", "/", "/bin/sh"};
  if (name == "ann" || name == "bob") {
    uint32_t user = name == "ann" ? kPerson : kPerson - 1;
    return shepherd::TaskUser{user, user, {user, 4242}, name, "/home/" + name, "/bin/other"};
  }
  return Fail(ErrorKind::kNotFound, "this machine has no user '" + name + "'");
}

TaskUserRules RootsRules() {
  TaskUserRules rules;
  rules.own = 0;
  rules.look_up = LookUp;
  return rules;
}

std::string Why(const std::string& user, const TaskUserRules& rules) {
  auto found = TaskUserFor(user, rules);
  if (!found) return found.error().message;
  return *found ? "as " + (*found)->name : "as itself";
}

TEST(TaskUserFor, OfANodeThatIsRoot) {
  TaskUserRules rules = RootsRules();
  EXPECT_EQ(Why("ann", rules), "as ann");
  EXPECT_EQ(
      Why("eve", rules),
      "cannot run tasks of 'eve': this machine has no user 'eve'; add an account on the node, or "
      "exclude the node for the job");
  std::string no_root =
      "the node runs no tasks as root: send the job as another user, or start the node with "
      "--allow-root";
  EXPECT_EQ(Why("root", rules), no_root);
  EXPECT_EQ(Why("", rules), no_root);
  EXPECT_EQ(
      Why("daemon", rules),
      "'daemon' is a system user (uid 1), but the node runs only tasks of ordinary users; submit "
      "the job as another user");
  rules.users = {"ann", "daemon"};
  EXPECT_EQ(Why("ann", rules), "as ann");
  EXPECT_EQ(Why("bob", rules),
            "the node runs no tasks of 'bob': it would have to be among its --users");
  EXPECT_NE(Why("daemon", rules), "as daemon");
  rules.allow_root = true;
  EXPECT_EQ(Why("root", rules), "as itself");
}

TEST(TaskUserFor, OfANodeThatIsNot) {
  TaskUserRules rules = RootsRules();
  rules.own = 1;
  std::string name = os::AccountById(1)->name;
  EXPECT_EQ(Why("", rules), "as itself");
  EXPECT_EQ(Why(name, rules), "as itself");
  EXPECT_EQ(Why("ann", rules), "the node runs as '" + name +
                                   "' and cannot run tasks of 'ann': start it as root, or "
                                   "send the job as '" +
                                   name + "'");
  EXPECT_NE(Why("root", rules), "as itself");
}

TEST(KnownUsers, ForAWhile) {
  std::string asked;
  os::FakeLoop loop;
  KnownUsers users(
      loop,
      [&](const std::string& name) {
        asked += name + " ";
        return LookUp(name);
      },
      Duration::Seconds(60));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(users.Find("ann")->name, "ann");
    EXPECT_EQ(users.Find("bob")->name, "bob");
  }
  EXPECT_EQ(std::exchange(asked, ""), "ann bob ");
  EXPECT_FALSE(users.Find("eve").has_value());
  EXPECT_FALSE(users.Find("eve").has_value());
  EXPECT_EQ(std::exchange(asked, ""), "eve ");
  loop.RunFor(Duration::Seconds(10));
  EXPECT_TRUE(users.Knows("ann"));
  EXPECT_FALSE(users.Find("eve").has_value());
  EXPECT_EQ(std::exchange(asked, ""), "eve ");
  loop.RunFor(Duration::Seconds(60));
  EXPECT_FALSE(users.Knows("ann"));
  EXPECT_EQ(users.Find("ann")->user, kPerson);
  EXPECT_EQ(asked, "ann ");
}

TEST(KnownUsers, AreAskedForAsideAndOnce) {
  auto loop = os::RealLoop::Create().value();
  std::promise<void> answer;
  std::atomic<int> asked = 0;
  KnownUsers users(
      *loop,
      [&, gate = answer.get_future().share()](const std::string& name) {
        ++asked;
        gate.wait();
        return LookUp(name);
      },
      Duration::Seconds(60));
  int told = 0;
  for (int i = 0; i < 2; ++i) users.LookUp("ann", [&] { told += users.Knows("ann") ? 1 : 0; });
  users.LookUp("bob", [&] { loop->Stop(); });
  loop->Post([&] {  // the loop goes on while a server says nothing
    EXPECT_EQ(told, 0);
    answer.set_value();
  });
  loop->Run();
  while (told < 2) {
    loop->At(loop->Now() + Duration::Millis(1), [&] { loop->Stop(); });
    loop->Run();
  }
  EXPECT_EQ(asked, 2) << "ann and bob";
  EXPECT_EQ(users.Find("ann")->user, kPerson);
}

TEST(TaskUserFor, AsksThisMachine) {
  auto account = os::AccountByName("root");
  ASSERT_TRUE(account.has_value());
  auto groups = os::GroupsOf(*account);
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  EXPECT_EQ(groups->front(), 0u);
  EXPECT_FALSE(os::GroupsOf({.name = "no such user"}).has_value());
}

// A node named n1 that is root, and tasks of ann.
class OtherUserTest : public ProcessExecutorTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    chmod(dir_.path().c_str(), 0755);
    ASSERT_TRUE(os::MakeDir(Home()));
    ASSERT_EQ(chown(Home().c_str(), kPerson, kPerson), 0);
    ASSERT_TRUE(os::MakeDir(dir_.Path("spool"), 0700));
    ASSERT_TRUE(os::MakeDir(dir_.Path("secret"), 0700));
    dir_.Write("secret/file", "line\n");
    options_.spool_folder = dir_.Path("spool");
    options_.node_name = "n1";
    options_.users = RootsRules();
    options_.users->allow_root = true;
    settings_.cwd = Home();
    settings_.user = "ann";
  }
  std::string Home() { return dir_.Path("home"); }
  std::string Secret(const char* name) { return dir_.Path("secret") + "/" + name; }
  // The node's own tasks, as job 2.
  Ended& RunAsRoot(TaskBody body) {
    if (!executor_) Make();
    JobSettings settings = settings_;
    settings.user = "root";
    settings.cwd = dir_.path();
    executor_->OpenJob(JobId(2), std::make_shared<const JobSettings>(settings), false);
    StartOrder order;
    order.ref = {JobId(2), next_++, Attempt(1)};
    order.slot = 1;
    order.body = std::move(body);
    executor_->Start(order);
    return Await(order.ref);
  }
};

TEST_F(OtherUserTest, IsWhoSentTheJobInAllRespects) {
  setenv("A_SECRET_OF_ROOT", "1", 1);
  settings_.umask = 027;
  settings_.environment = {"MINE=1", "SHELL=/bin/mine"};
  const Ended& ended = Run(
      "id -u; id -ru; id -g; id -rg; id -G; umask; pwd; echo $HOME $USER $LOGNAME $SHELL $MINE; "
      "env | grep SECRET; grep CapEff /proc/self/status; echo x > f; stat -c %a%u f; "
      "echo late > /dev/stdout");
  unsetenv("A_SECRET_OF_ROOT");
  EXPECT_EQ(ended.output->out.bytes,
            "65534\n65534\n65534\n65534\n65534 4242\n0027\n" + Home() +
                "\n/home/ann ann ann /bin/mine 1\nCapEff:\t0000000000000000\n64065534\nlate\n")
      << ended.output->err.bytes;
  // The next one in the same shepherd is root again.
  EXPECT_EQ(
      RunAsRoot(Shell("id -u; id -g; id -G | grep -c 4242; pwd; echo $HOME")).output->out.bytes,
      "0\n0\n0\n" + dir_.path() + "\n" + getenv("HOME") + "\n");
  EXPECT_EQ(Run("id -u; echo x > /dev/stderr").output->err.bytes, "x\n");
}

TEST_F(OtherUserTest, OpensFilesWithTheRightsOfTheUser) {
  TaskBody body = Shell("cat; echo out");
  body.stdin_file = Secret("file");
  const Ended& in = Run(body);
  EXPECT_EQ(in.end.cause, Cause::kStart);
  EXPECT_EQ(in.end.note,
            "on node n1: cannot open '" + Secret("file") + "' as stdin: Permission denied");
  for (std::string path : {Secret("new"), dir_.Path("new"), dir_.Path("below/new")}) {
    body = Shell("echo out");
    body.stdout_file = path;
    EXPECT_EQ(Run(body).end.cause, Cause::kStart) << path;
    body.stderr_file = std::exchange(body.stdout_file, "");
    EXPECT_EQ(Run(body).end.cause, Cause::kStart) << path;
    EXPECT_FALSE(os::Exists(path));
  }
  body = Shell("echo out");
  body.stdout_file = "new/folder/out";
  EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
  EXPECT_EQ(os::Stat(Home() + "/new/folder/out")->user, kPerson);
  EXPECT_EQ(os::Stat(Home() + "/new")->group, kPerson);
}

TEST_F(OtherUserTest, ChecksOutputsWithTheRightsOfTheUser) {
  TaskBody body = Plain({"true"});
  body.output_checks = {{CheckWhen::kOut, CheckKind::kLine, Secret("file")}};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.note, Secret("file") + " cannot be read: Permission denied");
}

TEST_F(OtherUserTest, EntersFoldersAndFindsProgramsWithTheRightsOfTheUser) {
  dir_.Write("secret/tool", "#!/bin/sh\necho tool\n");
  chmod(Secret("tool").c_str(), 0755);
  std::string path = "PATH=" + dir_.Path("secret") + ":/usr/bin:/bin";
  TaskBody body = Plain({"tool"});
  body.environment = {path};
  EXPECT_EQ(RunAsRoot(body).output->out.bytes, "tool\n");
  EXPECT_EQ(Run(body).end.note, "on node n1: tool: command not found");
  settings_.cwd = dir_.Path("secret");
  executor_.reset();
  EXPECT_EQ(Run("true").end.note, "on node n1: cannot enter the job's folder '" +
                                      dir_.Path("secret") + "': Permission denied");
}

TEST_F(OtherUserTest, JobsThatInheritHaveOfTheNodesEnvironmentWhatPasses) {
  os::TempDir tools;
  ASSERT_TRUE(os::SetPermissions(tools.path(), 0755));
  tools.Write("probe", "#!/bin/sh\necho found $SITE $HOME $USER $SSH_AUTH_SOCK.$SITE_TOKEN.\n");
  ASSERT_TRUE(os::SetPermissions(tools.Path("probe"), 0755));
  std::string path = tools.path() + ":" + getenv("PATH");
  setenv("PATH", path.c_str(), 1);
  setenv("SITE", "here", 1);
  setenv("SPATE_PASS_ENV", "OTHER,SITE", 1);
  setenv("SSH_AUTH_SOCK", "/root/agent", 1);
  setenv("SITE_TOKEN", "secret", 1);
  EXPECT_EQ(Run(Plain({"probe"})).end.note, "on node n1: probe: command not found");
  executor_.reset();
  inherits_ = true;
  const Ended& ended = Run(Plain({"probe"}));
  ASSERT_TRUE(ended.output) << ended.end.note;
  EXPECT_EQ(ended.output->out.bytes, "found here /home/ann ann ..\n");
  path.erase(0, tools.path().size() + 1);
  setenv("PATH", path.c_str(), 1);
  for (const char* name : {"SITE", "SPATE_PASS_ENV", "SSH_AUTH_SOCK", "SITE_TOKEN"}) unsetenv(name);
}

TEST_F(OtherUserTest, LongOutputLiesInTheNodesSpool) {
  const Ended& ended = Run("seq 50000");
  EXPECT_EQ(ended.end.note, "");
  EXPECT_EQ(ended.output->out.total, 288894u);
  EXPECT_EQ(os::Stat(ended.output->out.spool)->user, 0u);
}

TEST_F(OtherUserTest, IsEndedByTheNodeAndCannotEndIt) {
  EXPECT_EQ(Run("kill -9 $PPID; kill -0 $PPID && echo killed; cat /proc/$PPID/environ").end.status,
            1);
  for (EndHow how : {EndHow::kTerm, EndHow::kKill}) {
    AttemptRef ref = Start(Shell("setsid sleep 9999." + mark_ + " & exec sleep 9999." + mark_));
    RunUntil([&] { return Marked("9999." + mark_).size() == 2; });
    executor_->End(ref, how, Cause::kStopped);
    EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
    EXPECT_TRUE(Marked("9999." + mark_).empty());
  }
  // The task dies with its shepherd, though a change of user makes Linux forget that.
  AttemptRef ref = Start(Plain({"sleep", "9999." + mark_}));
  RunUntil([&] { return Marked("9999." + mark_).size() == 1; });
  kill(executor_->ShepherdPids().at(0), SIGKILL);
  EXPECT_TRUE(Until(Duration::Seconds(10), [&] { return Marked("9999." + mark_).empty(); }));
  EXPECT_EQ(Await(ref).end.cause, Cause::kNode);
}

TEST_F(OtherUserTest, AJobOfSomebodyWhoMayNotFailsOnThisNode) {
  options_.users->allow_root = false;
  settings_.user = "eve";
  const Ended& ended = Run("true");
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_EQ(ended.end.status, 126);
  EXPECT_TRUE(ended.end.note.starts_with("on node n1: cannot run tasks of 'eve': "));
  settings_.user = "";  // nobody said who: that is root's
  executor_.reset();
  EXPECT_TRUE(Run("true").end.note.starts_with("on node n1: the node runs no tasks as root"));
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
