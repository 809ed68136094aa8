// The edges among the tasks of a job, as its engine needs them: the children of a task, and how
// many parents of a task have not succeeded. Nothing is kept of a job without edges; else 12 bytes
// for a task and an edge.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/engine/rare.h"
#include "core/model/graph.h"

namespace spate::engine {

class TaskGraph {
 public:
  bool empty() const { return runs_.empty(); }
  size_t edge_count() const { return runs_.size(); }
  // Parents of the task that have not succeeded.
  uint32_t Left(TaskIndex child) const { return child < left_.size() ? left_[child] : 0; }
  bool HasChildren(TaskIndex parent) const { return parent < first_.size() && first_[parent] != 0; }
  // visit(child), in the order in which the edges came.
  template <typename Visit>
  void ForChildren(TaskIndex parent, Visit&& visit) const {
    if (!HasChildren(parent)) return;
    ForRun(first_[parent] - 1, visit);
    auto [more, end] = more_->equal_range(parent);
    for (; more != end; ++more) ForRun(more->second, visit);
  }

  // The job has so many tasks. Edges of one parent are best neighbours. `counts(edge)`: the parent
  // has not succeeded.
  template <typename Counts>
  void Add(uint32_t tasks, std::span<const Edge> edges, Counts&& counts) {
    if (edges.empty()) return;
    first_.resize(tasks);
    left_.resize(tasks);
    for (size_t at = 0; at < edges.size();) at = AddRun(edges, at);
    for (const Edge& edge : edges) {
      if (counts(edge)) ++left_[edge.child];
    }
  }
  // A parent has succeeded: what is left.
  uint32_t Meet(TaskIndex child) { return --left_[child]; }
  // A parent that had succeeded runs again.
  void Miss(TaskIndex child) { ++left_[child]; }

  uint64_t Digest() const;
  uint64_t StateBytes() const;
  // core/model/image.h
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    auto& [runs, first, more, left] = self;
    archive(runs, first, more, left);
  }

 private:
  static constexpr uint32_t kLast = 1u << 31;  // of a run; no job has so many tasks

  // Takes the edges of one parent from `at` on; where the next one begins.
  size_t AddRun(std::span<const Edge> edges, size_t at);
  template <typename Visit>
  void ForRun(size_t at, Visit&& visit) const {
    do visit(TaskIndex{runs_[at] & ~kLast});
    while ((runs_[at++] & kLast) == 0);
  }

  std::vector<uint32_t> runs_;   // children, those of a parent that came together one by one
  std::vector<uint32_t> first_;  // of each task: where its children begin, and one more; 0: none
  Rare<std::multimap<TaskIndex, size_t>> more_;  // of parents that had children already
  std::vector<uint32_t> left_;
};

}  // namespace spate::engine
