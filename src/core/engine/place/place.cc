#include "core/engine/place/place.h"

#include <algorithm>

namespace spate::engine::place {
namespace {

// Tasks that may wait on the node beside those that run.
uint32_t Ahead(const NodeView& view, const Limits& limits) {
  if (view.task_wall.ns <= 0) return std::min(view.fit, limits.lease_tasks);
  // A task shorter than 100 us does not exist; the floor keeps a bad measurement harmless.
  int64_t wall = std::max<int64_t>(view.task_wall.ns, 100'000);
  auto ahead = static_cast<uint64_t>(limits.lease_ahead.ns / wall) * view.fit;
  uint64_t floor = std::min(view.fit, limits.lease_tasks);
  return static_cast<uint32_t>(std::clamp<uint64_t>(ahead, floor, limits.lease_tasks));
}

}  // namespace

uint32_t Room(const NodeView& view, const Limits& limits) {
  if (view.fit == 0) return 0;
  uint32_t ahead = Ahead(view, limits);
  uint64_t target = uint64_t{view.fit} + ahead;
  // Rounded to the nearest task: shares are billionths cut down.
  uint64_t held = (view.used * view.fit + kWhole / 2) / kWhole;
  if (held >= target) return 0;
  uint64_t room = target - held;
  uint64_t refill_at = (ahead + 1) / 2;
  return room >= std::max<uint64_t>(refill_at, 1) ? static_cast<uint32_t>(room) : 0;
}

std::vector<Assignment> Spread(std::vector<NodeView> views, uint32_t ready, const Limits& limits) {
  std::vector<Assignment> out;
  for (const NodeView& view : views) {
    if (uint32_t room = Room(view, limits); room > 0) out.push_back({view.node, room});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Assignment& a, const Assignment& b) { return a.count > b.count; });
  uint32_t left = ready;
  for (Assignment& assignment : out) {
    assignment.count = std::min(assignment.count, left);
    left -= assignment.count;
  }
  std::erase_if(out, [](const Assignment& a) { return a.count == 0; });
  return out;
}

}  // namespace spate::engine::place
