// A kill can come between a task's durable end and its line in --joblog or its files in --results.
// The task will not run again, so what is missing there is made from the journal when the job is
// taken up.
#pragma once

#include <string>
#include <vector>

#include "cli/view/run_view.h"
#include "core/model/job.h"

namespace spate::run {

struct LateDelivery {
  std::string state_dir;
  uint32_t job = 0;
  std::string joblog;        // absolute; empty: none
  std::string results_dir;   // absolute; empty: none
  std::string spill_folder;  // for long output on its way
  std::vector<std::string> value_names;
  uint32_t columns = 0;         // as in ResultsFolder
  bool append_results = false;  // tasks may share a folder below results_dir
  cli::ViewTexts texts;
  std::vector<TaskRange> ended;  // tasks that have ended in earlier runs
};

// Cost: a look at the joblog, and one at a folder for each ended task. Output that the journal did
// not keep whole (--keep-output) is written as far as it was kept.
Status DeliverMissing(const LateDelivery& what);

}  // namespace spate::run
