// Texts for the end of a run. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
#include "view/run_view.h"

namespace spate::cli {

// Totals of one run, gathered from the ends of its attempts.
struct RunTotals {
  uint32_t succeeded = 0;
  uint32_t failed = 0;
  uint32_t unknown = 0;
  uint64_t tried_again = 0;  // attempts that were followed by another
  Duration cpu;              // user and system, of all attempts
  uint64_t peak_memory = 0;  // the largest of one attempt; 0: not measured
  void Add(const AttemptEnd& end, engine::Verdict verdict);
  uint64_t ended() const { return uint64_t{succeeded} + failed + unknown; }
};

// "1,000 tasks: 998 succeeded, 2 failed in 12.3 s (81 tasks/s), 24.1 s CPU, peak 52 MB"
// With `colour`, what went wrong is red.
std::string SummaryLine(const RunTotals& totals, const JobCounts& counts, const JobCounts& before,
                        Duration elapsed, bool colour = false);

struct HintContext {
  JobId job;                // set at the start of the run
  std::string state_dir;    // as typed, or empty
  bool beside_hub = false;  // other commands would speak of the hub's jobs
  bool on_hub = false;      // it is a hub's job, and `reach` what makes commands mean it
  std::string reach = {};   // " --access FILE"
  engine::HoldReason held = engine::HoldReason::kNone;
  std::vector<std::string> files;  // of the run; empty for a command
};
// Options that make commands mean the job: " --state DIR", " --local", " --access FILE", or none.
std::string WhoseOption(const HintContext& context);
// `spate job retry 12`
std::string RetryCommand(const HintContext& context);
// The command to type once a job has ended without success. `cancelled`: why tasks of it were
// cancelled, unless by a user.
std::string AgainText(const HintContext& context, const std::string& cancelled);
// For commands that wait. "spate: job 12: 3 of 4 tasks succeeded, 1 failed", with its newline.
std::string EndedText(JobId job, const JobCounts& counts, const char* cancelled = "cancelled");
// `spate job tasks 12 --filter failed`
std::string FailedTasksCommand(const HintContext& context);
// `spate job retry 12 --not-on n1`
std::string RetryElsewhereCommand(const HintContext& context,
                                  const std::vector<BlamedFacts>& blamed);
// Lines that say which nodes seem to have failed the job's tasks, and what to type: "8 of 40 tasks
// failed on n1, where none succeeded:  spate job retry 12 --not-on n1". Empty: none does.
std::string BlameText(const HintContext& context, const JobCounts& counts,
                      const std::vector<BlamedFacts>& blamed);
// The command that releases a held job: `spate job release 12`, or after --max-failures a retry.
std::string ReleaseCommand(const HintContext& context);
// `spate run --resume jobs.lst`
std::string ResumeCommand(const HintContext& context);
// True if a job that has stopped did what was asked: all tasks succeeded, or, as in GNU parallel,
// --halt has stopped it because enough of them had.
bool DidAsAsked(const HaltRule& halt, engine::HoldReason held, const JobCounts& counts);
// The exit code of a task that failed so, also 126 and 127 when it could not be started; 0: it has
// none. A job of one task ends with it.
int ExitCodeOfTask(const AttemptEnd& end);
// Lines (each with its newline) that say what to type next; empty when all is done.
std::string Hints(const HintContext& context, const JobCounts& counts, RunEnd how);

}  // namespace spate::cli
