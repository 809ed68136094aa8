#include "cli/run/list_change.h"

#include <gtest/gtest.h>

#include <string>

namespace spate::cli {
namespace {

RowSource Rows(std::vector<std::string> rows) {
  return [rows = std::move(rows)](const RowVisitor& visit) {
    for (const std::string& row : rows) visit(row);
  };
}

TEST(CompareLists, EqualListsNeedNothing) {
  ListChange change = CompareLists(Rows({"a", "b", "a"}), Rows({"a", "b", "a"}));
  EXPECT_TRUE(change.same());
  EXPECT_EQ(change.kept, (std::vector<TaskRange>{{0, 3}}));
}

TEST(CompareLists, AnotherOrderIsTheSameTasks) {
  EXPECT_TRUE(CompareLists(Rows({"a", "b"}), Rows({"b", "a"})).same());
}

TEST(CompareLists, NamesMissingAndAddedOnes) {
  ListChange change = CompareLists(Rows({"a", "b", "c", "d"}), Rows({"x", "a", "d", "y"}));
  EXPECT_EQ(change.missing, (std::vector<TaskRange>{{1, 2}}));
  EXPECT_EQ(change.kept, (std::vector<TaskRange>{{0, 1}, {3, 1}}));
  EXPECT_EQ(change.added, (std::vector<uint32_t>{0, 3}));
}

TEST(CompareLists, EqualRowsAreMatchedInOrder) {
  ListChange change = CompareLists(Rows({"a", "a"}), Rows({"a", "a", "a"}));
  EXPECT_EQ(change.added, (std::vector<uint32_t>{2}));
  change = CompareLists(Rows({"a", "a", "a"}), Rows({"a"}));
  EXPECT_EQ(change.missing, (std::vector<TaskRange>{{1, 2}}));
}

}  // namespace
}  // namespace spate::cli
