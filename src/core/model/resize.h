// Requests of tasks that change after their submission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/limits.h"
#include "core/model/needs.h"

namespace spate {

// The part of a task's request that can change while the task runs. A field without a value stays.
struct TaskSize {
  std::optional<uint32_t> milli_cpus;
  std::optional<uint64_t> memory;      // bytes
  std::optional<Duration> time_limit;  // of each attempt, in place of the job's
  SPATE_FIELDS(1, milli_cpus, 2, memory, 3, time_limit);
  friend bool operator==(const TaskSize&, const TaskSize&) = default;

  bool empty() const { return !milli_cpus && !memory && !time_limit; }
};

// The request with the new sizes. A planned time above the new limit is cut to it; that of a
// `running` task, if there is one, becomes the new limit.
Needs Resized(Needs needs, const TaskSize& to, bool running);
// The larger of the two for each resource: what a task holds until its node has confirmed.
Needs Larger(Needs one, const Needs& other);

// The numbers are stored; new ones go to the end.
SPATE_ENUM(ResizeStage,
    kQueued, "changed",   // no node had the tasks
    kOrdered, "ordered",  // the task runs, and its node has not confirmed
    kDone, "resized",     // the node has confirmed
    kRefused, "refused");  // by the node

// The newest change of a leased task's request.
struct ResizeFact {
  ResizeStage stage = ResizeStage::kOrdered;
  TaskSize from;
  TaskSize to;
  std::string reason;  // of kRefused, in words
  std::string by;      // the user who asked for it
  Instant since;       // by the engine's clock; names the change
  Instant at;          // by the wall clock, for people
  SPATE_FIELDS(1, stage, 2, from, 3, to, 4, reason, 5, by, 6, since, 7, at);
  friend bool operator==(const ResizeFact&, const ResizeFact&) = default;
};

// An order to the shepherd that has an attempt, as a question. It fails, and changes nothing, when
// the attempt uses more memory than it is to have.
struct ResizeRun {
  static constexpr uint32_t kNumber = 38;
  struct Answer {
    SPATE_FIELDS();
  };
  Needs needs;                         // the whole request; its memory is the limit, 0 for none
  std::vector<NamedOffer> given;       // as in the order to start
  std::vector<uint16_t> cpus;          // all processes run on these from now on; none: they stay
  std::optional<Duration> time_limit;  // for the node's next process
  SPATE_FIELDS(1, needs, 2, given, 3, cpus, 4, time_limit);
};

// A feature (Offer::features) of nodes that can change a running task's request.
inline constexpr std::string_view kResizes = "resize";

}  // namespace spate
