#include "plan/list_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace spate::cli {

void ListGraph::Add(TaskIndex position, const format::ListLine& line,
                    const std::function<std::string()>& place, Problems& problems) {
  if (!line.name.empty() && !names_.Add(texts_.emplace_back(line.name), position)) {
    problems.Add(
        fmt::format("{}: another task is also called {}", place(), EscapeForScreen(line.name)));
  }
  if (!line.after.empty()) waiting_.push_back({position, line.after, place()});
}

std::vector<Edge> ListGraph::DrainEdges(uint32_t tasks, const std::vector<std::string>& known,
                                        Problems& problems) {
  const auto first = static_cast<TaskIndex>(known.size());
  format::NameTable before;
  for (TaskIndex i = first; i > 0; --i)
    before.Add(known[i - 1], i - 1);  // of equal ones the newest
  std::vector<Edge> edges;
  for (const Waiting& task : waiting_) {
    for (const std::string& parent : task.parents) {
      auto here = names_.Find(parent);
      auto there = here ? std::optional(first + *here) : before.Find(parent);
      if (there) {
        edges.push_back({*there, first + task.position});
        continue;
      }
      problems.Add(fmt::format("{}: no task is called {}: give one that name by {{name {}}}",
                               task.place, EscapeForScreen(parent), EscapeForScreen(parent)));
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  std::vector<TaskIndex> cycle = FindCycle(edges.empty() ? 0 : first + tasks, edges);
  if (cycle.empty()) return edges;
  auto closing = std::ranges::find(waiting_, cycle.front() - first, &Waiting::position);
  auto name = [&](TaskIndex task) { return NameOf(task - first); };
  problems.Add(fmt::format("{}: {}", closing->place, format::CircleText(cycle, name)));
  return {};
}

// Only of those in a circle: others wait for them by their names.
std::string ListGraph::NameOf(TaskIndex position) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_.Find(names_.NameAt(i)) == position) return EscapeForScreen(names_.NameAt(i));
  }
  return fmt::format("task {}", position + 1);
}

}  // namespace spate::cli
