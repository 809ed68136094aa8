// Times as Parasol's texts have them: seconds since 1970.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace spate::parasol {

inline int64_t UnixSeconds(Instant when) { return when.ns / 1'000'000'000; }

}  // namespace spate::parasol
