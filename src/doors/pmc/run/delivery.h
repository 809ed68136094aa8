// Output of a run, on threads of its own: tasks' output and their records (the store's
// thread), and what they forward (the deliverer's). It outlives the run when a disk hangs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/engine/record.h"
#include "doors/pmc/run/hosts.h"
#include "doors/pmc/run/master.h"
#include "forward/shared_files.h"

namespace spate::pmc {

// Status of a try, in the form of wait(2).
int StatusOf(const AttemptEnd& end);
// It was a try, or the last that becomes of its task. An attempt that was stopped, was lost with
// its host, or could not be started there, and is repeated, was neither.
bool IsTold(const AttemptEnd& end, Verdict verdict, bool counts);

class Delivery {
 public:
  Delivery(const Options& options, std::vector<Host> hosts, Prepared prepared);

  // Tasks by their index in the job, which is what is left of the workflow. From any thread.
  const WorkflowTask& TaskOf(TaskIndex index) const {
    return prepared_.workflow.tasks[prepared_.remaining.left[index]];
  }
  const Needs& NeedsOf(TaskIndex index) const {
    return prepared_.workflow.requests[TaskOf(index).request].needs;
  }
  // For the loop's thread, but `files` once a run has begun.
  Prepared& prepared() { return prepared_; }

  // A try's output and its record; of what was stopped only what it has written so far.
  Status PutEnd(const engine::AttemptEnded& ended, const TaskOutputPtr& output) const;

  // Appends the pack that came with the end of a task; the error is the text for the task's end.
  Status Forward(TaskIndex index, const OutputStream& pack);
  const forward::SharedFiles& forwards() const { return forwards_; }

 private:
  std::string RecordOf(const engine::AttemptEnded& ended) const;

  const std::vector<Host> hosts_;
  Prepared prepared_;
  forward::SharedFiles forwards_;
};

}  // namespace spate::pmc
