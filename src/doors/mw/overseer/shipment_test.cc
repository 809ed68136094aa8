#include "doors/mw/overseer/shipment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doors/mw/overseer/slaves.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::mw {
namespace {

class ShipmentTest : public testing::Test {
 protected:
  ShipmentTest() {
    for (const char* name : {"ping", "libx.so"}) {
      EXPECT_TRUE(os::WriteFile(os::JoinPath(dir_.path(), name), name));
    }
  }
  std::string Path(const std::string& name) { return os::JoinPath(dir_.path(), name); }
  ResourceFile File() {
    return {.timestamp = 1'795'000'000,
            .slaves_needed = 3,
            .executable = Path("ping"),
            .libraries = {Path("libx.so")},
            .slave_arguments = SlaveArguments("head", 47'416)};
  }
  Shipment Make(const ResourceFile& file, bool ship) {
    auto made = MakeShipment(file, {.path = Path("search.rsc"),
                                    .cwd = "/home/ann",
                                    .environment = {"A=1", "LD_LIBRARY_PATH=/opt/lib"},
                                    .ship = ship});
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(Shipment());
  }
  os::TempDir dir_;
};

using Words = std::vector<std::string>;

TEST_F(ShipmentTest, WhereFilesAreSharedTheyStayWhereTheyAre) {
  Shipment made = Make(File(), false);
  EXPECT_EQ(made.settings.command,
            (Words{Path("ping"), "--mw-slave", "--mw-resource-file", Path("search.rsc")}));
  EXPECT_EQ(made.settings.cwd, "/home/ann");
  EXPECT_FALSE(made.settings.has_own_folder());
  EXPECT_TRUE(made.pieces.empty());
}

// CL-MW waits for a slave alone: what the slave started and left running does not delay its end.
TEST_F(ShipmentTest, WhatASlaveLeavesRunningIsEnded) {
  for (bool ship : {false, true}) {
    EXPECT_EQ(Make(File(), ship).settings.leftovers, Leftovers::kEnd);
  }
}

TEST_F(ShipmentTest, ElseTheyTravel) {
  Shipment made = Make(File(), true);
  EXPECT_EQ(made.settings.command,
            (Words{"./ping", "--mw-slave", "--mw-resource-file", "search.rsc"}));
  EXPECT_EQ(made.settings.put_patterns, (Words{"ping", "libx.so", "search.rsc"}));
  EXPECT_EQ(made.settings.environment, (Words{"A=1", "LD_LIBRARY_PATH=.:/opt/lib"}));
  ASSERT_EQ(made.settings.puts.size(), 3u);
  EXPECT_EQ(made.settings.puts[0],
            (PutFile{.name = "libx.so", .mode = 0755, .size = 7, .first_piece = 1}));
  EXPECT_EQ(made.settings.puts[1].name, "ping");
  EXPECT_EQ(made.settings.puts[2].mode, 0600u);
  EXPECT_EQ(made.pieces, (Words{"ping", "libx.so", WriteResourceFile(File())}));
}

TEST_F(ShipmentTest, OnlyOtherSlavesAreAnotherJob) {
  struct Case {
    std::string name;
    ResourceFile file;
    bool same;
  };
  std::vector<Case> cases = {{"written anew", File(), true},
                             {"another port", File(), false},
                             {"another member", File(), false}};
  cases[0].file.timestamp += 300;
  cases[0].file.slaves_needed = 7;
  cases[0].file.finished = true;
  cases[1].file.slave_arguments = SlaveArguments("head", 1);
  cases[2].file.member_id = "run.18";
  for (const Case& each : cases) {
    for (bool ship : {false, true}) {
      const ShipmentSettings how{.path = Path("search.rsc"), .cwd = "/", .ship = ship};
      bool same = IdentityOf(each.file, how) == IdentityOf(File(), how);
      EXPECT_EQ(same, each.same) << each.name << ship;
    }
  }
  EXPECT_NE(IdentityOf(File(), {.path = "/a", .ship = true}), IdentityOf(File(), {.path = "/a"}));
  EXPECT_NE(IdentityOf(File(), {.path = "/a"}), IdentityOf(File(), {.path = "/b"}));
  EXPECT_NE(IdentityOf(File(), {.path = "/a"}),
            IdentityOf(File(), {.path = "/a", .offers = {"x"}}));
}

TEST_F(ShipmentTest, SlavesAreToldWhatTheyMayOffer) {
  const Needs needs{.memory = 4096, .named = {{"gpus", 2}, {"tape", 1}}, .labels = {"a", "b"}};
  const Words words = OfferWords(4, needs);
  EXPECT_EQ(words, (Words{"--mw-slots", "4", "--mw-memory", "4096", "--mw-resource", "gpus=2",
                          "--mw-resource", "tape=1", "--mw-label", "a", "--mw-label", "b"}));
  EXPECT_EQ(OfferWords(1, Needs()), (Words{"--mw-slots", "1"}));
  EXPECT_EQ(OfferWords(std::nullopt, needs), Words());  // earlier programs do not know them
  for (bool ship : {false, true}) {
    ShipmentSettings how{.path = Path("search.rsc"), .cwd = "/", .ship = ship, .offers = words};
    auto made = MakeShipment(File(), how);
    ASSERT_TRUE(made);
    EXPECT_EQ(Words(made->settings.command.begin() + 4, made->settings.command.end()), words);
    how.offers.clear();
    made = MakeShipment(File(), how);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->settings.command.size(), 4u);
  }
}

TEST_F(ShipmentTest, TellsWhatCannotTravel) {
  ResourceFile gone = File();
  gone.executable = Path("pong");
  ResourceFile twice = File();
  twice.libraries = {Path("ping")};
  ResourceFile brace = File();
  brace.libraries = {Path("lib{}.so")};
  ASSERT_TRUE(os::WriteFile(brace.libraries[0], ""));
  for (const ResourceFile& file : {gone, twice, brace}) {
    EXPECT_FALSE(MakeShipment(file, {.path = Path("search.rsc"), .cwd = "/", .ship = true}));
  }
}

TEST(SlavesTest, TextsOfEnds) {
  EXPECT_EQ(TextOfEnd(255), "with exit code 255");
  EXPECT_EQ(TextOfEnd(137), "by SIGKILL");
  EXPECT_EQ(LastWords("one\ntwo\x1b\n\n"), "two\\x1b");
  EXPECT_EQ(LastWords(" \n"), "");
}

}  // namespace
}  // namespace spate::mw
