#include "present/graph/blocks.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace spate::present {
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
    bool is_lone = shape.parents(grid.front()).empty() && shape.children(grid.front()).empty();
    if (grid.size() >= (is_lone ? kLeastLoneGrid : kLeastGrid)) grids.push_back(std::move(grid));
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

void SetEdges(const Shape& shape, Blocks& all) {
  all.edges.clear();
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    for (TaskIndex child : shape.children(task)) all.edges.push_back({all.of[task], all.of[child]});
  }
  std::sort(all.edges.begin(), all.edges.end());
  all.edges.erase(std::unique(all.edges.begin(), all.edges.end()), all.edges.end());
}

// Blocks without parents would be at the top, with edges across half the picture.
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

// Says which blocks of wide levels become one, from the bottom up: those that lead into the same.
class Joiner {
 public:
  explicit Joiner(const Blocks& all) : all_(all), children_(all.blocks.size()) {
    for (const BlockEdge& edge : all.edges) children_[edge.parent].push_back(edge.child);
    for (uint32_t i = 0; i < all.blocks.size(); ++i) {
      levels_[{all.blocks[i].level, all.blocks[i].component}].push_back(i);
    }
  }

  // By block, the one that takes its tasks.
  std::vector<uint32_t> Find() {
    into_.resize(all_.blocks.size());
    std::iota(into_.begin(), into_.end(), 0u);
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      if (level->second.size() > kWideLevel) JoinLevel(level->second);
    }
    return std::move(into_);
  }

 private:
  void JoinLevel(const std::vector<uint32_t>& blocks) {
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> alike;
    for (uint32_t block : blocks) {
      std::vector<uint32_t> key;
      for (uint32_t child : children_[block]) key.push_back(into_[child]);
      std::sort(key.begin(), key.end());
      key.erase(std::unique(key.begin(), key.end()), key.end());
      alike[key].push_back(block);
    }
    for (const auto& [key, same] : alike) {
      if (same.size() < kLeastGrid) continue;
      for (uint32_t block : same) into_[block] = same.front();
    }
  }

  const Blocks& all_;
  std::vector<std::vector<uint32_t>> children_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> levels_;
  std::vector<uint32_t> into_;
};

void JoinWideLevels(const Shape& shape, Blocks& all) {
  std::vector<uint32_t> into = Joiner(all).Find();
  std::vector<Block> blocks;
  std::vector<uint32_t> number(all.blocks.size());
  for (uint32_t i = 0; i < all.blocks.size(); ++i) {
    auto& tasks = all.blocks[i].tasks;
    if (into[i] == i) {
      number[i] = static_cast<uint32_t>(blocks.size());
      blocks.push_back(std::move(all.blocks[i]));
    } else {
      auto& taken = blocks[number[into[i]]].tasks;
      taken.insert(taken.end(), tasks.begin(), tasks.end());
    }
  }
  for (Block& block : blocks) std::sort(block.tasks.begin(), block.tasks.end());
  for (uint32_t& block : all.of) block = number[into[block]];
  all.blocks = std::move(blocks);
  SetEdges(shape, all);
}

}  // namespace

Blocks BlocksOf(const Shape& shape) {
  Blocks all;
  Divide(shape, all);
  SetEdges(shape, all);
  NumberComponents(all);
  JoinWideLevels(shape, all);
  LowerSources(shape, all);
  return all;
}

}  // namespace spate::present
