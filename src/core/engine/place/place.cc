#include "core/engine/place/place.h"

#include <algorithm>

namespace spate::engine::place {
namespace {

// Tasks that may wait on the node beside those that run.
uint32_t Ahead(const NodeView& view, const Limits& limits) {
  uint32_t least = view.contended ? 0 : std::min(view.fit, limits.lease_tasks);
  if (view.task_wall.ns <= 0) return least;
  // A task shorter than 100 us does not exist; the floor keeps a bad measurement harmless.
  int64_t wall = std::max<int64_t>(view.task_wall.ns, 100'000);
  auto ahead = static_cast<uint64_t>(limits.lease_ahead.ns / wall) * view.fit;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(ahead, least, std::max(least, limits.lease_tasks)));
}

}  // namespace

uint32_t Room(const NodeView& view, const Limits& limits) {
  if (view.fit == 0) return 0;
  uint32_t ahead = Ahead(view, limits);
  uint64_t target = uint64_t{view.fit} + ahead;
  // Rounded to the nearest task: shares are billionths cut down.
  uint64_t held = (view.used * view.fit + view.used_by_others * target + kWhole / 2) / kWhole;
  if (held >= target) return 0;
  uint64_t room = target - held;
  uint64_t refill_at = view.served ? 1 : std::max<uint64_t>((ahead + 1) / 2, 1);
  return room >= refill_at ? static_cast<uint32_t>(room) : 0;
}

}  // namespace spate::engine::place
