#include "present/graph/dot.h"

#include <fmt/format.h>

#include "base/units.h"
#include "present/graph/markup.h"
#include "present/graph/tooltip.h"
#include "present/table/text_width.h"

namespace spate::present {
namespace {

constexpr size_t kLabelColumns = 40;

// By task, the one that follows it on the critical path.
std::vector<TaskIndex> NextOnPath(const CriticalPath& critical, size_t tasks) {
  std::vector<TaskIndex> next(tasks, ~TaskIndex{0});
  for (size_t i = 1; i < critical.path.size(); ++i) next[critical.path[i - 1]] = critical.path[i];
  return next;
}

std::string NodeLine(const GraphTask& task, TaskIndex index, Phase phase, const TaskTimes& times) {
  const PhaseStyle& style = StyleOf(phase);
  return fmt::format(
      "  t{} [label={}, tooltip={}, style=\"filled,{}\", fillcolor=\"{}\", color=\"{}\"];\n",
      uint64_t{index} + 1, DotQuoted(CutToWidth(EscapeForScreen(task.name), kLabelColumns)),
      DotQuoted(Tooltip(task, phase, times)), style.dot_style, style.fill, style.stroke);
}

}  // namespace

void WriteDot(const TaskGraph& graph, const Shape& shape, const CriticalPath& critical,
              std::string_view title, const TextSink& sink) {
  sink(fmt::format(
      "digraph {{\n  graph [label={}, labelloc=t];\n  node [shape=box, fontname=\"Helvetica\"];\n",
      DotQuoted(title)));
  std::vector<Phase> phases = PhasesOf(graph, shape);
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    sink(NodeLine(graph.tasks[task], task, phases[task], critical.times[task]));
  }
  std::vector<TaskIndex> next = NextOnPath(critical, shape.tasks());
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    for (TaskIndex child : shape.children(task)) {
      sink(fmt::format("  t{} -> t{}{};\n", uint64_t{task} + 1, uint64_t{child} + 1,
                       next[task] == child ? " [penwidth=3]" : ""));
    }
  }
  sink("}\n");
}

}  // namespace spate::present
