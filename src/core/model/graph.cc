#include "core/model/graph.h"

#include <algorithm>

namespace spate {
namespace {

// Edges by one of their ends: those of task i are at first[i] .. first[i + 1].
struct ByEnd {
  std::vector<uint32_t> first;
  std::vector<TaskIndex> others;
};
ByEnd Grouped(uint32_t tasks, std::span<const Edge> edges, TaskIndex Edge::* end,
              TaskIndex Edge::* other) {
  ByEnd grouped{std::vector<uint32_t>(tasks + size_t{2}), std::vector<TaskIndex>(edges.size())};
  for (const Edge& edge : edges) ++grouped.first[edge.*end + size_t{2}];
  for (size_t i = 2; i < grouped.first.size(); ++i) grouped.first[i] += grouped.first[i - 1];
  for (const Edge& edge : edges)
    grouped.others[grouped.first[edge.*end + size_t{1}]++] = edge.*other;
  return grouped;
}

// Kahn's algorithm; the parents that each task still has when it is over.
std::vector<uint32_t> Visit(uint32_t tasks, std::span<const Edge> edges, const TaskVisitor& visit) {
  const ByEnd children = Grouped(tasks, edges, &Edge::parent, &Edge::child);
  std::vector<uint32_t> left(tasks);
  for (const Edge& edge : edges) ++left[edge.child];
  std::vector<TaskIndex> ready;
  for (TaskIndex i = tasks; i > 0; --i) {
    if (left[i - 1] == 0) ready.push_back(i - 1);
  }
  while (!ready.empty()) {
    TaskIndex at = ready.back();
    ready.pop_back();
    const auto own =
        std::span(children.others)
            .subspan(children.first[at], children.first[at + size_t{1}] - children.first[at]);
    visit(at, own);
    for (TaskIndex child : own) {
      if (--left[child] == 0) ready.push_back(child);
    }
  }
  return left;
}

}  // namespace

bool VisitInOrder(uint32_t tasks, std::span<const Edge> edges, const TaskVisitor& visit) {
  const std::vector<uint32_t> left = Visit(tasks, edges, visit);
  return std::ranges::all_of(left, [](uint32_t count) { return count == 0; });
}

std::vector<TaskIndex> FindCycle(uint32_t tasks, std::span<const Edge> edges) {
  const std::vector<uint32_t> left = Visit(tasks, edges, [](TaskIndex, auto) {});
  auto waits = std::ranges::find_if(left, [](uint32_t count) { return count > 0; });
  if (waits == left.end()) return {};
  // Each of those has a parent among them: going up, one is met again.
  ByEnd parents = Grouped(tasks, edges, &Edge::child, &Edge::parent);
  auto at = static_cast<TaskIndex>(waits - left.begin());
  std::vector<TaskIndex> way;
  std::vector<bool> seen(tasks);
  while (!seen[at]) {
    seen[at] = true;
    way.push_back(at);
    auto first = parents.others.begin() + parents.first[at];
    at = *std::find_if(first, parents.others.end(), [&](TaskIndex up) { return left[up] > 0; });
  }
  way.erase(way.begin(), std::ranges::find(way, at));
  std::ranges::reverse(way);
  return way;
}

}  // namespace spate
