// Background: a program that goes on as a daemon, once it knows that it can.
#pragma once

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

class Background {
 public:
  // Forks; only the child comes back from this, in a session of its own. The first process waits
  // for Ready and then exits with 0, or with the code of a child that ended before. To be called
  // while the process has one thread. The standard streams are the terminal's until Ready, so that
  // what goes wrong at the start is seen.
  static Result<Background> Enter();
  // Standard error goes to this file from now on, the other streams to the null device.
  Status Ready(const std::string& log_path);

 private:
  explicit Background(Fd ready) : ready_(std::move(ready)) {}
  Fd ready_;
};

// Standard error goes to the file (made with mode 0600, appended to). Also to take up a new file
// after the old one was renamed.
Status LogTo(const std::string& path);

}  // namespace spate::os
