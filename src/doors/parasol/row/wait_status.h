// The status of an attempt's end as Parasol tells it.
#pragma once

#include <cstdint>

#include "core/model/attempt.h"

namespace spate::parasol {

// The status in the form of wait(2).
int32_t WaitStatusOf(Cause cause, int32_t status);

}  // namespace spate::parasol
