// ParaBatch: the jobs of a batch in memory, and what is known of each submission.
//
// A submission is open until its end is in para.results or it was given up as hung. One that is
// open and that the hub does not have any more is lost ("tracking error"), and open still: its end
// may come late. A look costs by the open submissions, not by the size of the batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doors/parasol/formats/job.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/programs/batch_hub.h"

namespace spate::parasol {

// The defect of one file: "F does not exist", "F is empty", "F has an incomplete last line";
// empty when the check passes.
using WhyFileFails = std::function<std::string(CheckKind, const char* file)>;

class ParaBatch {
 public:
  // A job is tried so many times.
  ParaBatch(std::vector<ParasolJob> jobs, uint64_t tries);

  const std::vector<ParasolJob>& jobs() const { return jobs_; }
  // For changes that are not about submissions.
  std::vector<ParasolJob>& mutable_jobs() { return jobs_; }

  // A submission that the hub has, if the batch does not have it. Those of jobs that are not in the
  // batch do not count.
  void Add(const BatchHub::Submitted& submitted);
  struct Taken {
    bool open = false;                  // it was: the batch has changed
    bool checked = false;               // files were looked at, and will not be again
    std::vector<std::string> messages;  // what checks of its output say that fail
  };
  Taken AcceptEnd(ParasolEnd end, const WhyFileFails& why);
  // Open submissions that are not in `state` are lost. After all that have ended were taken.
  void FindLost(const BatchHub::State& state);
  // Gives up one that runs.
  void SetHung(const BatchHub::Running& running);
  // Marks open ones as waiting or running, and as slow, which lasts while they run. True if one
  // became slow.
  bool Mark(const BatchHub::State& state, int64_t now, int64_t warn_minutes);
  // Lost submissions leave the batch, as if they had never been made. Whether there were some.
  enum class Lost : uint8_t { kAll, kAdded };
  bool DropLost(Lost which = Lost::kAll);

  // The next jobs to submit, at most `most`: those with the fewest tries first.
  std::vector<uint32_t> Next(uint64_t most);
  // The first `count` of these were, under ids from `first` on.
  void SetSubmitted(uint64_t count, uint64_t first, int64_t now);
  // Those that Next gives, and have been submitted before.
  bool IsRetry(uint32_t job) const { return !jobs_[job].submissions.empty(); }

  size_t CountDone() { return Count(), done_; }
  bool AllDone() { return CountDone() == jobs_.size(); }
  bool AnyAtHub() const { return in_hub_ > 0; }
  bool AnyLost() const { return std::ranges::any_of(open_, &Open::lost); }
  // A job that has failed in all its tries, if there is one.
  std::optional<uint32_t> Failed() { return Count(), failed_; }

 private:
  struct Open {
    uint64_t id = 0;  // 0: that of the file is no number
    uint32_t job = 0;
    uint32_t place = 0;  // among the job's submissions, the oldest is 0
    bool lost = false, ended = false;
    bool added = false;  // by Add
  };
  // Jobs with the same number of tries, in order; those before `next` are submitted.
  struct Waiting {
    std::vector<uint32_t> jobs;
    size_t next = 0;
  };

  ParasolSubmission& SubmissionOf(const Open& open);
  bool IsNewest(const Open& open) const {
    return open.place + 1 == jobs_[open.job].submissions.size();
  }
  void FindOpen();
  void Insert(uint32_t job, uint64_t id, int64_t now, bool added = false);
  Open* OpenOf(uint64_t id);
  void Close(Open& open);
  void CountEnded(uint32_t job);  // as done, as waiting or as failed, by its newest submission
  void Count();

  std::vector<ParasolJob> jobs_;
  uint64_t tries_;
  std::vector<Open> open_;  // sorted by id
  size_t in_hub_ = 0;

  // Derived from jobs_; Count recomputes it when it is not known.
  bool counted_ = false;
  std::vector<Waiting> waiting_;  // by the number of tries
  size_t done_ = 0;
  std::optional<uint32_t> failed_;
};

}  // namespace spate::parasol
