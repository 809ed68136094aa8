// A watch over one batch job: ANDY's state machine of a client job (its rules 35 to 38). It knows
// what the batch system says of the job, when that changed, and when the job was last heard of
// itself (a ping); Verdict says whether it counts as failed by now.
//
// Before the first ping the batch system decides: in Init longer than T0, or in Error longer than
// T1, it has failed. After it only pings do, except in Suspended: longer there than T2 and up to T3
// it is let be; beyond T3, and in all else, it has failed without a ping for T4. A job that is
// suspended for less than T2 is judged by T4 as well, so T4 should not be below T2.
// A status query that failed is not news: nobody tells it here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/enum_list.h"
#include "base/time.h"
#include "core/provision/pool.h"

namespace spate::provision {

SPATE_ENUM(JobStatus,
    kInit, "init",            // submitted; nothing is known
    kQueued, "queued",
    kRunning, "running",
    kError, "error",
    kSuspended, "suspended",
    kOther, "other",
    kEnded, "ended");  // no state of ANDY's: it is over, and nothing watches it

class Watch {
 public:
  // Watches a new job, or one of an earlier life that had been heard of.
  explicit Watch(Instant now, bool pinged = false)
      : since_(now), pinged_(pinged), last_ping_(now) {}

  void SetStatus(JobStatus status, Instant now);
  void Ping(Instant now);

  // Why the job has failed, in words; nullopt: it has not.
  std::optional<std::string> Verdict(const WatchTimes& times, Instant now) const;
  // When the verdict may be another one if nothing is heard before. Later than `now`.
  Instant NextVerdict(const WatchTimes& times, Instant now) const;

  JobStatus status() const { return status_; }
  Instant since() const { return since_; }  // in this status
  bool pinged() const { return pinged_; }

 private:
  JobStatus status_ = JobStatus::kInit;
  Instant since_;
  bool pinged_ = false;
  Instant last_ping_;
};

}  // namespace spate::provision
