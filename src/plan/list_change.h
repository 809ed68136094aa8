// Changes for a resumed run whose list is not the one that it started with: unchanged tasks
// keep their state, new ones are added, missing ones are withdrawn.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/model/graph.h"

namespace spate::cli {

struct ListChange {
  std::vector<TaskRange> missing;  // of the old tasks
  std::vector<TaskRange> kept;     // of the old tasks: they stand in the new list as well
  std::vector<uint32_t> added;     // positions in the new list, ascending
  std::vector<TaskIndex> was;      // of each position of the new list: the old task; kNew
  static constexpr TaskIndex kNew = UINT32_MAX;
  bool same() const { return missing.empty() && added.empty(); }
};

// Rows in order, one call each.
using RowVisitor = std::function<void(std::string_view row)>;
using RowSource = std::function<void(const RowVisitor&)>;

// Rows are equal byte by byte (compared by a 128-bit hash). Of equal rows the first of the new list
// is the first of the old one, and so on. Memory: 28 bytes a row.
ListChange CompareLists(const RowSource& old_rows, const RowSource& new_rows);

// The same where tasks wait for others: a task is kept when its row and all that it waits for, also
// through others, are as before. Neither graph has a cycle.
struct GraphRows {
  const RowSource& rows;
  std::span<const Edge> edges;
};
ListChange CompareGraphs(const GraphRows& old_tasks, const GraphRows& new_tasks);
// The edges of the tasks that were added, which get the numbers from `first` on.
std::vector<Edge> EdgesOfAdded(std::span<const Edge> new_edges, const ListChange& change,
                               TaskIndex first);

}  // namespace spate::cli
