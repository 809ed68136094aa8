// Doorbell: wakes another process of this machine that waits in a loop. It carries nothing; whoever
// is woken looks for themselves. Rings may be lost or come for nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

class Doorbell {
 public:
  // With a name that nobody else on this machine has (a UNIX socket without a file).
  static Result<Doorbell> Make();
  const std::string& name() const { return name_; }
  // Readable when somebody has rung, until Clear.
  int fd() const { return fd_.get(); }
  // Returns how many rings it has cleared: at most as many as there were.
  int Clear() const;
  // False when nobody has this name.
  bool Ring(std::string_view name) const;

 private:
  Doorbell(Fd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Fd fd_;
  std::string name_;
};

}  // namespace spate::os
