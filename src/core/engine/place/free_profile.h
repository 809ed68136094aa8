// How many processors are free, from now on, as far as estimates tell: a function of time in steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spate::engine::place {

// A point in time, or a time's length, in a unit of the caller's: seconds of a trace, or
// nanoseconds. Sums of those that are given must fit.
using Moment = int64_t;

class FreeProfile {
 public:
  explicit FreeProfile(uint32_t processors) : steps_{{0, processors}} {}

  // Forgets what was before `now`, which never goes back. Nothing below may begin before it.
  void Advance(Moment now);
  // So many less, or more, in [from, to); nothing where that is empty. May fall below zero.
  void Take(Moment from, Moment to, int64_t processors) { Add(from, to, -processors); }
  void Give(Moment from, Moment to, int64_t processors) { Add(from, to, processors); }

  int64_t FreeAt(Moment when) const;
  // The first moment, not before `from`, from which so many are free for so long. `processors` is
  // at most what is free in the end. `own`: from there on so many were taken for so long by whoever
  // asks; no later moment is given.
  Moment EarliestFit(int64_t processors, Moment length, Moment from, Moment own = INT64_MAX) const;

  size_t steps() const { return steps_.size() - first_; }

 private:
  struct Step {
    Moment from = 0;  // the first one holds from ever on, the last one for ever
    int64_t free = 0;
  };

  void Add(Moment from, Moment to, int64_t processors);
  size_t StepOf(Moment when) const;
  // The step that begins at `when`, made where there is none.
  size_t Split(Moment when);
  // Drops the step when it goes on as the one before it.
  void Join(size_t step);

  std::vector<Step> steps_;
  size_t first_ = 0;  // those before it are past, and stay until they are many
};

}  // namespace spate::engine::place
