#include "cli/graph/blocks.h"

#include <algorithm>
#include <numeric>

namespace spate::cli {
namespace {

constexpr uint32_t kNone = ~0u;

uint64_t Mixed(uint64_t hash, std::span<const TaskIndex> tasks) {
  for (TaskIndex task : tasks) hash = (hash ^ (task + 1)) * 0x100000001b3u;
  return hash * 31 + tasks.size();
}

bool SameNeighbours(const Shape& shape, TaskIndex a, TaskIndex b) {
  return std::ranges::equal(shape.parents(a), shape.parents(b)) &&
         std::ranges::equal(shape.children(a), shape.children(b));
}

// The tasks that share a grid, each list ascending.
std::vector<std::vector<TaskIndex>> GridsOf(const Shape& shape) {
  std::vector<std::pair<uint64_t, TaskIndex>> keys(shape.tasks());
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    keys[task] = {Mixed(Mixed(1, shape.parents(task)), shape.children(task)), task};
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::vector<TaskIndex>> grids;
  for (size_t first = 0, end; first < keys.size(); first = end) {
    std::vector<TaskIndex> grid;
    for (end = first; end < keys.size() && keys[end].first == keys[first].first; ++end) {
      if (SameNeighbours(shape, keys[first].second, keys[end].second)) {
        grid.push_back(keys[end].second);
      }
    }
    if (grid.size() >= kLeastGrid) grids.push_back(std::move(grid));
  }
  return grids;
}

void Divide(const Shape& shape, Blocks& all) {
  all.of.assign(shape.tasks(), kNone);
  std::vector<uint32_t> grid_of(shape.tasks(), kNone);
  auto grids = GridsOf(shape);
  for (uint32_t grid = 0; grid < grids.size(); ++grid) {
    for (TaskIndex task : grids[grid]) grid_of[task] = grid;
  }
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    if (all.of[task] != kNone) continue;
    Block block;
    block.level = shape.depth(task);
    block.tasks = grid_of[task] == kNone ? std::vector{task} : grids[grid_of[task]];
    for (TaskIndex one : block.tasks) all.of[one] = static_cast<uint32_t>(all.blocks.size());
    all.blocks.push_back(std::move(block));
  }
}

void Join(const Shape& shape, Blocks& all) {
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    for (TaskIndex child : shape.children(task)) all.edges.push_back({all.of[task], all.of[child]});
  }
  std::sort(all.edges.begin(), all.edges.end());
  all.edges.erase(std::unique(all.edges.begin(), all.edges.end()), all.edges.end());
}

// What has no parents would stand at the top, its edges across half the picture.
void LowerSources(const Shape& shape, Blocks& all) {
  std::vector<uint32_t> least(all.blocks.size(), kNone);
  for (const BlockEdge& edge : all.edges) {
    least[edge.parent] = std::min(least[edge.parent], all.blocks[edge.child].level);
  }
  for (size_t i = 0; i < all.blocks.size(); ++i) {
    bool is_source = shape.parents(all.blocks[i].tasks.front()).empty();
    if (is_source && least[i] != kNone) all.blocks[i].level = least[i] - 1;
  }
}

void NumberComponents(Blocks& all) {
  std::vector<uint32_t> leader(all.blocks.size());
  std::iota(leader.begin(), leader.end(), 0u);
  auto lead = [&](uint32_t block) {
    while (leader[block] != block) block = leader[block] = leader[leader[block]];
    return block;
  };
  for (const BlockEdge& edge : all.edges) {
    uint32_t a = lead(edge.parent), b = lead(edge.child);
    leader[std::max(a, b)] = std::min(a, b);
  }
  for (uint32_t i = 0; i < all.blocks.size(); ++i) {
    uint32_t first = lead(i);  // the lowest of them, so it has its number already
    all.blocks[i].component = first == i ? all.components++ : all.blocks[first].component;
  }
}

}  // namespace

Blocks BlocksOf(const Shape& shape) {
  Blocks all;
  Divide(shape, all);
  Join(shape, all);
  LowerSources(shape, all);
  NumberComponents(all);
  return all;
}

}  // namespace spate::cli
