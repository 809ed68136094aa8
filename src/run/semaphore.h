// `spate sem`: runs a command when fewer than -j others of the same name run. The places are locks
// on files of the state folder, held by the commands themselves, so whatever is killed, a place is
// free when its command is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spate::run {

struct SemOptions {
  uint32_t slots = 1;
  std::string name = "default";
  bool foreground = false;
  bool wait = false;
  std::optional<Duration> timeout;
  std::vector<std::string> argv;
};

// `state_dir` has the semaphores. The exit code.
Result<int> Semaphore(const SemOptions& options, const std::string& state_dir);

}  // namespace spate::run
