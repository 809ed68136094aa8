#include "present/graph/phase.h"

#include <algorithm>

namespace spate::present {
namespace {

Phase PhaseOf(const TaskGraph& graph, const Shape& shape, TaskIndex task) {
  const GraphTask& it = graph.tasks[task];
  switch (it.state) {
    case TaskState::kQueued: {
      auto parents = shape.parents(task);
      bool ready = std::all_of(parents.begin(), parents.end(), [&](TaskIndex parent) {
        return graph.tasks[parent].state == TaskState::kSucceeded;
      });
      return ready ? Phase::kReady : Phase::kWaiting;
    }
    case TaskState::kLeased:
      return it.running ? Phase::kRunning : Phase::kReady;
    case TaskState::kSucceeded:
      return Phase::kSucceeded;
    case TaskState::kFailed:
      return Phase::kFailed;
    case TaskState::kCancelled:
      return Phase::kCancelled;
    case TaskState::kUnknown:
      break;
  }
  return Phase::kUnknown;
}

}  // namespace

std::vector<Phase> PhasesOf(const TaskGraph& graph, const Shape& shape) {
  std::vector<Phase> phases(graph.tasks.size());
  for (TaskIndex task = 0; task < phases.size(); ++task) phases[task] = PhaseOf(graph, shape, task);
  return phases;
}

void PhaseCounts::Add(const PhaseCounts& other) {
  for (size_t i = 0; i < kPhases; ++i) of[i] += other.of[i];
  total += other.total;
}

// Tints of the palette of Okabe and Ito, light enough for black letters.
const PhaseStyle& StyleOf(Phase phase) {
  static constexpr std::array<PhaseStyle, kPhases> kStyles = {{
      {"#8fd3bd", "#00664b", "", "solid", 1.2},
      {"#a6d8f5", "#0072b2", "", "bold", 2.4},
      {"#fdf1a0", "#7d6f00", "7 3", "dashed", 1.2},
      {"#ffffff", "#6e6e6e", "2 3", "dotted", 1.2},
      {"#f0935a", "#8f3400", "", "bold", 2.4},
      {"#c9c9c9", "#4d4d4d", "8 3 2 3", "dashed", 1.2},
      {"#e6b5d2", "#8f3f6d", "1 2", "dotted", 2.0},
  }};
  return kStyles[static_cast<size_t>(phase)];
}

}  // namespace spate::present
