#include "plan/list_places.h"

#include <gtest/gtest.h>

#include "os/temp_dir.h"

namespace spate::cli {
namespace {

TEST(PlacesInLists, NamesFileAndLine) {
  os::TempDir temp;
  temp.Write("a.lst", "# first\n\ntrue\nfalse\n");
  temp.Write("b.lst", "false\nexit 3");
  temp.Write("c.lst", "exit \\\n4\nexit 5\n");
  std::vector<std::string> files = {"a.lst", "b.lst", "c.lst"};
  struct Row {
    WantedPlace wanted;
    const char* place;
  };
  const Row rows[] = {
      {{0, "true"}, "a.lst:3"},
      {{1, "false"}, "a.lst:4"},
      {{2, "false"}, "b.lst:1"},  // equal lines are told apart by their order
      {{3, "exit 3"}, "b.lst:2"},
      {{4, "exit 4"}, "c.lst:1"},  // it continues in the next line
      {{5, "exit 5"}, "c.lst:3"},
      {{7, "exit 3"}, "b.lst:2"},  // the list has changed, and has one such line
      {{7, "false"}, ""},          // and two of these
      {{1, "gone"}, ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PlacesInLists(temp.path(), files, {row.wanted}), std::vector<std::string>{row.place})
        << row.wanted.index << ' ' << row.wanted.row;
  }
}

TEST(PlacesInLists, ListsEndAtTheLineOfFollowUntil) {
  os::TempDir temp;
  temp.Write("a.lst", "true\nfalse\nEND\nexit 3\n");
  temp.Write("b.lst", "false\n\nexit 3\nEND\n");
  const std::vector<std::string> files = {"a.lst", "b.lst"};
  const std::vector<WantedPlace> wanted = {{1, "false"}, {2, "false"}, {3, "exit 3"}};
  EXPECT_EQ(PlacesInLists(temp.path(), files, wanted, RowKind::kListLine, "END"),
            (std::vector<std::string>{"a.lst:2", "b.lst:1", "b.lst:3"}));
}

TEST(PlacesInLists, AListFromAPipeIsNotRead) {
  os::TempDir temp;
  temp.Write("a.lst", "false\n");
  using Places = std::vector<std::string>;
  EXPECT_EQ(PlacesInLists(temp.path(), {"-"}, {{0, "false"}}), Places{""});
  // Behind one, only the line itself tells.
  EXPECT_EQ(PlacesInLists(temp.path(), {"-", "a.lst"}, {{3, "false"}}), Places{"a.lst:1"});
}

}  // namespace
}  // namespace spate::cli
