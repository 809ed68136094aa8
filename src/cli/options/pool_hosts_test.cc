#include "cli/options/pool_hosts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/model/name.h"

namespace spate::cli {
namespace {

TEST(PoolHosts, AHostMayHaveSlots) {
  struct Case {
    std::string_view text;
    PoolHost host;
  };
  const Case kCases[] = {{"pc1", {"pc1", 0}},
                         {"pc1:4", {"pc1", 4}},
                         {"ann@pc1.example.org:16", {"ann@pc1.example.org", 16}},
                         {"10.0.0.7", {"10.0.0.7", 0}},
                         {"fe80::1", {"fe80::1", 0}},
                         {"[fe80::1]", {"fe80::1", 0}},
                         {"[fe80::1%eth0]:8", {"fe80::1%eth0", 8}},
                         {"ann@[::1]:2", {"ann@::1", 2}}};
  for (const Case& each : kCases) {
    auto host = ParseHost(each.text);
    ASSERT_TRUE(host) << each.text << ": " << host.error().message;
    EXPECT_EQ(*host, each.host) << each.text;
  }
  for (const char* wrong : {"", "pc1:", "pc1:0", "pc1:x", "pc1:-1", "-oProxyCommand=x", "pc 1",
                            "pc1;ls", "$(ls)", "[::1", "[::1]4", "x[::1]", "ann@", "4/pc1", ":4"}) {
    EXPECT_FALSE(ParseHost(wrong)) << wrong;
  }
}

TEST(PoolHosts, AreReadFromAFile) {
  std::string path = testing::TempDir() + "spate-pool-hosts";
  std::ofstream(path) << "# the lab\npc1\n  pc2:4   # the big one\n\r\n[::1]:2\n";
  auto hosts = ReadHosts(path);
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_EQ(*hosts, (std::vector<PoolHost>{{"pc1", 0}, {"pc2", 4}, {"::1", 2}}));
  std::ofstream(path) << "pc1\npc2 4\n";
  hosts = ReadHosts(path);
  ASSERT_FALSE(hosts);
  EXPECT_TRUE(hosts.error().message.starts_with(path + ":2: 'pc2 4' is not a host"))
      << hosts.error().message;
  std::ofstream(path) << "# nobody\n";
  EXPECT_FALSE(ReadHosts(path));
  std::filesystem::remove(path);
  EXPECT_FALSE(ReadHosts(path));
}

TEST(PoolHosts, OrFromTheWord) {
  auto hosts = ReadHosts("pc1,pc2:4,");
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_EQ(*hosts, (std::vector<PoolHost>{{"pc1", 0}, {"pc2", 4}}));
  EXPECT_FALSE(ReadHosts(","));
  EXPECT_EQ(ReadHosts("pc1,pc1:4").error().message, "pc1 is named twice");
}

TEST(PoolHosts, EachHasANameOfItsOwn) {
  std::vector<PoolHost> hosts = {{"pc1", 0},
                                 {"ann@pc1", 0},
                                 {"pc.1", 0},
                                 {"pc-1", 0},
                                 {"node17.cluster.somewhere.example.org", 0},
                                 {"averyveryverylongnamewithoutanydots1", 0},
                                 {"averyveryverylongnamewithoutanydots2", 0},
                                 {"::1", 0}};
  auto names = PoolNamesOf("lab", hosts);
  EXPECT_EQ(names, (std::vector<std::string>{"lab-pc1", "lab-pc1-2", "lab-pc-1", "lab-pc-1-2",
                                             "lab-node17", "lab-averyveryverylongnamewitho",
                                             "lab-averyveryverylongnamewit-2", "lab---1"}));
  for (const std::string& name : names) EXPECT_TRUE(CheckPoolName(name)) << name;
}

}  // namespace
}  // namespace spate::cli
