// Pruner: what a hub keeps, and for how long: jobs that have ended, nodes that have gone.
//
// Thread: the loop's.
#pragma once

#include <cstdint>

#include "hub/aside.h"
#include "hub/jobs.h"
#include "hub/nodes.h"
#include "os/loop.h"

namespace spate::hub {

class Pruner {
 public:
  struct Rules {
    Duration forget_nodes;             // that are away for so long
    Duration keep;                     // finished jobs
    uint64_t keep_bytes = UINT64_MAX;  // of them, with their output
  };
  // All outlive it.
  Pruner(Jobs& jobs, Nodes& nodes, Aside& aside, Rules rules)
      : jobs_(jobs), nodes_(nodes), aside_(aside), rules_(rules) {}
  ~Pruner() { jobs_.loop().Cancel(timer_); }
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;

  // Looks now, and again and again. Once.
  void Begin() { Prune(); }

 private:
  void Prune();
  void PruneIn(Duration pause);
  void PruneBySize();
  void ForgetOldest(uint64_t bytes);
  // Between two looks that find nothing to do.
  Duration pause() const;

  Jobs& jobs_;
  Nodes& nodes_;
  Aside& aside_;
  const Rules rules_;
  os::TimerId timer_ = 0;
};

}  // namespace spate::hub
