// Sugiyama's way: levels (BlocksOf), bends and an order of few crossings (Untangle), coordinates
// (Place), then curves. All of it by component; Pack puts these side by side.
#include "present/graph/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "present/graph/rows.h"

namespace spate::present {
namespace {

constexpr double kGridGap = 6;
constexpr double kGridMargin = 10;
constexpr double kGridRatio = 2.6;  // width to height
constexpr double kWideRow = 1200;
constexpr double kLeastGap = 30, kMostGap = 260;  // between rows
constexpr double kTurn = 40;                      // how far an edge swings out to the next column
constexpr double kLane = 5;
constexpr size_t kLanes = 40;
constexpr double kPartGap = 34;
constexpr double kPictureRatio = 1.6;

struct Grid {
  size_t columns, rows;
};

Grid GridOf(size_t tasks, double box_width) {
  double ratio = kGridRatio * (kBoxHeight + kGridGap) / (box_width + kGridGap);
  auto columns = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(tasks) * ratio)));
  columns = std::clamp<size_t>(columns, 1, tasks);
  return {columns, (tasks + columns - 1) / columns};
}

// One component: its rows, and where they end up.
class Part {
 public:
  Part(const Blocks& all, const std::vector<uint32_t>& members, const std::vector<BlockEdge>& edges,
       uint32_t most_span, double box_width)
      : all_(all), box_width_(box_width), rows_(RowsOf(all, members, edges, most_span)) {
    SetSizes();
    Untangle(rows_);
    Place(rows_);
    SetTops();
    Break();
  }

  double width() const { return width_; }
  double height() const { return height_; }
  uint32_t columns() const { return static_cast<uint32_t>(columns_.size()); }
  uint64_t work() const { return rows_.work; }

  // Draws into `layout`, the part's upper left corner at `at`; its edges are those with the numbers
  // `edges` there.
  void Draw(Point at, const std::vector<uint32_t>& edges, Layout& layout) const {
    for (const RowNode& node : rows_.nodes) {
      if (!node.is_bend()) DrawBlock(node, at, layout);
    }
    std::vector<size_t> lanes(columns_.size());
    for (size_t i = 0; i < rows_.chains.size(); ++i) {
      DrawChain(rows_.chains[i], at, lanes, layout.routes[edges[i]]);
    }
  }

 private:
  struct RowSpan {
    double top = 0, bottom = 0;
    bool upright = false;
    uint32_t column = 0;
  };
  struct ColumnSpan {
    double shift = 0;  // of x
    double right = 0;  // of what is in it
  };

  size_t TasksIn(const RowNode& node) const { return all_.blocks[node.block].tasks.size(); }

  void SetSizes() {
    spans_.resize(rows_.rows.size());
    std::vector<size_t> single(rows_.rows.size());
    for (const RowNode& node : rows_.nodes) {
      if (!node.is_bend()) single[node.row] += TasksIn(node) == 1;
    }
    for (size_t i = 0; i < spans_.size(); ++i) {
      spans_[i].upright = static_cast<double>(single[i]) * box_width_ > kWideRow;
    }
    for (RowNode& node : rows_.nodes) {
      if (!node.is_bend()) SetSize(node);
    }
  }

  void SetSize(RowNode& node) {
    node.width = box_width_;
    node.height = kBoxHeight;
    if (TasksIn(node) > 1) {
      Grid grid = GridOf(TasksIn(node), box_width_);
      auto side = [](size_t count, double size) {
        return static_cast<double>(count) * (size + kGridGap) - kGridGap + 2 * kGridMargin;
      };
      node.width = side(grid.columns, box_width_);
      node.height = side(grid.rows, kBoxHeight);
    } else if (spans_[node.row].upright) {
      std::swap(node.width, node.height);
    }
  }

  // The further edges go sideways, the more room they get.
  double GapBelow(size_t row) const {
    double most = 0;
    for (uint32_t at : rows_.rows[row]) {
      for (uint32_t other : rows_.nodes[at].below) {
        most = std::max(most, std::abs(rows_.nodes[at].x - rows_.nodes[other].x));
      }
    }
    return std::clamp(most / 5, kLeastGap, kMostGap);
  }

  void SetTops() {
    double y = 0;
    for (size_t i = 0; i < spans_.size(); ++i) {
      double height = 0;
      for (uint32_t at : rows_.rows[i]) height = std::max(height, rows_.nodes[at].height);
      spans_[i].top = y;
      spans_[i].bottom = y + height;
      y = spans_[i].bottom + GapBelow(i);
    }
  }

  double Left(const RowNode& node) const { return node.x - node.width / 2; }
  double Right(const RowNode& node) const { return node.x + node.width / 2; }

  // How many columns give a picture of a good shape.
  double ColumnHeight() const {
    double left = 1e300, right = -1e300;
    for (const RowNode& node : rows_.nodes) {
      left = std::min(left, Left(node));
      right = std::max(right, Right(node));
    }
    double height = spans_.back().bottom, width = right - left + 60;
    if (height < 1200 || height < 3 * width) return height;
    return height / std::round(std::sqrt(kPictureRatio * height / width));
  }

  void Break() {
    double most = ColumnHeight(), start = 0;
    uint32_t column = 0;
    for (RowSpan& span : spans_) {
      if (span.top > start && span.bottom - start > most) {
        ++column;
        start = span.top;
      }
      span.column = column;
      span.top -= start;
      span.bottom -= start;
    }
    SetColumns(column + 1);
    if (column == 0) return;
    for (RowSpan& span : spans_) {
      span.top += kTurn;
      span.bottom += kTurn;
    }
    height_ += 2 * kTurn;
  }

  void SetColumns(size_t count) {
    columns_.resize(count);
    std::vector<double> left(count, 1e300), right(count, -1e300);
    std::vector<size_t> lanes(count);
    for (const RowNode& node : rows_.nodes) {
      uint32_t column = spans_[node.row].column;
      left[column] = std::min(left[column], Left(node));
      right[column] = std::max(right[column], Right(node));
      for (uint32_t other : node.below) {
        lanes[column] += spans_[rows_.nodes[other].row].column != column;
      }
    }
    double x = 0;
    for (size_t i = 0; i < count; ++i) {
      columns_[i].shift = x - left[i];
      columns_[i].right = x + right[i] - left[i];
      width_ = columns_[i].right;
      x = width_ + 26 + kLane * static_cast<double>(std::min(lanes[i], kLanes));
    }
    for (const RowSpan& span : spans_) height_ = std::max(height_, span.bottom);
  }

  double X(const RowNode& node) const { return node.x + columns_[spans_[node.row].column].shift; }
  double Top(const RowNode& node) const {
    const RowSpan& span = spans_[node.row];
    return node.is_bend() ? span.top : (span.top + span.bottom - node.height) / 2;
  }
  double Bottom(const RowNode& node) const {
    return node.is_bend() ? spans_[node.row].bottom : Top(node) + node.height;
  }

  void DrawBlock(const RowNode& node, Point at, Layout& layout) const {
    Box whole = {X(node) - node.width / 2 + at.x, Top(node) + at.y, node.width, node.height,
                 spans_[node.row].upright};
    const auto& tasks = all_.blocks[node.block].tasks;
    if (tasks.size() == 1) {
      layout.boxes[tasks.front()] = whole;
      return;
    }
    whole.upright = false;
    layout.frames.push_back(whole);
    size_t columns = GridOf(tasks.size(), box_width_).columns;
    for (size_t i = 0; i < tasks.size(); ++i) {
      auto column = static_cast<double>(i % columns), row = static_cast<double>(i / columns);
      layout.boxes[tasks[i]] = {whole.x + kGridMargin + column * (box_width_ + kGridGap),
                                whole.y + kGridMargin + row * (kBoxHeight + kGridGap), box_width_,
                                kBoxHeight, false};
    }
  }

  void DrawChain(const Chain& chain, Point at, std::vector<size_t>& lanes, Route& route) const {
    const RowNode& first = rows_.nodes[chain.nodes.front()];
    route.is_far = chain.is_far;
    route.start = {X(first), Bottom(first)};
    for (size_t i = 1; i < chain.nodes.size(); ++i) {
      const RowNode& from = rows_.nodes[chain.nodes[i - 1]];
      const RowNode& to = rows_.nodes[chain.nodes[i]];
      if (chain.is_far) {
        GoFar(from, to, route);
      } else {
        GoDown(from, to, lanes, route);
      }
    }
    auto move = [&](Point& point) { point = {point.x + at.x, point.y + at.y}; };
    move(route.start);
    for (auto& curve : route.curves) std::for_each(curve.begin(), curve.end(), move);
  }

  void GoFar(const RowNode& from, const RowNode& to, Route& route) const {
    Point a = {X(from), Bottom(from)}, b = {X(to), Top(to)};
    double bend = std::max(kTurn, std::abs(b.y - a.y) / 3);
    route.curves.push_back({Point{a.x, a.y + bend}, Point{b.x, b.y - bend}, b});
  }

  // From the bottom of one row to the top of the next one, and on to the node or through the row.
  void GoDown(const RowNode& from, const RowNode& to, std::vector<size_t>& lanes,
              Route& route) const {
    Point a = {X(from), spans_[from.row].bottom}, b = {X(to), spans_[to.row].top};
    GoStraight(route, a);
    uint32_t column = spans_[from.row].column;
    if (spans_[to.row].column == column) {
      double middle = (a.y + b.y) / 2;
      route.curves.push_back({Point{a.x, middle}, Point{b.x, middle}, b});
    } else {
      double lane =
          columns_[column].right + 13 + kLane * static_cast<double>(lanes[column]++ % kLanes);
      route.curves.push_back({Point{a.x, a.y + kTurn}, Point{lane, a.y + kTurn}, {lane, a.y}});
      GoStraight(route, {lane, b.y});
      route.curves.push_back({Point{lane, b.y - kTurn}, Point{b.x, b.y - kTurn}, b});
    }
    GoStraight(route, {b.x, to.is_bend() ? Bottom(to) : Top(to)});
  }

  static void GoStraight(Route& route, Point to) {
    Point from = route.curves.empty() ? route.start : route.end();
    if (std::abs(from.y - to.y) > 0.05) route.curves.push_back({from, to, to});
  }

  const Blocks& all_;
  double box_width_;
  Rows rows_;
  std::vector<RowSpan> spans_;
  std::vector<ColumnSpan> columns_;
  double width_ = 0, height_ = 0;
};

// The longest edge that may have bends, so that all together have at most kMostBends.
uint32_t MostSpan(const Blocks& all) {
  std::vector<uint32_t> spans;
  for (const BlockEdge& edge : all.edges) {
    spans.push_back(all.blocks[edge.child].level - all.blocks[edge.parent].level);
  }
  std::sort(spans.begin(), spans.end());
  size_t bends = 0;
  for (uint32_t span : spans) {
    bends += span - 1;
    if (bends > kMostBends) return span - 1;
  }
  return ~0u;
}

// In shelves, the highest first.
void Pack(const std::vector<Part>& parts, const std::vector<std::vector<uint32_t>>& edges,
          Layout& layout) {
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts[a].height() > parts[b].height(); });
  double area = 0, widest = 0, x = 0, y = 0, shelf = 0;
  for (const Part& part : parts) {
    area += (part.width() + kPartGap) * (part.height() + kPartGap);
    widest = std::max(widest, part.width());
  }
  double most = std::max(widest, std::sqrt(area * kPictureRatio));
  for (size_t i : order) {
    if (x > 0 && x + parts[i].width() > most) {
      x = 0;
      y += shelf + kPartGap;
      shelf = 0;
    }
    parts[i].Draw({x, y}, edges[i], layout);
    shelf = std::max(shelf, parts[i].height());
    layout.width = std::max(layout.width, x + parts[i].width());
    layout.height = std::max(layout.height, y + shelf);
    x += parts[i].width() + kPartGap;
  }
}

}  // namespace

Layout LayoutOf(const Shape& shape, double box_width) {
  Layout layout;
  layout.blocks = BlocksOf(shape);
  const Blocks& all = layout.blocks;
  layout.boxes.resize(shape.tasks());
  std::vector<std::vector<uint32_t>> members(all.components), numbers(all.components);
  std::vector<std::vector<BlockEdge>> edges(all.components);
  for (uint32_t i = 0; i < all.blocks.size(); ++i) members[all.blocks[i].component].push_back(i);
  for (uint32_t i = 0; i < all.edges.size(); ++i) {
    uint32_t component = all.blocks[all.edges[i].parent].component;
    edges[component].push_back(all.edges[i]);
    numbers[component].push_back(i);
    layout.routes.emplace_back();
    layout.routes.back().parent = all.edges[i].parent;
    layout.routes.back().child = all.edges[i].child;
  }
  std::vector<Part> parts;
  parts.reserve(all.components);
  uint32_t most_span = MostSpan(all);
  for (uint32_t i = 0; i < all.components; ++i) {
    parts.emplace_back(all, members[i], edges[i], most_span, box_width);
    layout.work += parts.back().work();
    layout.columns = std::max(layout.columns, parts.back().columns());
  }
  Pack(parts, numbers, layout);
  return layout;
}

}  // namespace spate::present
