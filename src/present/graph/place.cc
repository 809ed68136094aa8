// Each row in turn takes the places that are nearest to what its nodes wish, in the sense of least
// squares, among those that keep order and distances. With the distances taken off, that is a
// regression to an ascending row: neighbours that would pass each other move as one pool to the
// mean of their wishes. Linear in the row.
#include <algorithm>

#include "present/graph/rows.h"

namespace spate::present {
namespace {

constexpr int kPasses = 8;       // down and up in turn, then
constexpr int kPassesBoth = 30;  // with an eye to both sides
constexpr double kBoxGap = 12;
constexpr double kBendGap = 7;

struct Wish {
  double x = 0;
  double weight = 1;
};

double Distance(const RowNode& left, const RowNode& right) {
  bool bends = left.is_bend() && right.is_bend();
  return (left.width + right.width) / 2 + (bends ? kBendGap : kBoxGap);
}

struct Pool {
  double sum = 0, weight = 0;
  size_t count = 0;
  double mean() const { return sum / weight; }
};

void Settle(Rows& rows, const std::vector<uint32_t>& row, const std::vector<Wish>& wishes) {
  std::vector<double> offsets(row.size());
  std::vector<Pool> pools;
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) {
      offsets[i] = offsets[i - 1] + Distance(rows.nodes[row[i - 1]], rows.nodes[row[i]]);
    }
    pools.push_back({(wishes[i].x - offsets[i]) * wishes[i].weight, wishes[i].weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() >= pools.back().mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  size_t at = 0;
  for (const Pool& pool : pools) {
    for (size_t end = at + pool.count; at < end; ++at) {
      rows.nodes[row[at]].x = pool.mean() + offsets[at];
    }
  }
}

// How much two neighbours pull at each other: what has nobody else on that side stands straight
// below, as all the bends of an edge do.
double Pull(const RowNode& upper, const RowNode& lower) {
  if (upper.below.size() == 1 && lower.above.size() == 1) return 8;
  return upper.is_bend() || lower.is_bend() ? 2 : 1;
}

Wish WishOf(const Rows& rows, uint32_t at, bool from_above, bool from_below) {
  static const std::vector<uint32_t> kNobody;
  const RowNode& node = rows.nodes[at];
  double sum = 0, weight = 0;
  auto add = [&](double x, double pull) {
    sum += pull * x;
    weight += pull;
  };
  for (uint32_t other : from_above ? node.above : kNobody) {
    add(rows.nodes[other].x, Pull(rows.nodes[other], node));
  }
  for (uint32_t other : from_below ? node.below : kNobody) {
    add(rows.nodes[other].x, Pull(node, rows.nodes[other]));
  }
  return weight == 0 ? Wish{node.x, 0.1} : Wish{sum / weight, weight};
}

void Pass(Rows& rows, bool from_above, bool from_below) {
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const auto& row = rows.rows[from_above ? i : rows.rows.size() - 1 - i];
    std::vector<Wish> wishes;
    for (uint32_t at : row) {
      wishes.push_back(WishOf(rows, at, from_above, from_below));
      rows.work += 1 + rows.nodes[at].above.size() + rows.nodes[at].below.size();
    }
    Settle(rows, row, wishes);
  }
}

}  // namespace

void Place(Rows& rows) {
  for (const auto& row : rows.rows) {
    Settle(rows, row, std::vector<Wish>(row.size()));  // all as near to 0 as they can be
  }
  for (int i = 0; i < kPasses; ++i) Pass(rows, i % 2 == 0, i % 2 == 1);
  for (int i = 0; i < kPassesBoth; ++i) Pass(rows, true, true);
}

}  // namespace spate::present
