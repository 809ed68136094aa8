#include "plan/list_change.h"

#include <xxhash.h>
#include <algorithm>

#include "core/model/ranges.h"

namespace spate::cli {
namespace {

struct Keyed {
  uint64_t high;
  uint64_t low;
  uint32_t position;
  friend auto operator<=>(const Keyed&, const Keyed&) = default;
};

std::vector<Keyed> SortedKeys(const RowSource& rows) {
  std::vector<Keyed> keys;
  uint32_t position = 0;
  rows([&](std::string_view row) {
    XXH128_hash_t hash = XXH3_128bits(row.data(), row.size());
    keys.push_back({hash.high64, hash.low64, position++});
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<TaskRange> Ranges(std::vector<uint32_t>& indices) {
  std::sort(indices.begin(), indices.end());
  std::vector<TaskRange> ranges;
  for (uint32_t index : indices) AppendIndex(ranges, index);
  return ranges;
}

}  // namespace

ListChange CompareLists(const RowSource& old_rows, const RowSource& new_rows) {
  std::vector<Keyed> old_keys = SortedKeys(old_rows);
  std::vector<Keyed> new_keys = SortedKeys(new_rows);
  auto same_row = [](const Keyed& a, const Keyed& b) { return a.high == b.high && a.low == b.low; };
  auto before = [](const Keyed& a, const Keyed& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  };
  ListChange change;
  std::vector<uint32_t> missing;
  std::vector<uint32_t> kept;
  change.was.resize(new_keys.size(), ListChange::kNew);
  size_t o = 0;
  size_t n = 0;
  while (o < old_keys.size() || n < new_keys.size()) {
    if (n == new_keys.size() || (o < old_keys.size() && before(old_keys[o], new_keys[n]))) {
      missing.push_back(old_keys[o++].position);
    } else if (o == old_keys.size() || !same_row(old_keys[o], new_keys[n])) {
      change.added.push_back(new_keys[n++].position);
    } else {
      kept.push_back(old_keys[o].position);
      change.was[new_keys[n].position] = old_keys[o].position;
      ++o;
      ++n;
    }
  }
  change.missing = Ranges(missing);
  change.kept = Ranges(kept);
  std::sort(change.added.begin(), change.added.end());
  return change;
}

namespace {

// Identity of each task: its row and all that it waits for, hashed along the edges.
std::vector<XXH128_hash_t> Identities(const GraphRows& tasks) {
  std::vector<XXH128_hash_t> known;
  tasks.rows([&](std::string_view row) { known.push_back(XXH3_128bits(row.data(), row.size())); });
  const auto count = static_cast<uint32_t>(known.size());
  std::vector<XXH128_hash_t> of_parents(count);
  VisitInOrder(count, tasks.edges, [&](TaskIndex task, std::span<const TaskIndex> children) {
    const XXH128_hash_t both[] = {known[task], of_parents[task]};
    known[task] = XXH3_128bits(both, sizeof both);
    // A sum, as the order of a task's parents does not matter.
    for (TaskIndex child : children) {
      of_parents[child].low64 += known[task].low64;
      of_parents[child].high64 += known[task].high64;
    }
  });
  return known;
}

RowSource AsRows(const std::vector<XXH128_hash_t>& identities) {
  return [&identities](const RowVisitor& visit) {
    for (const XXH128_hash_t& each : identities) {
      visit({reinterpret_cast<const char*>(&each), sizeof each});
    }
  };
}

}  // namespace

ListChange CompareGraphs(const GraphRows& old_tasks, const GraphRows& new_tasks) {
  if (old_tasks.edges.empty() && new_tasks.edges.empty()) {
    return CompareLists(old_tasks.rows, new_tasks.rows);
  }
  const auto before = Identities(old_tasks);
  const auto now = Identities(new_tasks);
  return CompareLists(AsRows(before), AsRows(now));
}

std::vector<Edge> EdgesOfAdded(std::span<const Edge> new_edges, const ListChange& change,
                               TaskIndex first) {
  std::vector<TaskIndex> number = change.was;
  for (uint32_t position : change.added) number[position] = first++;
  std::vector<Edge> edges;
  for (const Edge& edge : new_edges) {
    if (change.was[edge.child] != ListChange::kNew) continue;
    edges.push_back({number[edge.parent], number[edge.child]});
  }
  return edges;
}

}  // namespace spate::cli
