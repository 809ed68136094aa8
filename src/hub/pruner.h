// Pruner: what a hub keeps, and for how long: jobs that have ended, nodes that have gone.
//
// Thread: the loop's.
#pragma once

#include <cstdint>

#include "core/model/facts.h"
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
    uint64_t keep_bytes = UINT64_MAX;  // of disk, for jobs with their output
  };
  // All outlive it.
  Pruner(Jobs& jobs, Nodes& nodes, Aside& aside, WriteLog log, Rules rules)
      : jobs_(jobs), nodes_(nodes), aside_(aside), log_(std::move(log)), rules_(rules) {}
  ~Pruner() { jobs_.loop().Cancel(timer_); }
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;

  // Looks now, and again and again. Once.
  void Begin() { RunRound(); }
  // More output is durable: what is too much is removed at once, but for the second after a round.
  // Cost: that of a sum.
  void Synced();
  void TellAbout(HubFacts& facts) const;

 private:
  void RunRound();
  void LookIn(Duration pause);
  // Only where there is a bound. Of the output the sum is kept; it is counted once an hour, in case
  // something else removes files.
  void Measure();
  // Kept bytes: rows at the last look, output now.
  uint64_t kept() const;
  void Measured(uint64_t rows, std::optional<uint64_t> output, int64_t change);
  // Removes jobs that are too old, and the oldest until `excess` bytes are free: some now, the rest
  // when these have gone. Cost: that of the removed jobs.
  void Forget(uint64_t excess);
  void NoteRound(bool full);
  // Between two looks that find nothing to do.
  Duration pause() const;

  Jobs& jobs_;
  Nodes& nodes_;
  Aside& aside_;
  const WriteLog log_;
  const Rules rules_;
  os::TimerId timer_ = 0;
  Instant next_;                             // look, unless too much is kept before
  bool idle_ = false;                        // it waits for that one
  uint64_t rows_ = 0;                        // at the last one
  uint64_t output_ = 0;                      // when it was counted,
  int64_t change_ = 0;                       // HubStore::OutputChange at that time
  Instant counted_;                          // and when; 0: not yet
  bool full_ = false;                        // the newest round left more to do
  Instant behind_since_ = Instant::Never();  // each round since then had more to do
  Instant told_behind_;
};

}  // namespace spate::hub
