// The cgroup (version 2) in which a shepherd was born and its tasks are, one after another, at no
// cost for a task. All of it is optional: without a cgroup every function says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/fd.h"

namespace spate::shepherd {

class SlotCgroup {
 public:
  // `folder` is the cgroup, or empty for none. A file that cannot be opened is left out. This
  // process moves there unless it is there.
  explicit SlotCgroup(const std::string& folder);

  bool has_memory() const { return memory_peak_.valid(); }
  // Becomes readable with POLLPRI when WasOutOfMemory may have changed; -1 without a limit.
  int events_fd() const { return limit_ != 0 ? memory_events_.get() : -1; }

  // Before an attempt: the limit in bytes (0: none), and the high-water mark starts again.
  void Begin(uint64_t memory_limit);
  // The high-water mark since Begin. Empty where there is no memory controller, and where the
  // kernel (before 6.12) cannot start again and an earlier attempt went higher.
  std::optional<uint64_t> Peak();
  // Memory that its processes use now, without page cache, which the system may take back. Empty
  // when there is no memory controller.
  std::optional<uint64_t> Used() const;
  // Bytes of page cache that are charged to it, of this attempt and those before.
  uint64_t Cache() const;
  // True if the kernel ended a process since Begin because of the limit.
  bool WasOutOfMemory();
  // Kills all that is in it but this process, atomically (Linux 5.14). False where that is not
  // possible. Costs milliseconds.
  bool KillAll();
  // Stops all that is in it but this process, which stays aside meanwhile: nothing may be started
  // until Thaw. False where that is not possible.
  bool Freeze();
  void Thaw();
  bool is_frozen() const { return frozen_; }

 private:
  bool StepAside();
  void StepBack();
  bool IsHere() const;
  uint64_t ReadOomKills();

  std::string path_;
  os::Fd folder_;
  os::Fd memory_peak_;
  os::Fd memory_now_;
  os::Fd memory_stat_;
  os::Fd memory_events_;
  os::Fd kill_;
  bool frozen_ = false;
  bool can_reset_peak_ = false;
  uint64_t peak_before_ = 0;
  uint64_t limit_ = 0;
  uint64_t oom_kills_before_ = 0;
};

}  // namespace spate::shepherd
