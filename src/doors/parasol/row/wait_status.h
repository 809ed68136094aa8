// The status of an attempt's end as Parasol tells it.
#pragma once

#include <cstdint>

#include "core/model/attempt.h"

namespace spate::parasol {

// As wait(2) gives it.
int32_t WaitStatusOf(Cause cause, int32_t status);

}  // namespace spate::parasol
