// Tasks that wait for other tasks of their job.
#pragma once

#include "core/model/job.h"

namespace spate {

// `child` may start when `parent` has succeeded.
struct Edge {
  TaskIndex parent = 0;
  TaskIndex child = 0;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

}  // namespace spate
