#include "doors/mw/formats/options.h"

#include <gtest/gtest.h>

namespace spate::mw {
namespace {

std::expected<Options, Ending> Read(std::vector<std::string> args) {
  args.insert(args.begin(), "prog");
  return ReadOptions(args, "1.2.3");
}

std::string Trouble(std::vector<std::string> args) {
  auto read = Read(std::move(args));
  return read ? "" : read.error().text;
}

TEST(MwOptionsTest, OursAreTakenOut) {
  auto read = Read({"--MW-Master", "-n", "5", "--mw-slave-task-group", "100", "file", "--",
                    "--mw-member-id", "run.17", "--other"});
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_master);
  EXPECT_EQ(read->rest, (std::vector<std::string>{"prog", "-n", "5", "file", "--", "--other"}));
  EXPECT_EQ(read->task_group, 100u);
  EXPECT_EQ(read->member_id, "run.17");
}

TEST(MwOptionsTest, Defaults) {
  auto read = Read({"--mw-master"});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->member_id, "default-member-id");
  EXPECT_EQ(read->client_timeout, Duration::Seconds(60));
  EXPECT_EQ(read->update_interval, Duration::Seconds(300));
  EXPECT_EQ(read->task_group, 1u);
  EXPECT_FALSE(read->result_group);
  EXPECT_EQ(read->resource_file + read->audit_file + read->access_file + read->state_dir, "");
}

TEST(MwOptionsTest, TheModeComesFirst) {
  EXPECT_EQ(Trouble({}), Usage("prog"));
  EXPECT_EQ(Trouble({"x", "--mw-master"}), Usage("prog"));
  EXPECT_EQ(Trouble({"--mw-slave", "--mw-help"}), Usage("prog"));
  EXPECT_EQ(Trouble({"--mw-version-string"}), "1.2.3\n");
}

TEST(MwOptionsTest, OfASlaveTheOrderCounts) {
  auto read = Read({"--mw-slave", "--mw-master-host", "a", "--mw-resource-file", "f",
                    "--mw-master-port", "7", "--mw-member-id", "m"});
  ASSERT_TRUE(read);
  const std::vector<Where> expected = {MasterHost{"a"}, FromFile{"f"}, MasterPort{7},
                                       MemberId{"m"}};
  EXPECT_EQ(read->where, expected);
}

TEST(MwOptionsTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(Trouble({"--mw-slave"}),
            "prog: a slave needs --mw-master-host and --mw-master-port, or --mw-resource-file; see "
            "prog --mw-help\n");
  EXPECT_EQ(Trouble({"--mw-master", "--mw-nonsense", "1"}),
            "prog: there is no option --mw-nonsense; see prog --mw-help\n");
  EXPECT_EQ(Trouble({"--mw-master", "--mw-audit-file"}),
            "prog: --mw-audit-file needs a value; see prog --mw-help\n");
  for (const char* wrong : {"0", "-1", "x", "", "99999999999999999999"}) {
    EXPECT_NE(Trouble({"--mw-master", "--mw-slave-task-group", wrong}), "") << wrong;
    EXPECT_NE(Trouble({"--mw-master", "--mw-client-timeout", wrong}), "") << wrong;
  }
  EXPECT_NE(Trouble({"--mw-slave", "--mw-master-host", "h", "--mw-master-port", "65536"}), "");
}

}  // namespace
}  // namespace spate::mw
