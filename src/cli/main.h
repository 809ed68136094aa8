// The front of `spate`: takes the command line apart and calls who runs it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options/words.h"
#include "cli/programs.h"

namespace spate::cli {

struct Invocation {
  Words words;
  // What was typed after the command's name, behind the words of its profiles: what a job keeps for
  // --resume and retry.
  std::vector<std::string> argv;
  // Of $SPATE_OPTIONS: they hold where argv and an earlier run say nothing. In `words`, too.
  std::vector<std::string> preset = {};
};

// Returns an exit code (cli/exit_code.h). Reports its own errors (cli/report.h).
using Handler = std::function<int(const Invocation&)>;

// The handlers of the commands; apps/ fills it in. A command without a handler is "not part of this
// program".
struct Wiring {
  Handler run;         // run and job retry
  Handler job;         // what looks into jobs, and report
  Handler task;        // task info and task explain
  Handler state;       // state check
  Handler submit;      // submit and job add
  Handler wait;        // job wait and job progress
  Handler hub_start;   // hub start
  Handler node_start;  // node start
  Handler node_stop;   // node stop
  Handler get;         // job get
  Handler top;
  Handler sem;
  Handler overseer;
  Handler simulate;
  Handler ask_hub;                 // all else that only a hub answers
  std::vector<Programs> programs;  // of the doors
};

// The whole of main(): help, version, errors of usage, dispatch. Returns the exit code.
int Main(int argc, char** argv, const Wiring& wiring);

}  // namespace spate::cli
