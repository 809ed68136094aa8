// Output of `para` about a batch, to the byte: scripts look for these labels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/parasol/formats/job.h"
#include "doors/parasol/formats/time_text.h"

namespace spate::parasol {

// A machine that a batch avoids, and how often in a row it has failed there.
struct SickNode {
  std::string host;
  uint64_t failures = 0;
};
std::string SickNodesText(std::span<const SickNode> nodes);       // para showSickNodes
std::string SickNodesTotalText(std::span<const SickNode> nodes);  // its last line, with a newline

// Jobs by the state of their newest submission; slow ones run, too, and failed ones have crashed
// or the like.
struct BatchCounts {
  uint64_t unsubmitted = 0, submission_errors = 0, queue_errors = 0, tracking_errors = 0;
  uint64_t queued = 0, crashed = 0, slow = 0, hung = 0, running = 0, ran_ok = 0;
  uint64_t failed = 0;  // to be run again, but all tries are used up
  uint64_t other = 0;   // submitted, and neither queued, crashed, running nor well
  uint64_t jobs = 0;
};
BatchCounts CountJobs(std::span<const ParasolJob> jobs, uint64_t tries);

struct CheckReport {
  BatchCounts counts;
  // The path of para.results when there is no such file: told in place of tracking errors.
  std::optional<std::string> missing_results;
  int64_t warn_minutes = 4320, kill_minutes = 0;
  uint64_t tries = 4;
  std::vector<SickNode> sick;
};
std::string CheckText(const CheckReport& report);  // para check

// Seconds; of the newest submissions.
struct BatchTimes {
  BatchCounts counts;
  double cpu = 0, wait = 0;  // of finished jobs
  double running = 0;
  double average = 0, longest_running = 0, longest_finished = 0;
  double submission_to_last = 0;
  double estimate = 0;  // to the end of all
};
BatchTimes SumTimes(std::span<const ParasolJob> jobs, int64_t now);
std::string TimesText(const BatchTimes& times);  // para time

// "crash", "hung", "slow", "tracking error"; empty when there is no problem.
std::string_view ProblemOf(const ParasolSubmission& submission);
// One of para problems, with an empty line at its end. `messages` of checks that fail and
// `stderr_text` are for crashes only.
std::string ProblemText(const ParasolJob& job, const ParasolSubmission& submission,
                        std::span<const std::string> messages, std::string_view stderr_text,
                        const LocalTime& local);
std::string ProblemsTotalText(uint64_t problems);

std::string StatusText(std::span<const ParasolJob> jobs, int64_t now);  // para status

// The jobs that run: all for para running; those that have run longer than so many minutes for para
// hippos and slow.
std::string RunningText(std::span<const ParasolJob> jobs, int64_t now,
                        std::optional<int64_t> longer_than, int64_t warn_minutes,
                        const LocalTime& local);

// Lines of the job list: para finished, hung, crashed, failed.
enum class JobsListed : uint8_t { kFinished, kHung, kCrashed, kFailed };
std::string JobLinesText(std::span<const ParasolJob> jobs, JobsListed which, uint64_t tries);

}  // namespace spate::parasol
