#include "doors/parasol/formats/machine_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

TEST(MachineListTest, Lines) {
  auto machines = ReadMachineList(
      "# name cpus\n\ntestBad.node.ucsc 2 1024 /tmp /scratch 36000 r1\n"
      "  kkr1u01\t16\t64000\t/tmp\t/scratch\tx\tr2 more\r\n # no\n",
      "machineList", kHubColumns);
  ASSERT_TRUE(machines) << machines.error().message;
  ASSERT_EQ(machines->size(), 2u);
  EXPECT_EQ((*machines)[0],
            (ParasolMachine{"testBad.node.ucsc", 2, 1024, "/tmp", "/scratch", "36000", "r1"}));
  EXPECT_EQ((*machines)[1], (ParasolMachine{"kkr1u01", 16, 64000, "/tmp", "/scratch", "x", "r2"}));

  machines = ReadMachineList("a 3\nb 1 x", "machineList", kNodeStartColumns);
  ASSERT_TRUE(machines) << machines.error().message;
  EXPECT_EQ((*machines)[0], (ParasolMachine{.name = "a", .cpus = 3}));
  EXPECT_EQ((*machines)[1], (ParasolMachine{.name = "b", .cpus = 1}));

  // Columns that nobody needs are read where they make sense.
  machines = ReadMachineList("a 3 1024 /tmp\nb 3 2g /t", "machineList", kNodeStartColumns);
  ASSERT_TRUE(machines) << machines.error().message;
  EXPECT_EQ((*machines)[0], (ParasolMachine{"a", 3, 1024, "/tmp"}));
  EXPECT_EQ((*machines)[1], (ParasolMachine{"b", 3, 0, "/t"}));

  machines = ReadMachineList("a\nb many", "machineList", kNodeNameColumns);
  ASSERT_TRUE(machines) << machines.error().message;
  EXPECT_EQ((*machines)[1], (ParasolMachine{.name = "b"}));
  EXPECT_TRUE(ReadMachineList("", "machineList", kHubColumns)->empty());
}

TEST(MachineListTest, Errors) {
  struct Case {
    std::string_view text;
    size_t columns;
    std::string_view message;
  };
  for (const Case& c : std::vector<Case>{
           {"a 1 2 /t /l 9", kHubColumns,
            "6 columns instead of 7: write name cpus ram in MB tempDir localDir localSize switch"},
           {"a", kNodeStartColumns, "1 columns instead of 2: write name cpus"},
           {"a 0", kNodeStartColumns,
            "'0' is not a number of CPUs; write a whole number, 1 or more"},
           {"a -1", kNodeStartColumns,
            "'-1' is not a number of CPUs; write a whole number, 1 or more"},
           {"a 1.5", kNodeStartColumns,
            "'1.5' is not a number of CPUs; write a whole number, 1 or more"},
           {"a 1 2g /t /l 9 s", kHubColumns,
            "'2g' is not a number of MB; write a whole number, 1 or more"},
           {"-oProxyCommand=x 1", kNodeStartColumns,
            "'-oProxyCommand=x' is not a valid name of a machine; write a letter or digit, then "
            "letters, "
            "digits or any of ._- (at most 255)"},
           {"../a", kNodeNameColumns,
            "'../a' is not a valid name of a machine; write a letter or digit, then letters, "
            "digits or any "
            "of ._- (at most 255)"},
           {"b 1", kNodeStartColumns, "machine b occurs twice; remove this line"}}) {
    auto machines = ReadMachineList("b 1 1 /t /l 9 s\n#\n" + std::string(c.text), "ml", c.columns);
    ASSERT_FALSE(machines) << c.text;
    EXPECT_EQ(machines.error().message, "line 3 of ml: " + std::string(c.message));
  }
}

}  // namespace
}  // namespace spate::parasol
