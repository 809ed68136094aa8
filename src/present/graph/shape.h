// Shape: who follows whom in a graph, looked up in both directions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "present/graph/graph.h"

namespace spate::present {

class Shape {
 public:
  // Linear in tasks and edges. Fails when an edge names a task that does not exist, or when tasks
  // wait for each other in a circle.
  static Result<Shape> Of(const TaskGraph& graph);

  uint32_t tasks() const { return static_cast<uint32_t>(depth_.size()); }
  // Ascending, without repetitions.
  std::span<const TaskIndex> children(TaskIndex task) const { return children_.Of(task); }
  std::span<const TaskIndex> parents(TaskIndex task) const { return parents_.Of(task); }
  size_t edges() const { return children_.others.size(); }
  // All tasks, those of lesser depth first.
  const std::vector<TaskIndex>& order() const { return order_; }
  // Edges of the longest path from a task without parents: 0 for those.
  uint32_t depth(TaskIndex task) const { return depth_[task]; }
  uint32_t depths() const { return depths_; }  // how many different ones there are
  // Tasks and edges looked at on the way.
  uint64_t work() const { return work_; }

 private:
  // The neighbours of task t are others[begin[t]] to others[begin[t + 1] - 1].
  struct Lists {
    std::vector<uint32_t> begin;
    std::vector<TaskIndex> others;
    std::span<const TaskIndex> Of(TaskIndex task) const {
      return std::span(others).subspan(begin[task], begin[task + 1] - begin[task]);
    }
  };

  static Lists Turned(const Lists& lists, uint64_t& work);
  static Lists Unique(const Lists& sorted);
  void SetOrder();

  Lists children_, parents_;
  std::vector<TaskIndex> order_;
  std::vector<uint32_t> depth_;
  uint32_t depths_ = 0;
  uint64_t work_ = 0;
};

}  // namespace spate::present
