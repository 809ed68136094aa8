// StatusLines: how the files stand, a line for each: drawn over and over on a terminal, elsewhere
// each line when it has changed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "doors/mw/overseer/watch.h"
#include "os/environment.h"

namespace spate::mw {

class StatusLines {
 public:
  StatusLines(cli::OutputForm form, const os::Environment& environment);
  // kIo: nobody reads them any more.
  Status Show(const std::vector<const Watch*>& watches);
  // A message on standard error, above what is drawn.
  void Report(const std::string& text);

 private:
  void Draw(const std::vector<const Watch*>& watches);
  std::string DrainErase();
  void ForgetOthers(const std::vector<const Watch*>& watches);

  const cli::OutputForm form_;
  const os::Environment& environment_;
  bool draws_ = false;
  size_t drawn_ = 0;                         // lines
  std::string text_;                         // drawn last
  std::map<std::string, std::string> told_;  // by path
  Status status_;
};

}  // namespace spate::mw
