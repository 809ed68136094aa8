// Plan: a job that is about to start or to be submitted: its settings and tasks, read from what was
// typed, and checked before anything starts. What is checked, in which order and for whom, is one
// list (kSteps in plan.cc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "client/submission.h"
#include "client/surroundings.h"
#include "core/model/job.h"
#include "plan/output_clash.h"
#include "plan/task_list.h"

namespace spate::run {

struct Plan {
  // kOnNodes: the nodes of a hub, which are taken to have the programs and files of this machine;
  // kAdded: tasks for a job that a hub has. kResumed, kRetried: a run of this machine, whose
  // options and settings were read by the caller.
  enum class For : uint8_t { kHere, kOnNodes, kAdded, kResumed, kRetried };

  For whom = For::kHere;
  const client::Surroundings& here;
  // Words of a new job, as typed.
  const cli::Words& words;
  std::span<const std::string> argv;
  cli::RunOptions& options;
  bool dry_run = false;
  // --order longest, by what earlier runs of this machine took.
  std::function<std::vector<TaskIndex>(const cli::RowSource& rows)> longest_first = {};
  // The job's own: --max-failures of one that goes on, which counts what failed before.
  std::function<Status()> check_failures = {};
  // A job on nodes has these, too.
  std::vector<std::string> environment = {};          // --env as typed
  bool waits = false;                                 // for other jobs, which may make its files
  bool bash = true;                                   // in which its lines run
  std::function<Result<uint32_t>()> pmix_nodes = {};  // as cli::MpiSurroundings
  std::function<Result<std::vector<std::string>>()> known_names = {};  // as cli::LoadContext

  // The result. For a job that goes on the caller fills in its settings, the requests in `tasks`
  // that change, and what its tasks write to.
  JobSettings settings = {};
  cli::TaskList tasks = {};
  cli::TaskRows writes = {};  // empty: all of `tasks`

  // True if its tasks come while it runs: --follow, --pipe. None are read then.
  bool comes_later() const;
};

// Reads and checks all of a plan. Errors, mostly kInvalid, name the place and the fix; nothing was
// started or sent then.
Status MakePlan(Plan& plan);

// The new job of a plan, or the tasks that it adds, to be submitted to the hub of this process or
// to another one, where the caller names it. `argv`: what was typed. kInvalid: no hub takes so many
// tasks in the order that is asked for.
Result<client::Submission> SubmissionOf(Plan plan, std::vector<std::string> argv);

// Prints the commands of the rows whose index `wanted` takes (--dry-run). Returns the exit code.
int PrintCommands(const cli::RowSource& rows, const JobSettings& settings, JobId job,
                  const std::function<bool(TaskIndex)>& wanted);

// Shown when each task of --array runs the same words.
void TellOfArray(const cli::RunOptions& options);

}  // namespace spate::run
