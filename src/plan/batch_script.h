// Scripts of batch systems: what their directives (#SBATCH, #PBS, #$, #BSUB, #HQ) request, as
// options of spate. Spate itself obeys no directives.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"

namespace spate::cli {

struct BatchRequests {
  struct Request {
    std::string option, value, directive;  // "memory", "10G", "#SBATCH --mem=10G"
  };
  std::vector<Request> requests;
  std::vector<std::string> others;  // directives that no option stands for
  // An array's numbers, "0-34%20"; the variable that has one of them in each task; the directive.
  std::string numbers, variable, array;
  bool is_submit = false;

  // The command line that runs `command` so; `typed`: further options, with a blank in front.
  std::string Command(std::string_view typed, std::string_view command) const;
  // A line that names the others, with its newline; empty: there are none.
  std::string OthersText() const;
};
// `directives`: whole lines. `is_submit`: for `spate submit`, not run.
BatchRequests ReadDirectives(std::span<const std::string> directives, bool is_submit);

using ReadFile = std::function<std::string(const std::string& file)>;
// Looks at the script that the command of a run or submission runs. Returns a line that names the
// directives that no typed option replaces; empty: there are none. kInvalid: the script is an array
// of tasks, and would get no numbers. `argv`: as typed. `read` returns the beginning of a file,
// whose name is relative to the tasks' folder; empty where it cannot be read.
Result<std::string> CheckBatchScript(const Words& words, std::span<const std::string> argv,
                                     const RunOptions& options, const ReadFile& read);

}  // namespace spate::cli
