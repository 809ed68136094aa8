#include "doors/parasol/row/wait_status.h"

#include "os/signals.h"

namespace spate::parasol {

int32_t WaitStatusOf(Cause cause, int32_t status) {
  constexpr int32_t kFailed = 1 << 8;
  switch (cause) {
    case Cause::kSuccess:
      return 0;
    case Cause::kExit:
      return status << 8;
    case Cause::kSignal:
      return status;
    case Cause::kTimeLimit:
    case Cause::kStopped:
      return os::kSignalTerm;
    case Cause::kMemory:
    case Cause::kExcess:
    case Cause::kNode:
      return os::kSignalKill;
    case Cause::kCheck:
    case Cause::kStart:
      return kFailed;
  }
  return kFailed;
}

}  // namespace spate::parasol
