// BatchHub: what `para` asks of the hub about one batch, which is known there by its user and the
// path of its para.results.
//
// A submission is a task of one hub job, and ids are ParasolId(job, task)
// (doors/parasol/row/parasol_id.h): those of one call of Submit follow each other. Thread: one.
// Errors: kUnavailable when there is no hub (also when it went away in the middle: ask it once
// more), kPermission, and what else is said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "doors/parasol/formats/batch_report.h"
#include "doors/parasol/formats/job.h"

namespace spate::parasol {

// Questions to the hub about the batch.
class BatchQuestions {
 public:
  struct Running {
    uint64_t id = 0;
    std::string host;
    int64_t started = 0;  // seconds since 1970
  };
  // First and last id of jobs that have not ended; those that run are among them.
  struct IdRange {
    uint64_t first = 0, last = 0;
  };
  // All of one moment. Whatever is not in `unended` is in the results after the next CatchUp, or
  // was removed or lost.
  struct State {
    bool known = false;            // the hub has heard of this batch
    bool of_owner = false;         // and it is not this user's
    uint64_t submitted = 0;        // so many times a job of this batch was, ever
    uint64_t everybody = 0;        // jobs of all users that wait or run
    std::vector<IdRange> unended;  // sorted
    std::vector<Running> running;  // sorted by id
    uint64_t failures_in_row = 0;
    bool sick = false;  // nothing is started before ClearSick
    JobId held;         // the hub's job, when somebody holds it
    std::vector<SickNode> sick_nodes;
  };
  // A submission that the hub has, and which job of the batch it is of.
  struct Submitted {
    uint64_t id = 0;
    uint64_t job = 0;       // its number in the batch, from 0
    int64_t submitted = 0;  // seconds since 1970
  };
  virtual ~BatchQuestions() = default;

  virtual Result<State> QueryState() = 0;
  // For a report: where this user has no such batch, that of the owner of the folder; the next
  // SubmittedFrom is about the same.
  virtual Result<State> QueryForReport() { return QueryState(); }
  // Appends to para.results what has ended since it was last brought up to date. An error when the
  // file cannot be written.
  virtual Status CatchUp() = 0;
  // Submissions from the `first`-th ever (0: all) on, in order: those that a killed push has made
  // and not written down.
  virtual Result<std::vector<Submitted>> SubmittedFrom(uint64_t first) = 0;
  // Standard error of the job, from the machine where it ran, or runs.
  virtual Result<std::string> FetchStderr(uint64_t id, const std::string& host) = 0;
};

// Its jobs.
class BatchJobs {
 public:
  struct Submission {
    uint64_t job = 0;
    const ParasolJob* what = nullptr;
  };
  virtual ~BatchJobs() = default;
  // Durable when it returns; the id of the first. `folder`, where the jobs run, is absolute.
  // `known`: State::submitted, with what was submitted since. kExists, and nothing is submitted,
  // when it is another number by now: what a killed push had sent was taken after we asked.
  virtual Result<uint64_t> Submit(std::span<const Submission> jobs, uint64_t known,
                                  const std::string& folder, int64_t now) = 0;
  // Drops what waits; how many that was.
  virtual Result<uint64_t> Chill() = 0;
  // Ends these, if they have not ended; no result will come of them.
  virtual Status Remove(std::span<const uint64_t> ids) = 0;
};

// The batch as a whole.
class BatchRules {
 public:
  virtual ~BatchRules() = default;
  virtual Status SetPriority(int64_t priority) = 0;  // 1 to 10000
  virtual Status SetMaxJob(int64_t most) = 0;        // -1: no bound
  // kNotFound where the hub does not know the batch; the next two likewise.
  virtual Status ClearSick() = 0;
  virtual Status ResetCounts() = 0;
  enum class Freed : uint8_t { kFreed, kNotFound, kBusy };
  virtual Result<Freed> Free() = 0;
};

// Waiting, with or without a hub. Ctrl-C is kBusy, then and in each later call.
class BatchWaits {
 public:
  virtual ~BatchWaits() = default;
  // Until something of the batch has changed, or `most` is over.
  virtual Status WaitForChange(Duration most) = 0;
  // After all of the batch has ended: until nobody writes its results any more; at most two
  // seconds.
  virtual void Settle() = 0;
  virtual Status Pause(Duration time) = 0;
};

class BatchHub : public BatchQuestions, public BatchJobs, public BatchRules, public BatchWaits {};

}  // namespace spate::parasol
