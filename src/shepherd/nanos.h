// The unit of the shepherd's clock: its instants are nanoseconds of the monotonic clock, as
// int64_t.
#pragma once

#include <cstdint>

namespace spate::shepherd {

inline constexpr int64_t kMilli = 1'000'000;

}  // namespace spate::shepherd
