// JobInput: what comes for a job while it runs: lines that are added to its lists (--follow),
// blocks of standard input (--pipe), and another number of slots (-j FILE).
//
// Thread: the loop's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/slots_file.h"
#include "run/list_follower.h"
#include "run/pipe_input.h"
#include "run/prepared_job.h"
#include "view/run_view.h"

namespace spate::run {

class JobInput {
 public:
  // Reads from now on. Both outlive it.
  JobInput(PreparedJob& job, cli::RunView& view);
  JobInput(const JobInput&) = delete;
  JobInput& operator=(const JobInput&) = delete;

  // A task has ended, and its block is not needed any more.
  void OnEnded(TaskIndex index);
  // Without more input a job that waits for it ends here.
  void StopWithoutInput();

 private:
  void Add(std::vector<std::string> rows, const std::vector<Needs>& needs);
  void Seal();
  std::unique_ptr<ListFollower> MakeFollower();
  std::unique_ptr<PipeInput> MakePipeInput();
  std::unique_ptr<SlotsFile> WatchSlots();

  PreparedJob& job_;
  cli::RunView& view_;
  bool reads_;  // from --pipe
  std::unique_ptr<ListFollower> follower_;
  std::unique_ptr<PipeInput> pipe_;
  std::unique_ptr<SlotsFile> slots_;
};

// With --pipe, a kill can come between a task's success and the end of its block, and while a file
// was being written under another name.
void RemoveLateBlocks(const PreparedJob& job);

}  // namespace spate::run
