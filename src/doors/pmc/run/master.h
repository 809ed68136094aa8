// The first process of the run: it has the engine, the files and the talk, and runs no tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/pmc/formats/options.h"
#include "doors/pmc/run/hosts.h"
#include "doors/pmc/run/output_files.h"
#include "doors/pmc/run/talk.h"
#include "doors/pmc/run/workflow.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "transport/parallel_job.h"

namespace spate::pmc {

// The remaining work, and its files, found right before anything starts.
struct Prepared {
  Workflow workflow;
  Remaining remaining;
  uint32_t done_before = 0;
  os::Fd lock;    // of the DAG file, for as long as it is open
  os::Fd rescue;  // open for appending
  bool syncs_rescue = true;
  std::string forwards_log;  // what was appended where, beside the rescue file
  std::optional<OutputFiles> files;
};
// Reads and opens all files. Errors are told whole: the original's text, and what to do.
Result<Prepared> Prepare(const Options& options, const std::vector<Host>& hosts, const Talk& talk);

struct MasterRun {
  const Options& options;
  const std::vector<Host>& hosts;
  Talk talk;
  std::string program;    // as it was called
  Instant began;          // before the workers came
  std::string handover;   // hosts that see this folder hand long output over there
  std::string state_dir;  // of the user, for others who look at the run
  std::function<transport::ParallelJob::Traffic()> traffic;
};
struct Outcome {
  int exit_code = 1;
  bool lost_host = false;  // some host has not answered any more
};
// Runs it on the hosts, by their order: streams[i] leads to hosts[i]. Blocks.
Outcome RunWorkflow(os::RealLoop& loop, const MasterRun& run, Prepared prepared,
                    std::vector<os::Fd> streams);

}  // namespace spate::pmc
