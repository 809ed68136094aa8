#include "present/graph/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate::present {

// Turns all edges around: every task with t in its list enters the list of t, in ascending order.
Shape::Lists Shape::Turned(const Lists& lists, uint64_t& work) {
  Lists turned;
  auto tasks = static_cast<TaskIndex>(lists.begin.size() - 1);
  turned.begin.assign(tasks + 1, 0);
  for (TaskIndex other : lists.others) ++turned.begin[other + 1];
  for (TaskIndex task = 0; task < tasks; ++task) turned.begin[task + 1] += turned.begin[task];
  turned.others.resize(lists.others.size());
  std::vector<uint32_t> next(turned.begin.begin(), turned.begin.end() - 1);
  for (TaskIndex task = 0; task < tasks; ++task) {
    for (TaskIndex other : lists.Of(task)) turned.others[next[other]++] = task;
  }
  work += tasks + lists.others.size();
  return turned;
}

Shape::Lists Shape::Unique(const Lists& sorted) {
  Lists unique;
  unique.others.reserve(sorted.others.size());
  unique.begin = {0};
  for (TaskIndex task = 0; task + 1 < sorted.begin.size(); ++task) {
    auto list = sorted.Of(task);
    std::unique_copy(list.begin(), list.end(), std::back_inserter(unique.others));
    unique.begin.push_back(static_cast<uint32_t>(unique.others.size()));
  }
  return unique;
}

void Shape::SetOrder() {
  depth_.assign(children_.begin.size() - 1, 0);
  std::vector<uint32_t> missing(tasks());
  order_.reserve(tasks());
  for (TaskIndex task = 0; task < tasks(); ++task) {
    missing[task] = static_cast<uint32_t>(parents(task).size());
    if (missing[task] == 0) order_.push_back(task);
  }
  for (size_t at = 0; at < order_.size(); ++at) {
    uint32_t depth = depth_[order_[at]];
    depths_ = depth + 1;
    for (TaskIndex child : children(order_[at])) {
      depth_[child] = depth + 1;  // the last parent in the queue is the deepest
      if (--missing[child] == 0) order_.push_back(child);
      ++work_;
    }
    ++work_;
  }
}

Result<Shape> Shape::Of(const TaskGraph& graph) {
  size_t tasks = graph.tasks.size();
  Lists by_edge;  // the children of each parent, as they come
  by_edge.begin.assign(tasks + 1, 0);
  for (const Edge& edge : graph.edges) {
    if (std::max(edge.parent, edge.child) >= tasks) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("task {} waits for task {}, but there are only {}",
                              uint64_t{edge.child} + 1, uint64_t{edge.parent} + 1, tasks));
    }
    ++by_edge.begin[edge.parent + 1];
  }
  for (size_t task = 0; task < tasks; ++task) by_edge.begin[task + 1] += by_edge.begin[task];
  by_edge.others.resize(graph.edges.size());
  std::vector<uint32_t> next(by_edge.begin.begin(), by_edge.begin.end() - 1);
  for (const Edge& edge : graph.edges) by_edge.others[next[edge.parent]++] = edge.child;

  Shape shape;
  shape.parents_ = Unique(Turned(by_edge, shape.work_));
  shape.children_ = Turned(shape.parents_, shape.work_);
  shape.SetOrder();
  if (shape.order_.size() < tasks) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} of {} tasks wait for each other in a circle, or for such tasks",
                            tasks - shape.order_.size(), tasks));
  }
  return shape;
}

}  // namespace spate::present
