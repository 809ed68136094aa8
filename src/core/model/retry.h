// Ends of an attempt that the user wants repeated (--retry-on).
#pragma once

#include <cstdint>

#include "core/model/job.h"

namespace spate {

// The program ended by itself and failed, or its outputs failed their checks: that is its user's
// matter, wherever it ran.
inline bool IsOfProgram(Cause cause) {
  return cause == Cause::kExit || cause == Cause::kSignal || cause == Cause::kCheck;
}

// The signal that ended a command below a shell, which reports 128 + N for it; 0: none.
int32_t SignalBelowShell(Cause cause, int32_t status);

// An attempt that ends so is repeated while tries are left. `status` is AttemptEnd's.
bool IsRetried(const RetryPolicy& policy, Cause cause, int32_t status);

// The memory that a task requests after an attempt with `memory` bytes ran out of them
// (--retry-memory, --max-memory); `memory` itself when it requests no more.
uint64_t MemoryAfter(const RetryPolicy& policy, uint64_t memory);

}  // namespace spate
