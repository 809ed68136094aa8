// What a run writes, on threads of their own: what tasks wrote and their records (the store's
// thread), and what they forward (the deliverer's). It outlives the run where a disk hangs.
#pragma once

#include <string>
#include <vector>

#include "core/engine/record.h"
#include "doors/pmc/run/forward_files.h"
#include "doors/pmc/run/hosts.h"
#include "doors/pmc/run/master.h"
#include "wire/messages.h"

namespace spate::pmc {

// Of a try, as wait(2) has it.
int StatusOf(const AttemptEnd& end);

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

  // What has come with these ends. For each: what went wrong, or nothing.
  using Troubles = std::vector<std::string>;
  Troubles Forward(const wire::Ends& ends);
  const ForwardFiles& forwards() const { return forwards_; }

 private:
  std::string RecordOf(const engine::AttemptEnded& ended) const;
  Status ForwardOf(TaskIndex index, const OutputStream& came);

  const std::vector<Host> hosts_;
  Prepared prepared_;
  ForwardFiles forwards_;
};

}  // namespace spate::pmc
