#include "command/testing_world.h"
#include "core/model/node_measures.h"

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

TEST(NodeQuery, AsksEachNodeItself) {
  HubScene scene;
  NodeMeasures now{.node = "n7", .memory = uint64_t{8} << 30, .processes = 12};
  now.disks = {{"/var/spate", uint64_t{1} << 30, uint64_t{4} << 30}};
  scene.hub.AnswersBytes<wire::AskNode>({wire::BytesOf(now)});
  std::string page = scene.Run("node query", {"n7"}).out;
  EXPECT_TRUE(page.starts_with("Node n7, measured ")) << page;
  EXPECT_TRUE(page.ends_with("\n  processes  12\n  disk       /var/spate: 1.0 GB free of 4.0 GB\n"))
      << page;
  EXPECT_EQ(page.find("load"), page.npos) << page;
  EXPECT_EQ(scene.hub.Asked<wire::AskNode>().at(0).node, "n7");
  EXPECT_EQ(scene.hub.Asked<wire::AskNode>().at(0).question, MeasureNode::kNumber);
  now.machine = MachineLoad{.free_memory = uint64_t{1} << 30, .load = 1.25, .cpu_pressure = 3};
  scene.hub.AnswersBytes<wire::AskNode>({wire::BytesOf(now)});
  page = scene.Run("node query", {"n7"}).out;
  EXPECT_NE(page.find("  load       1.2\n"
                      "  memory     1.0 GB free, 8.0 GB offered\n"
                      "  pressure   cpu 3 %, memory 0 %, disks 0 % of the last 10 s\n"),
            page.npos)
      << page;
  const std::string json = scene.Run("node query", {"n7", "n8", "--json"}).out;
  EXPECT_TRUE(json.starts_with("{\"type\":\"node_measures\",\"v\":")) << json;
  EXPECT_NE(json.find("\"processes\":12,\"disks\":[{\"folder\":\"/var/spate\","
                      "\"free\":1073741824,\"size\":4294967296}]}\n{"),
            json.npos)
      << json;
  EXPECT_EQ(scene.hub.Asked<wire::AskNode>().back().node, "n8");
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
