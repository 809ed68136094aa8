// JobFeed: a job that is followed on this terminal, wherever it runs: in this process (JobRun in
// run_to_end.cc), or on a hub (submit/hub_run.cc). ShowJob is the one way to follow it: it has the
// screen, the clock of the bar, and the rest of the output.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "os/environment.h"
#include "os/real_loop.h"
#include "view/run_view.h"
#include "view/terminal_screen.h"

namespace spate::run {

class JobFeed {
 public:
  virtual ~JobFeed() = default;
  // The view that the options ask for, before all others; an error ends it all.
  virtual Result<std::unique_ptr<cli::RunView>> MakeView(cli::Screen& screen) = 0;
  // The job as it stands when it is taken up.
  virtual cli::RunStart Start() = 0;
  struct Followed {
    cli::RunFinish finish;
    bool goes_on = false;  // without this terminal, whose reader is not waited for
  };
  // Tells `view`, which outlives it, of starts, output, ends and holds, until nothing more comes.
  // Runs the loop.
  virtual Result<Followed> Follow(cli::RunView& view) = 0;
  // Called ten times a second; `backlog`: bytes that wait for the terminal. Returns how many tasks
  // run.
  virtual uint32_t Tick(uint64_t backlog) = 0;
  // Standard output cannot be written; `reader_gone`: its reader has closed it. Once.
  virtual void OnUnwritable(const Error& error, bool reader_gone) = 0;
  // The last words, when all else is written. Returns the exit code.
  virtual Result<int> Leave() = 0;
};

// Follows the job to its end. Returns the exit code. Errors are those of MakeView, Follow, Leave.
Result<int> ShowJob(os::RealLoop& loop, const os::Environment& environment, JobFeed& feed,
                    cli::TerminalScreen::Target target = {});

}  // namespace spate::run
