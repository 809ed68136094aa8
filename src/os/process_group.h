// A program in a process group of its own, which outlives it: a set-up script, and the servers that
// it has started.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "os/process.h"

namespace spate::os {

class ProcessGroup {
 public:
  // Found through PATH, without arguments and input; its standard output goes to our standard
  // error, and it gets no other descriptor of ours.
  static Result<ProcessGroup> Start(const std::string& program);
  // The program's status, as wait(2) has it; nullopt: it still runs. Blocks.
  std::optional<int> Wait(Duration patience);
  // Ends all that is left of the group: by TERM and, after `grace`, by KILL. Blocks; once.
  void End(Duration grace);

 private:
  explicit ProcessGroup(Pid leader) : leader_(leader) {}
  Pid leader_;
};

}  // namespace spate::os
