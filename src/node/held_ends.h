// HeldEnds: ends of attempts that a node within a batch system's allocation does not yet believe.
//
// A batch system that cancels an allocation signals all of its processes, one after another: a
// task's child may die, and the task end with whatever status, before the node is signalled. So
// the node holds each end back for a moment. When the node is told to end in this time, the attempt
// counts as cut off; else the end is believed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/late_ends.h"
#include "wire/messages.h"

namespace spate::node {

// How long ends are held. Zero: not at all.
struct Doubt {
  Duration killed = {};  // those by a signal, also one that the shell reports
  Duration other = {};   // those by the task itself: success, exit status, failed check
  // The node hears of the signal by a Stop of a whole job.
  bool stop_is_signal = false;
};
// For nodes within an allocation of a batch system.
inline constexpr Doubt kDoubtInBatchJobs{.killed = Duration::Seconds(2), .other = kEndsLateBy};

class HeldEnds {
 public:
  explicit HeldEnds(const Doubt& doubt) : doubt_(doubt) {}

  // Ends by the node itself, or of attempts that could not be started, are certain.
  bool IsCertain(const AttemptEnd& end) const { return DoubtOf(end).ns == 0; }
  void Hold(Instant now, AttemptEnd end, TaskOutputPtr output);
  // Those that are believed now, the earliest first.
  wire::Ends DrainBelieved(Instant now);
  // All, as attempts that were cut off for this reason. Their output is dropped.
  std::vector<AttemptEnd> DrainCutOff(const std::string& why);

  bool empty() const { return ends_.empty(); }
  // When the next one is believed; Never(): none is held.
  Instant next() const { return ends_.empty() ? Instant::Never() : ends_.begin()->first; }
  std::vector<const AttemptEnd*> ends() const;

 private:
  struct Held {
    AttemptEnd end;
    TaskOutputPtr output;
  };
  Duration DoubtOf(const AttemptEnd& end) const;

  const Doubt doubt_;
  std::multimap<Instant, Held> ends_;  // by when they are believed
};

// The end of an attempt that its node cut short.
AttemptEnd CutOffEnd(const AttemptRef& ref, uint16_t slot, Instant start, Duration wall,
                     const std::string& why);

}  // namespace spate::node
