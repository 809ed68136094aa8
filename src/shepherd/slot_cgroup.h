// The cgroup (version 2) in which the tasks of one slot run, one after another. The shepherd
// itself is not in it. All of it is optional: without a cgroup every function says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/fd.h"

namespace spate::shepherd {

class SlotCgroup {
 public:
  // `folder` is an existing, empty cgroup, or empty for none. What cannot be opened is left out.
  explicit SlotCgroup(const std::string& folder);

  // For Program::cgroup; -1 without a cgroup.
  int fd() const { return folder_.get(); }
  bool has_memory() const { return memory_peak_.valid(); }

  // Before an attempt: the limit in bytes (0: none), and the high-water mark starts again.
  void Begin(uint64_t memory_limit);
  // The high-water mark since Begin. Empty where there is no memory controller, and where the
  // kernel (before 6.12) cannot start again and an earlier attempt went higher.
  std::optional<uint64_t> Peak();
  // Whether the kernel ended a process since Begin because of the limit.
  bool WasOutOfMemory();
  // Kills all that is in it, atomically (Linux 5.14). False where that is not possible. Nothing may
  // be started in it any more until Renew.
  bool KillAll();
  // Makes the cgroup afresh after KillAll; there is none any more when that fails.
  void Renew();

 private:
  void Open();
  uint64_t ReadOomKills();

  std::string path_;
  bool killed_ = false;
  os::Fd folder_;
  os::Fd memory_peak_;
  os::Fd memory_events_;
  os::Fd kill_;
  bool can_reset_peak_ = false;
  uint64_t peak_before_ = 0;
  uint64_t limit_ = 0;
  uint64_t oom_kills_before_ = 0;
};

}  // namespace spate::shepherd
