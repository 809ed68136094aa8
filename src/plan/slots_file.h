// SlotsFile: -j FILE. The file holds what -j takes, and is read again when it changes.
#pragma once

#include <functional>
#include <string>

#include "cli/options/run_options.h"
#include "os/file.h"
#include "os/real_loop.h"

namespace spate::run {

// Reads the file of -j: sets slots and the bound of running tasks. `cwd`: where spate was
// started. Fine when there is no such option.
Status ReadSlotsFile(cli::RunOptions& options, const std::string& cwd, uint32_t cores);

class SlotsFile {
 public:
  // Looks twice a second. `changed` is called with each new content, be it wrong.
  SlotsFile(os::RealLoop& loop, std::string path,
            std::function<void(const Result<cli::SlotRule>&)> changed);
  ~SlotsFile() { loop_.Cancel(timer_); }
  SlotsFile(const SlotsFile&) = delete;
  SlotsFile& operator=(const SlotsFile&) = delete;

 private:
  void Poll();
  os::RealLoop& loop_;
  const std::string path_;
  const std::function<void(const Result<cli::SlotRule>&)> changed_;
  std::string known_;  // what it held last
  os::TimerId timer_ = 0;
};

}  // namespace spate::run
