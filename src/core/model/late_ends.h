// Agreement between a hub and a pilot that reports ends late
// (node/held_ends.h).
#pragma once

#include <string_view>

#include "base/time.h"

namespace spate {

// Batch systems signal the processes of an allocation one after another, and a task may end by
// itself before its node hears of it: `sleep 25; echo done` goes on when sleep was killed, and ends
// with 0. The node believes an end once so long no signal has come.
inline constexpr Duration kEndsLateBy = Duration::Millis(200);
// The feature (wire/greeting.h) of a node that does so. Its hub gives it more tasks ahead, and
// counts the room of a task as free when the node has reported that (wire::RoomTaken).
inline constexpr std::string_view kEndsLate = "ends-late";

}  // namespace spate
