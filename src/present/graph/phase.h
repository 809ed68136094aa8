// Phase: where a task of a graph is, as people see it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/enum_list.h"
#include "present/graph/shape.h"

namespace spate::present {

SPATE_ENUM(Phase,
    kSucceeded, "succeeded",
    kRunning, "running",
    kReady, "ready",          // queued, or given to a node and not started
    kWaiting, "waiting",      // for parents that have not succeeded
    kFailed, "failed",
    kCancelled, "cancelled",
    kUnknown, "unknown");
inline constexpr size_t kPhases = kCountOf<Phase>;
inline constexpr std::array<Phase, kPhases> kAllPhases = {
    Phase::kSucceeded, Phase::kRunning,   Phase::kReady,  Phase::kWaiting,
    Phase::kFailed,    Phase::kCancelled, Phase::kUnknown};

std::vector<Phase> PhasesOf(const TaskGraph& graph, const Shape& shape);

struct PhaseCounts {
  std::array<uint32_t, kPhases> of = {};
  uint32_t total = 0;
  uint32_t operator[](Phase phase) const { return of[static_cast<size_t>(phase)]; }
  void Add(Phase phase) {
    ++of[static_cast<size_t>(phase)];
    ++total;
  }
  void Add(const PhaseCounts& other);
};

// How a phase is drawn: a colour that colour-blind people tell from the others, and a line that
// differs in black and white as well.
struct PhaseStyle {
  const char* fill;
  const char* stroke;
  const char* dashes;     // as SVG's stroke-dasharray; empty: a whole line
  const char* dot_style;  // Graphviz's word for nearly the same
  double width;
};
const PhaseStyle& StyleOf(Phase phase);

}  // namespace spate::present
