// Options of hubs and nodes.
#include <gtest/gtest.h>

#include "cli/options/hub_options.h"
#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

template <typename Make>
auto Made(std::string_view command, const Argv& argv, Make make) {
  auto words = ParseWords(Named(command), argv);
  EXPECT_TRUE(words) << words.error().message;
  return make(*words);
}

TEST(HubOptions, ListensNowhereByDefault) {
  auto silent = Made("hub start", {}, MakeHubOptions);
  EXPECT_EQ(silent->listen, Argv{});
  EXPECT_FALSE(silent->says_where);
  auto none = Made("hub start", {"--listen", "none"}, MakeHubOptions);
  EXPECT_EQ(none->listen, Argv{});
  EXPECT_TRUE(none->says_where);
  EXPECT_EQ(Made("hub start", {"--listen", "a", "--listen", "b:1"}, MakeHubOptions)->listen,
            (Argv{"a", "b:1"}));
}

TEST(HubOptions, SilenceOfNodes) {
  auto hub = Made("hub start", {"--suspect-after", "5", "--lost-after", "2m"}, MakeHubOptions);
  ASSERT_TRUE(hub) << hub.error().message;
  EXPECT_EQ(hub->suspect_after, Duration::Seconds(5));
  EXPECT_EQ(hub->lost_after, Duration::Seconds(120));
  for (const Argv& wrong : std::vector<Argv>{{"--suspect-after", "0.5"},
                                             {"--suspect-after", "2d", "--lost-after", "3d"},
                                             {"--lost-after", "14s"}}) {
    EXPECT_FALSE(Made("hub start", wrong, MakeHubOptions));
  }
}

TEST(NodeOptions, OffersAreRead) {
  auto node = Made(
      "node start",
      {"--name",     "n1",  "-j",          "3",      "--cpus",  "2",       "--memory",    "4G",
       "--gpus",     "0,2", "--resource",  "disk=2", "--label", "fast",    "--label",     "big",
       "--lifetime", "2h",  "--idle-exit", "60",     "--users", "ada,bob", "--allow-root"},
      MakeNodeOptions);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->milli_cpus, 2000u);
  EXPECT_EQ(*node->gpus, (Argv{"0", "2"}));
  EXPECT_EQ(node->offers.at(0).indices, (Argv{"0", "1"}));
  EXPECT_EQ(node->labels, (Argv{"big", "fast"}));
  EXPECT_EQ(node->lifetime, Duration::Seconds(7200));
  EXPECT_EQ(node->users, (Argv{"ada", "bob"}));
  EXPECT_TRUE(node->allow_root);
  EXPECT_FALSE(Made("node start", {"--memory", "64"}, MakeNodeOptions));
  EXPECT_FALSE(Made("node start", {"--gpus", "auto"}, MakeNodeOptions)->gpus);
  EXPECT_EQ(Made("node start", {}, MakeNodeOptions)->gang_port, std::nullopt);
  EXPECT_EQ(Made("node start", {"--gang-port", "7001"}, MakeNodeOptions)->gang_port, 7001);
  EXPECT_EQ(Made("node start", {"--gang-port", "none"}, MakeNodeOptions)->gang_port, 0);
  for (const char* port : {"0", "65536", "", "7001x"}) {
    EXPECT_FALSE(Made("node start", {"--gang-port", port}, MakeNodeOptions)) << port;
  }
  EXPECT_FALSE(Made("node start", {"--label", "a b"}, MakeNodeOptions));
  EXPECT_EQ(node->bind, BindTo::kNone);
  EXPECT_EQ(Made("node start", {"--bind", "core"}, MakeNodeOptions)->bind, BindTo::kCore);
  EXPECT_EQ(Made("node start", {"--bind", "numa"}, MakeNodeOptions)->bind, BindTo::kNuma);
  EXPECT_EQ(Made("node start", {"--bind", "none"}, MakeNodeOptions)->bind, BindTo::kNone);
  EXPECT_FALSE(Made("node start", {"--bind", "cpu"}, MakeNodeOptions));
}

TEST(NodeOptions, SlotsAreTasksAtOnce) {
  struct {
    Argv words;
    uint32_t cores, slots, milli_cpus;
  } const kCases[] = {
      {{}, 2, 2, 2000},
      {{}, 0, 1, 1000},
      {{"--slots", "6"}, 2, 6, 6000},
      {{"--slots", "200%"}, 2, 4, 4000},
      {{"--slots", "1"}, 4, 1, 4000},  // one task at once, which may take all
      {{"--cpus", "3"}, 2, 3, 3000},
      {{"--cpus", "2.5"}, 2, 3, 2500},
      {{"--cpus", "1"}, 4, 4, 1000},  // small ones share it
      {{"--slots", "6", "--cpus", "2"}, 2, 6, 2000},
  };
  for (const auto& [words, cores, slots, milli_cpus] : kCases) {
    auto options = Made("node start", words, MakeNodeOptions);
    ASSERT_TRUE(options) << options.error().message;
    const NodeRoom room = RoomOfNode(*options, cores);
    EXPECT_EQ(room.slots, slots) << words.size() << " words, " << cores << " cores";
    EXPECT_EQ(room.milli_cpus, milli_cpus) << words.size() << " words, " << cores << " cores";
  }
}

}  // namespace
}  // namespace spate::cli::command
