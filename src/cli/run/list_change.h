// What a resumed run has to do when its list is not the one that it started with: unchanged tasks
// keep their state, new ones are added, missing ones are withdrawn.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/model/job.h"

namespace spate::cli {

struct ListChange {
  std::vector<TaskRange> missing;  // of the old tasks
  std::vector<TaskRange> kept;     // of the old tasks: they stand in the new list as well
  std::vector<uint32_t> added;     // positions in the new list, ascending
  bool same() const { return missing.empty() && added.empty(); }
};

// Rows in order, one call each.
using RowVisitor = std::function<void(std::string_view row)>;
using RowSource = std::function<void(const RowVisitor&)>;

// Rows are equal byte by byte (compared by a 128-bit hash). Of equal rows the first of the new list
// is the first of the old one, and so on. Memory: 24 bytes a row.
ListChange CompareLists(const RowSource& old_rows, const RowSource& new_rows);

}  // namespace spate::cli
