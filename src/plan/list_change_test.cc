#include "plan/list_change.h"

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

// ---- Graphs ------------------------------------------------------------------------------------

ListChange Compare(std::vector<std::string> old_rows, std::vector<Edge> old_edges,
                   std::vector<std::string> new_rows, std::vector<Edge> new_edges) {
  return CompareGraphs({Rows(std::move(old_rows)), old_edges},
                       {Rows(std::move(new_rows)), new_edges});
}

TEST(CompareGraphs, TheSameGraphInAnotherOrderNeedsNothing) {
  EXPECT_TRUE(Compare({"a", "b", "c"}, {{0, 1}, {1, 2}}, {"c", "b", "a"}, {{1, 0}, {2, 1}}).same());
}

TEST(CompareGraphs, AChangedTaskRunsAgainWithItsDescendantsAlone) {
  // a -> b -> d, a -> c; b is another one.
  ListChange change = Compare({"a", "b", "c", "d"}, {{0, 1}, {1, 3}, {0, 2}}, {"a", "B", "c", "d"},
                              {{0, 1}, {1, 3}, {0, 2}});
  EXPECT_EQ(change.kept, (std::vector<TaskRange>{{0, 1}, {2, 1}}));
  EXPECT_EQ(change.added, (std::vector<uint32_t>{1, 3}));
}

TEST(CompareGraphs, AnEdgeMoreOrLessIsAChange) {
  ListChange more = Compare({"a", "b", "c"}, {{1, 2}}, {"a", "b", "c"}, {{0, 1}, {1, 2}});
  EXPECT_EQ(more.added, (std::vector<uint32_t>{1, 2}));
  ListChange less = Compare({"a", "b", "c"}, {{0, 1}, {1, 2}}, {"a", "b", "c"}, {{1, 2}});
  EXPECT_EQ(less.added, (std::vector<uint32_t>{1, 2}));
}

// The tasks that are kept keep their numbers, and the added ones come behind all that was.
TEST(CompareGraphs, EdgesOfAddedTasksNameTheKeptOnesByTheirOldNumbers) {
  std::vector<Edge> edges = {{0, 1}, {1, 2}};
  ListChange change = Compare({"a", "b"}, {{0, 1}}, {"a", "b", "c"}, edges);
  EXPECT_EQ(EdgesOfAdded(edges, change, 2), (std::vector<Edge>{{1, 2}}));
  // In the new text "a" stands last.
  edges = {{2, 0}};
  change = Compare({"x", "a"}, {}, {"c", "x", "a"}, edges);
  EXPECT_EQ(EdgesOfAdded(edges, change, 2), (std::vector<Edge>{{1, 2}}));
}

}  // namespace
}  // namespace spate::cli
