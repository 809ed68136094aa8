// Jobs that slow each other on a node, by what their tasks move while the other is there.
#pragma once

#include <cstdint>
#include <string>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/fields.h"

namespace spate {

SPATE_ENUM(TrafficKind,
    kNetwork, "network",  // bytes on its TCP connections
    kFiles, "files");  // bytes that it reads and writes by system calls, wherever to

// An attempt moved less while tasks of another job were on its node: from their first start on, and
// until their last end (core/agent/slowdowns.h).
struct SlowedBeside {
  AttemptRef ref;
  JobId beside;
  TrafficKind kind = TrafficKind::kNetwork;
  uint64_t alone = 0;  // bytes a second, before and after
  uint64_t with = 0;   // meanwhile
  SPATE_FIELDS(1, ref, 2, beside, 3, kind, 4, alone, 5, with);
  friend bool operator==(const SlowedBeside&, const SlowedBeside&) = default;
};

// A job that another one is kept away from, and why.
struct PartedFrom {
  JobId job;
  NodeId node;   // where it was seen last
  JobId slowed;  // the one of the two that moved less
  TrafficKind kind = TrafficKind::kNetwork;
  uint64_t alone = 0;  // bytes a second
  uint64_t with = 0;
  Instant at;  // by the wall clock
  SPATE_FIELDS(1, job, 2, node, 3, slowed, 4, kind, 5, alone, 6, with, 7, at);
  friend bool operator==(const PartedFrom&, const PartedFrom&) = default;
};

// PartedFrom, for people.
struct PartedFacts {
  JobId job;  // the one that it is kept away from
  JobId of;   // only of a node: the other one of the pair
  std::string node;
  JobId slowed;
  TrafficKind kind = TrafficKind::kNetwork;
  uint64_t alone = 0;
  uint64_t with = 0;
  Instant at;
  SPATE_FIELDS(1, Named(job, "from"), 2, NotInJson(of), 3, node, 4, slowed, 5, kind, 6, alone,
               7, with, 8, at);
};

}  // namespace spate
