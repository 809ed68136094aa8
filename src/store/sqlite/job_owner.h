// The process that runs, or ran, a job or a hub.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spate::store {

struct JobOwner {
  int64_t pid = 0;
  std::string host;
  std::string boot;   // the kernel's boot id: a pid means nothing after a reboot
  int64_t start = 0;  // clock ticks from boot to the process's start, against pids used again
  // The line in the files `lock` and `owner`. Words that FromLine does not know are passed over.
  std::string ToLine() const;
  static JobOwner FromLine(std::string_view line);
  static JobOwner ThisProcess();

  bool IsOfThisMachine() const;
  // For messages: "process 4711", of another machine "process 4711 on n3", "another process".
  std::string Text() const;
};

}  // namespace spate::store
