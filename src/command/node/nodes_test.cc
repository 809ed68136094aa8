#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

using Of = wire::ChangeNodes::Change;

NodeFacts Node(const char* name, const char* state) {
  NodeFacts node;
  node.name = name;
  node.state = state;
  node.user = "*";
  node.slots = 4;
  node.cpus = 4;
  node.memory = uint64_t{8} << 30;
  node.tasks = 2;
  node.ended = 9;
  return node;
}

TEST(NodeList, InThreeForms) {
  HubScene scene;
  scene.hub.Answers<wire::ListNodes>({Node("n1", "ready"), Node("n2", "drained")});
  std::string table = scene.Run("node list", {}).out;
  EXPECT_TRUE(table.starts_with("NODE ")) << table;
  EXPECT_NE(table.find("\nn2 "), std::string::npos) << table;
  EXPECT_EQ(scene.Run("node list", {"-q"}).out, "n1\nn2\n");
  EXPECT_TRUE(scene.Run("node list", {"--json"}).out.starts_with("{\"type\":\"node\""));
  EXPECT_TRUE(scene.hub.Asked<wire::ListNodes>().at(0).names.empty());
}

TEST(NodeList, TellsWhatToDoWithoutNodes) {
  HubScene scene;
  scene.hub.Answers<wire::ListNodes>({});
  EXPECT_NE(scene.Run("node list", {}).err.find("spate node start --daemon"), std::string::npos);
  EXPECT_EQ(scene.Run("node list", {"-q"}).err, "");
}

TEST(NodeInfo, APageForEach) {
  HubScene scene;
  scene.hub.Answers<wire::ListNodes>({Node("n1", "ready")});
  std::string page = scene.Run("node info", {"n1"}).out;
  EXPECT_TRUE(page.starts_with("Node n1\n")) << page;
  EXPECT_NE(page.find("all users"), std::string::npos) << page;
  EXPECT_EQ(scene.hub.Asked<wire::ListNodes>().at(0).names, std::vector<std::string>{"n1"});
}

TEST(NodeChanges, AskForWhatTheyAreCalled) {
  HubScene scene;
  scene.hub.Answers<wire::ChangeNodes>({{}});
  const std::tuple<const char*, Of, const char*> kCases[] = {
      {"node drain", Of::kDrain, "spate: n7, n8: drained; no new tasks start there\n"},
      {"node resume", Of::kResume, "spate: n7, n8: resumed\n"},
      {"node remove", Of::kRemove, "spate: n7, n8: removed\n"}};
  for (const auto& [command, change, said] : kCases) {
    EXPECT_EQ(scene.Run(command, {"n7", "n8"}).err, said);
    auto asked = scene.hub.Asked<wire::ChangeNodes>().back();
    EXPECT_EQ(asked.change, change) << command;
    EXPECT_EQ(asked.names, (std::vector<std::string>{"n7", "n8"})) << command;
    EXPECT_FALSE(asked.all) << command;
  }
  scene.Run("node drain", {"all"});
  EXPECT_TRUE(scene.hub.Asked<wire::ChangeNodes>().back().all);
  EXPECT_TRUE(scene.hub.Asked<wire::ChangeNodes>().back().names.empty());
}

}  // namespace
}  // namespace spate::cli::command
