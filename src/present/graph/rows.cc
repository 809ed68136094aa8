#include "present/graph/rows.h"

#include <algorithm>
#include <unordered_map>

namespace spate::present {
namespace {

constexpr int kSweeps = 12;
constexpr int kPatience = 4;  // sweeps without a gain

uint32_t AddNode(Rows& rows, uint32_t block, uint32_t row) {
  rows.nodes.emplace_back();
  rows.nodes.back().block = block;
  rows.nodes.back().row = row;
  return static_cast<uint32_t>(rows.nodes.size() - 1);
}

void Link(Rows& rows, uint32_t upper, uint32_t lower) {
  rows.nodes[upper].below.push_back(lower);
  rows.nodes[lower].above.push_back(upper);
}

void AddChain(Rows& rows, uint32_t parent, uint32_t child, uint32_t most_span) {
  Chain chain;
  uint32_t last = rows.nodes[child].row;
  chain.is_far = last - rows.nodes[parent].row > most_span;
  chain.nodes = {parent};
  for (uint32_t row = rows.nodes[parent].row + 1; !chain.is_far && row < last; ++row) {
    uint32_t bend = AddNode(rows, RowNode::kBend, row);
    Link(rows, chain.nodes.back(), bend);
    chain.nodes.push_back(bend);
  }
  if (!chain.is_far) Link(rows, chain.nodes.back(), child);
  chain.nodes.push_back(child);
  rows.chains.push_back(std::move(chain));
}

// Nodes come into their rows as a walk along the edges meets them: what belongs together begins
// side by side.
void FillRows(Rows& rows) {
  uint32_t count = 0;
  for (const RowNode& node : rows.nodes) count = std::max(count, node.row + 1);
  rows.rows.resize(count);
  std::vector<bool> met(rows.nodes.size());
  std::vector<uint32_t> stack;
  for (uint32_t start = 0; start < rows.nodes.size(); ++start) {
    if (rows.nodes[start].above.empty()) stack.push_back(start);
    while (!stack.empty()) {
      uint32_t at = stack.back();
      stack.pop_back();
      if (met[at]) continue;
      met[at] = true;
      rows.rows[rows.nodes[at].row].push_back(at);
      const auto& below = rows.nodes[at].below;
      stack.insert(stack.end(), below.rbegin(), below.rend());
    }
  }
}

std::vector<uint32_t> Positions(const Rows& rows) {
  std::vector<uint32_t> positions(rows.nodes.size());
  for (const auto& row : rows.rows) {
    for (uint32_t i = 0; i < row.size(); ++i) positions[row[i]] = i;
  }
  return positions;
}

// Orders one row by the middle of each node's neighbours on one side; who has none stays.
void SortRow(Rows& rows, std::vector<uint32_t>& row, std::vector<uint32_t>& positions, bool down) {
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t at : row) {
    const auto& others = down ? rows.nodes[at].above : rows.nodes[at].below;
    double sum = 0;
    for (uint32_t other : others) sum += positions[other];
    double own = positions[at];
    keys.emplace_back(others.empty() ? own : sum / static_cast<double>(others.size()), at);
    rows.work += 1 + others.size();
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (uint32_t i = 0; i < row.size(); ++i) {
    row[i] = keys[i].second;
    positions[row[i]] = i;
  }
}

void Sweep(Rows& rows, bool down) {
  std::vector<uint32_t> positions = Positions(rows);
  size_t count = rows.rows.size();
  for (size_t i = 1; i < count; ++i) {
    SortRow(rows, rows.rows[down ? i : count - 1 - i], positions, down);
  }
}

// Sums of counts up to a place, in logarithmic time (Fenwick).
class Tally {
 public:
  explicit Tally(size_t size) : sums_(size + 1) {}
  void Add(size_t place) {
    for (size_t i = place + 1; i < sums_.size(); i += i & -i) ++sums_[i];
  }
  uint64_t UpTo(size_t place) const {
    uint64_t sum = 0;
    for (size_t i = place + 1; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<uint32_t> sums_;
};

}  // namespace

Rows RowsOf(const Blocks& all, const std::vector<uint32_t>& members,
            const std::vector<BlockEdge>& edges, uint32_t most_span) {
  Rows rows;
  std::unordered_map<uint32_t, uint32_t> node_of;
  uint32_t top = ~0u;
  for (uint32_t block : members) top = std::min(top, all.blocks[block].level);
  for (uint32_t block : members) {
    node_of[block] = AddNode(rows, block, all.blocks[block].level - top);
  }
  for (const BlockEdge& edge : edges) {
    AddChain(rows, node_of.at(edge.parent), node_of.at(edge.child), most_span);
  }
  FillRows(rows);
  return rows;
}

uint64_t Crossings(const Rows& rows) {
  std::vector<uint32_t> positions = Positions(rows);
  uint64_t crossings = 0;
  for (size_t i = 0; i + 1 < rows.rows.size(); ++i) {
    Tally seen(rows.rows[i + 1].size());
    uint64_t edges = 0;
    for (uint32_t at : rows.rows[i]) {
      const auto& below = rows.nodes[at].below;
      for (uint32_t other : below) crossings += edges - seen.UpTo(positions[other]);
      for (uint32_t other : below) seen.Add(positions[other]);
      edges += below.size();
    }
  }
  return crossings;
}

void Untangle(Rows& rows) {
  auto best = rows.rows;
  uint64_t least = Crossings(rows);
  int without_gain = 0;
  for (int i = 0; i < kSweeps && least > 0 && without_gain < kPatience; ++i) {
    Sweep(rows, i % 2 == 0);
    uint64_t crossings = Crossings(rows);
    ++without_gain;
    if (crossings >= least) continue;
    least = crossings;
    best = rows.rows;
    without_gain = 0;
  }
  rows.rows = std::move(best);
}

}  // namespace spate::present
