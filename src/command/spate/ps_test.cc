#include <string>
#include <utility>
#include <vector>

#include "command/testing_world.h"
#include "os/process.h"

namespace spate::cli::command {
namespace {

struct PsScene {
  FakeHub hub;
  HubScene::Ran Run(std::vector<std::string> argv) {
    HubScene::Ran ran;
    const Command& command = Named("ps");
    auto words = ParseWords(command, argv);
    EXPECT_TRUE(words.has_value());
    HistoryEnvironment environment;
    environment.hub = &hub;
    environment.state_dir = [](const std::string&) { return "/nowhere"; };
    environment.write_out = [&](std::string_view text) {
      ran.out += text;
      return Status();
    };
    environment.write_err = [&](std::string_view text) { ran.err += text; };
    environment.now = [] { return Instant{1'600'000'000'000'000'000}; };
    environment.width = 200;
    FakeWorld world(environment);
    const Wiring wiring{.commands = AllCommands(), .programs = {}, .world = &world};
    ran.code = command.run(Invocation{
        .words = std::move(*words), .argv = std::move(argv), .preset = {}, .wiring = &wiring});
    return ran;
  }
  wire::ListProcesses Asked() const { return hub.Asked<wire::ListProcesses>().back(); }
};

NodeProcesses Node(const std::string& name, uint32_t pid, uint64_t start) {
  NodeProcesses node{.node = name, .boot = os::BootId()};
  node.attempts = {{.job = JobId(12), .task = 3, .attempt = 1, .user = "ann", .processes = {}}};
  node.attempts[0].processes = {
      {.pid = pid, .parent = 1, .start = start, .threads = 1, .command = "sleep 10"}};
  return node;
}

TEST(Ps, AsksForAllOrForSomeTasks) {
  PsScene scene;
  scene.hub.Answers<wire::ListProcesses>({Node("n1", 7, 1), {.node = "n2", .why = "it is away"}});
  auto ran = scene.Run({});
  EXPECT_EQ(ran.code, kExitSuccess);
  EXPECT_NE(ran.out.find("12.3@n1:7 "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err, "spate: processes on node n2 are missing: it is away\n");
  EXPECT_TRUE(scene.Asked().tasks.empty());
  EXPECT_FALSE(scene.Asked().everybody);
  EXPECT_EQ(scene.Run({"12", "--quiet"}).out, "12.3@n1:7\n");
  EXPECT_EQ(scene.Asked().tasks.at(0).jobs.ranges, (std::vector<NumberRange>{{12, 12, 1}}));
  ran = scene.Run({"--all", "--json"});
  EXPECT_TRUE(scene.Asked().everybody);
  EXPECT_TRUE(ran.out.starts_with("{\"type\":\"process\",\"v\":")) << ran.out;
  EXPECT_TRUE(ran.out.ends_with("\"node\":\"n2\",\"why\":\"it is away\",\"left_out\":0}\n"))
      << ran.out;
}

TEST(Ps, APidIsThatOfThisMachineAlone) {
  PsScene scene;
  const auto pid = static_cast<uint32_t>(os::OwnPid());
  const std::string typed = std::to_string(pid);
  NodeProcesses elsewhere = Node("n1", pid, os::StartTimeOf(os::OwnPid()));
  elsewhere.boot = "another machine";
  scene.hub.Answers<wire::ListProcesses>({elsewhere, Node("n2", pid, 1)});
  auto ran = scene.Run({"--pid", typed});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err, "spate: process " + typed + " belongs to no running task of yours\n");
  EXPECT_EQ(scene.Asked().pid, pid);
  scene.hub.Answers<wire::ListProcesses>(
      {elsewhere, Node("n3", pid, os::StartTimeOf(os::OwnPid()))});
  EXPECT_EQ(scene.Run({"--pid", typed}).out, "12.3\n");
}

TEST(Ps, WrongWordsAskNothing) {
  PsScene scene;
  for (std::vector<std::string> words :
       std::vector<std::vector<std::string>>{{"--sort", "size"},
                                             {"--watch", "10ms"},
                                             {"--watch", "often"},
                                             {"--pid", "0"},
                                             {"--pid", "4000000000"},
                                             {"12", "--all"}}) {
    EXPECT_EQ(scene.Run(words).code, kExitUsage) << words[0] << words[1];
  }
  EXPECT_TRUE(scene.hub.Asked<wire::ListProcesses>().empty());
}

}  // namespace
}  // namespace spate::cli::command
