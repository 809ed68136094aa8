// Words about tasks that somebody stops, continues, kills or signals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_list.h"
#include "base/time.h"
#include "core/model/excess.h"
#include "core/model/fields.h"

namespace spate {

// The numbers are stored; new ones go to the end.
SPATE_ENUM(Steering,
    kStop, "stopped",       // its processes are frozen, and nothing of it is started
    kContinue, "continued",
    kKill, "killed",
    kSignal, "signalled",
    kExceed, "exceeded");  // a task has used more than it asked for, and continues

// A stop that lasts.
struct StopFact {
  Instant since;                      // by the engine's clock
  Instant at;                         // by the wall clock, for people
  std::string by;                     // the user who asked for it
  std::optional<Excess> excess = {};  // or the reason why its node stopped it
  SPATE_FIELDS(1, since, 2, at, 3, by, 4, excess);
  friend bool operator==(const StopFact&, const StopFact&) = default;
};

// The state of the processes of tasks that are stopped.
SPATE_ENUM(Freezing, kNone, "", kFreezing, "freezing", kFrozen, "frozen");

// A question to the node that has an attempt: sends a signal to processes of it. The answer is the
// number of processes that got it.
struct SignalRun {
  static constexpr uint32_t kNumber = 37;
  struct Answer {
    uint32_t processes = 0;
    SPATE_FIELDS(1, processes);
  };
  int32_t signal = 0;     // 1 to 64
  bool all = false;       // every process; else the first process of each command
  bool one_rank = false;  // only the rank that the question names
  int32_t pid = 0;        // only this process; 0: as above
  SPATE_FIELDS(1, signal, 2, all, 3, one_rank, 4, pid);
};

// A feature (Offer::features) of nodes whose tasks run inside their own program: they cannot be
// stopped or signalled.
inline constexpr std::string_view kInProgram = "in-program";

}  // namespace spate
