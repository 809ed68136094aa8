#include "core/model/retry.h"

#include <algorithm>

namespace spate {

int32_t SignalBelowShell(Cause cause, int32_t status) {
  constexpr int32_t kShellAdds = 128;
  constexpr int32_t kLastSignal = 64;
  const bool is_one =
      cause == Cause::kExit && status > kShellAdds && status <= kShellAdds + kLastSignal;
  return is_one ? status - kShellAdds : 0;
}

bool IsRetried(const RetryPolicy& policy, Cause cause, int32_t status) {
  if (SignalBelowShell(cause, status) > 0 && (policy.retry_on & CauseBit(Cause::kSignal)) != 0) {
    return true;
  }
  if (cause == Cause::kExit && !policy.exits.empty()) {
    return std::ranges::any_of(policy.exits, [&](const ExitRange& range) {
      const auto code = static_cast<uint32_t>(status);
      return range.first <= code && code <= range.last;
    });
  }
  return (policy.retry_on & CauseBit(cause)) != 0;
}

uint64_t MemoryAfter(const RetryPolicy& policy, uint64_t memory) {
  if (policy.memory_growth <= 100 || memory == 0) return memory;
  const uint64_t most = policy.max_memory > 0 ? policy.max_memory : UINT64_MAX / 2;
  const double grown = static_cast<double>(memory) / 100 * policy.memory_growth;
  if (grown >= static_cast<double>(most)) return std::max(memory, most);
  return memory / 100 * policy.memory_growth + memory % 100 * policy.memory_growth / 100;
}

}  // namespace spate
