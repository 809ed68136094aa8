// The texts are those of OpenSSH 9.2: for hosts that are not there recorded, of the rest as its
// sources have them. The scripts are run by the shells of this machine, over an ssh that is none.
#include "pool/ssh/ssh.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "pool/process.h"
#include "pool/process_testing.h"
#include "pool/testing.h"

namespace spate::pool {
namespace {

using End = Outcome::End;
using Kind = SubmitFailure::Kind;
using Words = std::vector<std::string>;

Tools Far() {
  Tools tools;
  tools.host = "ann@far";
  return tools;
}

TEST(SshTest, Calls) {
  Tools tools = Far();
  tools.submit = "/opt/bin/ssh";
  tools.everywhere = {"-p", "2222", "-F", "/home/ann/far config"};
  auto driver = MakeSsh(tools);
  auto call = driver->Submit(PlainSpec());
  ASSERT_TRUE(call) << call.error().message;
  const Words words = {"/opt/bin/ssh", "-T",
                       "-o",           "BatchMode=yes",
                       "-p",           "2222",
                       "-F",           "/home/ann/far config",
                       "-a",           "-x",
                       "-o",           "ConnectTimeout=10",
                       "-o",           "ServerAliveInterval=15",
                       "-o",           "ServerAliveCountMax=3",
                       "-o",           "ControlMaster=no",
                       "-o",           "ClearAllForwardings=yes",
                       "-o",           "LogLevel=ERROR",
                       "--",           "ann@far",
                       "sh -s"};
  EXPECT_EQ(call->argv, words);
  EXPECT_TRUE(call->environment.empty());
  EXPECT_EQ(driver->Query({"p-", {}}).argv, words);
  EXPECT_EQ(driver->Cancel(Words{"5.6.0123abcd"}).argv, words);
  ASSERT_TRUE(driver->Test(PlainSpec()));
  EXPECT_EQ(driver->Test(PlainSpec())->argv, words);
}

TEST(SshTest, Refusals) {
  for (const char* host : {"", "-oProxyCommand=x", "a b", "a\n", "\t"}) {
    Tools tools = Far();
    tools.host = host;
    EXPECT_FALSE(MakeSsh(tools)->Submit(PlainSpec())) << host;
    EXPECT_FALSE(MakeSsh(tools)->Test(PlainSpec())) << host;
  }
  PilotSpec spec = PlainSpec();
  spec.options = {"-p", "22"};
  EXPECT_FALSE(MakeSsh(Far())->Submit(spec));
}

TEST(SshTest, Ids) {
  ExpectIds(*MakeSsh(Far()), {{"spate: started 5.6.0123abcd\n", "5.6.0123abcd"},
                              {"Welcome to far\nspate: started 5.6.0123abcd\n", "5.6.0123abcd"},
                              {"spate: started 5.6.0123", ""},
                              {"", ""}});
}

TEST(SshTest, Failures) {
  ExpectFailures(
      *MakeSsh(Far()),
      {
          {"ann@far: Permission denied (publickey,password).\r\n", Kind::kRefused, false,
           End::kExited, 255},
          {"No ED25519 host key is known for far and you have requested strict checking.\r\n"
           "Host key verification failed.\r\n",
           Kind::kRefused, false, End::kExited, 255},
          {"ssh: Could not resolve hostname far: Name or service not known\r\n", Kind::kRefused,
           false, End::kExited, 255},
          {"Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures\r\n",
           Kind::kRefused, false, End::kExited, 255},
          {"Unable to negotiate with 10.0.0.7 port 22: no matching host key type found. Their "
           "offer: ssh-rsa\r\n",
           Kind::kRefused, false, End::kExited, 255},
          {"command-line: line 0: Bad configuration option: nosuch\r\n", Kind::kRefused, false,
           End::kExited, 255},
          {"ssh: Could not resolve hostname far: Temporary failure in name resolution\r\n",
           Kind::kUnavailable, false, End::kExited, 255},
          {"ssh: connect to host far port 22: Connection refused\r\n", Kind::kUnavailable, false,
           End::kExited, 255},
          {"ssh: connect to host far port 22: Connection timed out\r\n", Kind::kUnavailable, false,
           End::kExited, 255},
          {"ssh: connect to host far port 22: No route to host\r\n", Kind::kUnavailable, false,
           End::kExited, 255},
          {"kex_exchange_identification: read: Connection reset by peer\r\n"
           "Connection reset by 10.0.0.7 port 22\r\n",
           Kind::kUnavailable, false, End::kExited, 255},
          {"Connection timed out during banner exchange\r\n", Kind::kUnavailable, false,
           End::kExited, 255},
          // The script may have arrived.
          {"Connection to far closed by remote host.\r\n", Kind::kUnavailable, true, End::kExited,
           255},
          {"client_loop: send disconnect: Broken pipe\r\n", Kind::kUnavailable, true, End::kExited,
           255},
          {"Timeout, server far not responding.\r\n", Kind::kUnavailable, true, End::kExited, 255},
          {"", Kind::kUnavailable, true, End::kExited, 255},
          {"", Kind::kUnavailable, true, End::kTimedOut, 0},
          {"ssh: No such file or directory", Kind::kUnavailable, false, End::kNotStarted, 0},
          // Said by the host.
          {"sh: not found\n", Kind::kUnavailable, false, End::kExited, 127},
          {"spate: the pilot p-1 is being started\n", Kind::kUnavailable, true},
          {"spate: no folder for pilots in /home/ann\n", Kind::kRefused},
          {"spate: HOME is not set\n", Kind::kRefused},
      },
      "", "ssh ann@far ");
}

class SshHostTest : public testing::TestWithParam<std::string> {
 protected:
  SshHostTest() {
    spec_ = host_.Spec("p-1");
    std::string program =
        host_.Program("bin of ours/spate", "cat \"$2\"; shift 2; exec sh -c \"$1\"\n");
    std::string access = host_.Write("secret/it's access", "pin 5\nsecret 0xfeed\n");
    std::filesystem::permissions(access, std::filesystem::perms::owner_read);
    spec_.command = {program, "--access", access, spec_.command[2]};
    spec_.files = {access, program};
    spec_.shared_files = false;
  }
  Submitted Start(const PilotSpec& spec) {
    auto call = driver_->Submit(spec);
    EXPECT_TRUE(call) << call.error().message;
    call_ = *call;
    return driver_->ReadSubmit(host_.Run(*call));
  }
  int64_t Connections() { return std::ranges::count(host_.Read("ssh.log"), '\n'); }
  bool AwaitOutput(const std::string& tag, const std::string& text) {
    return Await([&] { return host_.Read(host_.Folder(tag) + "/output").contains(text); });
  }
  mode_t Mode(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(host_.Path(path).c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  std::vector<std::string> Programs() {
    std::vector<std::string> names;
    std::string folder = host_.Path("home/.local/state/spate/pilots/programs");
    if (!std::filesystem::exists(folder)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  TestHost host_{GetParam()};
  std::unique_ptr<PoolDriver> driver_ = MakeSsh(Far());
  PilotSpec spec_;
  CommandLine call_;
};

TEST_P(SshHostTest, BringsAProgramOnceAndACredentialEachTime) {
  auto id = Start(spec_);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(Connections(), 2);
  ASSERT_TRUE(AwaitOutput("p-1", "secret 0xfeed\nsome words"));
  std::string files = host_.Folder("p-1") + "/files";
  EXPECT_EQ(host_.Read(files + "/it's access"), "pin 5\nsecret 0xfeed\n");
  EXPECT_EQ(Mode(files + "/it's access"), 0600U);
  EXPECT_EQ(Mode(files), 0700U);
  EXPECT_EQ(Programs().size(), 1U);
  // Neither command lines nor what is written for the next call have it.
  EXPECT_FALSE(host_.Read("ssh.log").contains("feed"));
  EXPECT_FALSE(call_.input.contains("feed"));
  for (const std::string& word : call_.argv) EXPECT_FALSE(word.contains("feed"));

  PilotSpec second = spec_;
  second.tag = "p-2";
  second.output_file = host_.Path("logs/p-2");
  ASSERT_TRUE(Start(second));
  EXPECT_EQ(Connections(), 3);
  ASSERT_TRUE(AwaitOutput("p-2", "secret 0xfeed\nsome words"));
  // A new version is another program.
  std::ofstream(spec_.command[0], std::ios::app) << "# new\n";
  second.tag = "p-3";
  ASSERT_TRUE(Start(second));
  EXPECT_EQ(Connections(), 5);
  EXPECT_EQ(Programs().size(), 2U);

  host_.Release();
  ASSERT_TRUE(AwaitEnd(*driver_, host_, {.prefix = "p-1", .ids = {}}));
  EXPECT_FALSE(host_.Has(files));
  EXPECT_EQ(Programs().size(), 2U);
}

TEST_P(SshHostTest, ACredentialGoesWithAKilledPilot) {
  auto id = Start(spec_);
  ASSERT_TRUE(id) << id.error().message;
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  ASSERT_EQ(kill(std::stoi(*id), SIGKILL), 0);
  ASSERT_TRUE(AwaitEnd(*driver_, host_, {.prefix = "p-", .ids = {}}));
  EXPECT_FALSE(host_.Has(host_.Folder("p-1") + "/files"));
}

TEST_P(SshHostTest, SharedFilesAreLeftWhereTheyAre) {
  spec_.shared_files = true;
  ASSERT_TRUE(Start(spec_));
  EXPECT_EQ(Connections(), 1);
  ASSERT_TRUE(AwaitOutput("p-1", "secret 0xfeed"));
  EXPECT_TRUE(Programs().empty());
}

TEST_P(SshHostTest, ABrokenConnectionStartsNothingByHalves) {
  // Longer than a pipe holds, so that it breaks while the program is on its way, too.
  std::string text = host_.Read("bin of ours/spate") + "exit\n" + std::string(200'000, '#') + "\n";
  std::ofstream(spec_.command[0]) << text;
  size_t script = driver_->Submit(spec_)->input.size();
  for (size_t limit : {size_t{0}, size_t{10}, script / 2, script - 1, script + 20, script + 90,
                       script + 1000, script + 150'000}) {
    host_.Write("limit", std::to_string(limit));
    auto id = Start(spec_);
    ASSERT_FALSE(id) << limit;
    EXPECT_EQ(id.error().kind, Kind::kUnavailable) << id.error().message;
    EXPECT_TRUE(id.error().perhaps_there);
    EXPECT_FALSE(host_.Has(host_.Folder("p-1"))) << limit;
    EXPECT_TRUE(Programs().empty()) << limit;
  }
  // The last two broke while the program came.
  EXPECT_EQ(Connections(), 8 + 2);
  std::filesystem::remove(host_.Path("limit"));
  ASSERT_TRUE(Start(spec_));
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  EXPECT_EQ(Programs().size(), 1U);
}

TEST_P(SshHostTest, ALostAnswerIsFoundByItsTag) {
  spec_.shared_files = true;
  host_.Write("lost", "");
  auto id = Start(spec_);
  ASSERT_FALSE(id);
  EXPECT_TRUE(id.error().perhaps_there);
  // No answer about it is none of its end.
  PilotQuery query{.prefix = "p-", .ids = {}};
  EXPECT_FALSE(driver_->ReadQuery(query, host_.Run(driver_->Query(query))));
  std::filesystem::remove(host_.Path("lost"));
  ListedPilot pilot = TheOnly(*driver_, host_, query);
  EXPECT_EQ(pilot.tag, "p-1");
  EXPECT_EQ(pilot.state, PilotState::kRunning);
  ASSERT_TRUE(AwaitOutput("p-1", "some words"));
  EXPECT_EQ(host_.Started(), pilot.id + "\n");
  // A second start with the same tag returns the same pilot.
  id = Start(spec_);
  ASSERT_TRUE(id);
  EXPECT_EQ(*id, pilot.id);
}

TEST_P(SshHostTest, WhatIsMissingHereIsSaid) {
  std::filesystem::remove(spec_.command[2]);
  auto id = Start(spec_);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().kind, Kind::kRefused);
  EXPECT_FALSE(id.error().perhaps_there);
  EXPECT_TRUE(id.error().message.contains("it's access")) << id.error().message;
  EXPECT_EQ(Connections(), 0);
  host_.Write("secret/it's access", std::string((1 << 20) + 1, 'x'));
  id = Start(spec_);
  ASSERT_FALSE(id);
  EXPECT_TRUE(id.error().message.contains("1 MiB")) << id.error().message;
}

TEST_P(SshHostTest, Test) {
  auto test = [this] {
    CommandLine call = *driver_->Test(spec_);
    Outcome outcome = host_.Run(call);
    auto fine = CheckOutcome(call, outcome);
    return fine ? outcome.out : fine.error().message;
  };
  EXPECT_TRUE(test().starts_with("Linux ")) << test();
  host_.Program("bin/uname", "echo riscv128\n");
  EXPECT_TRUE(test().contains("the host is riscv128, and this program is for")) << test();
  std::filesystem::remove(host_.Path("bin/uname"));
  std::filesystem::remove_all(host_.Path("home"));
  host_.Write("home", "");
  EXPECT_TRUE(test().contains("pilots cannot write to")) << test();
}

INSTANTIATE_TEST_SUITE_P(Shells, SshHostTest, testing::ValuesIn(Shells()),
                         [](const auto& shell) { return shell.param.substr(5); });

}  // namespace
}  // namespace spate::pool
