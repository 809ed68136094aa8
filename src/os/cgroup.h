// Control groups, version 2: finding the one that this process sits in, and making a tree of our
// own below it, one cgroup for each slot. Version 1 is recognised and described, never used.
//
// All of it is optional: whoever uses this works without, and tells the user Describe()'s sentence.
// Thread: any, one at a time for each object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/process.h"

namespace spate::os {

// Places of this process's cgroups in the file system.
struct CgroupPlaces {
  struct V1 {
    std::string controller;  // "memory"; "name=systemd" for one without controllers
    std::string mount;
    std::string dir;  // below mount, or mount itself
  };
  std::string v2_mount;  // empty: none
  std::string v2_dir;    // of this process; empty: none, or not visible from here
  bool v2_read_only = false;
  std::vector<V1> v1;

  const V1* FindV1(std::string_view controller) const;
};

// Reads ROOT/proc/self/mountinfo and ROOT/proc/self/cgroup. Paths in the result have no ROOT.
CgroupPlaces FindCgroups(const std::string& root = "");
CgroupPlaces ParseCgroups(std::string_view mountinfo, std::string_view proc_cgroup);

// Limits and guarantees for all processes of a cgroup together. 0: none.
struct CgroupLimits {
  uint64_t memory = 0;        // bytes; the kernel kills above
  uint64_t memory_high = 0;   // bytes; the kernel slows down above, and tells so
  uint64_t memory_low = 0;    // bytes that the kernel takes from others first
  uint64_t processes = 0;     // with their threads, this process among them; no more are made
  uint32_t cpu_weight = 100;  // its share against others', 1 to 10,000
  uint32_t milli_cpus = 0;    // in each tenth of a second
};
// The parts of CgroupLimits that the kernel has taken over.
struct CgroupHolds {
  bool memory = false, memory_high = false, memory_low = false, processes = false;
  bool cpu_weight = false, milli_cpus = false;
};

// One cgroup v2 that we made: that of a slot, in which a shepherd was born and its tasks are, one
// after another, at no cost for a task. The object does not remove it: Remove() does.
class Cgroup {
 public:
  // An existing one, or empty for none; nothing is checked.
  explicit Cgroup(std::string dir) : dir_(std::move(dir)) {}

  const std::string& dir() const { return dir_; }

  std::vector<Pid> Pids() const;  // of this cgroup, not of those below
  // True if a process lives here or below; zombies do not.
  bool IsPopulated() const;

  // Kills all processes here and below (cgroup.kill, since Linux 5.14; else frozen and one by one)
  // but an owner, and waits until they are gone. Costs milliseconds. kBusy when some are left after
  // `patience`.
  Status KillAll(Duration patience);
  // Stops all that is in it but an owner, which stays aside meanwhile: nothing may be started until
  // Thaw. False where that is not possible.
  bool Freeze();
  void Thaw();
  // While it is frozen: these processes run on, next to the owner and below the same limit, until
  // Thaw, which brings back whatever is there.
  void MoveAside(const std::vector<Pid>& pids);
  bool is_frozen() const { return frozen_; }
  // All processes stand still, as Freeze has asked: the kernel says so.
  bool StandsStill() const;
  // Kills what is in it and removes it with all cgroups below. Fine when it is not there.
  Status Remove(Duration patience);

  // This process is an owner from now on: it moves there, unless it is there, and opens the files
  // that each attempt needs. Those that cannot be opened are left out; where it cannot move there,
  // the object has no cgroup any more.
  void Enter();

  // ---- An owner's attempts, one after another. Without a cgroup all say so.

  bool has_memory() const { return memory_peak_.valid(); }
  // Become readable with POLLPRI when the attempt may have met a limit of memory, or of processes,
  // until they are read (HearEvents); -1 without one.
  int events_fd() const { return holds_.memory || holds_.memory_high ? memory_events_.get() : -1; }
  int process_events_fd() const { return holds_.processes ? process_events_.get() : -1; }
  void HearEvents() const;
  // Before an attempt: its limits, and the high-water mark starts again.
  void Begin(const CgroupLimits& limits);
  // The limits of the attempt under way change.
  void Limit(const CgroupLimits& limits);
  // True for limits that were asked for and are kept.
  const CgroupHolds& holds() const { return holds_; }
  // Processes and threads in it now, this one among them; processor time of all that was ever in
  // it. Empty where the kernel does not count them.
  std::optional<uint64_t> Processes() const;
  std::optional<Duration> CpuTime() const;
  // The high-water mark since Begin. Empty where there is no memory controller, and where the
  // kernel (before 6.12) cannot start again and an earlier attempt went higher.
  std::optional<uint64_t> Peak() const;
  // Memory that its processes use now, without page cache, which the system may take back. Empty
  // when there is no memory controller.
  std::optional<uint64_t> Used() const;
  // Bytes of page cache that are charged to it, of this attempt and those before.
  uint64_t Cache() const;
  // True if the kernel ended a process since Begin because of the limit.
  bool WasOutOfMemory() const { return holds_.memory && OomKills() > oom_kills_before_; }
  // True if a process could not be made since Begin because of the limit.
  bool WasOutOfProcesses() const {
    return holds_.processes && FailedForks() > failed_forks_before_;
  }
  // From now on memory (`memory`) or processes are not held at their limits; nothing kills.
  void LiftHigh(bool memory);

 private:
  std::string File(const char* name) const { return dir_ + "/" + name; }
  bool IsHere() const;
  std::string Aside() const;  // the folder of the cgroup next to it, for its owner
  bool StepAside();
  void StepBack();
  uint64_t OomKills() const;
  uint64_t FailedForks() const;
  bool Set(const char* file, uint64_t value, std::string text);

  std::string dir_;
  bool entered_ = false;
  bool frozen_ = false;
  Fd memory_peak_, memory_now_, memory_stat_, memory_events_;
  Fd process_events_, processes_now_, cpu_stat_;
  bool can_reset_peak_ = false;
  uint64_t peak_before_ = 0;
  CgroupHolds holds_;
  // Values that files have, by name; UINT64_MAX: the file does not take any.
  std::map<std::string_view, uint64_t> set_;
  uint64_t oom_kills_before_ = 0;
  uint64_t failed_forks_before_ = 0;
};

// A cgroup of our own below the one that this process sits in: "spate-PID-STARTTIME.held", or
// "spate-node-NODE-PID-STARTTIME.held" for a node, and below it "slot-N" for each slot. This
// process holds a lock on the folder (flock) for as long as it lives, which others can see from any
// pid namespace; pids they cannot. So a fork that does not execute a program must close it. Where
// controllers can only be handed down when no process sits above them, and this process is the only
// one there, it moves itself into "main" below the tree.
class CgroupTree {
 public:
  // kUnavailable with the reason when there can be no tree; nothing is left behind then.
  // `node` is a word for this node, the same in each of its processes; empty for a run.
  static Result<std::unique_ptr<CgroupTree>> Create(const CgroupPlaces& places,
                                                    std::string_view node = "");
  ~CgroupTree();  // Remove() with a short patience, when that was not done
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;

  const std::string& dir() const { return dir_; }
  bool has_memory() const { return has_memory_; }
  bool has_pids() const { return has_pids_; }
  bool has_cpu() const { return has_cpu_; }
  // One sentence without a full stop: what is in use, and why not more.
  const std::string& Describe() const { return description_; }

  // Kills what is left in the slots and removes all; this process returns to where it was.
  Status Remove(Duration patience);
  // Processes in it are left to the node's next process.
  void Leave() { removed_ = true; }

 private:
  CgroupTree(std::string parent, std::string dir);
  std::string HandDown(std::string_view controller, bool* handed);
  bool WriteToParent(std::string_view controller);
  bool MoveSelfDown();

  std::string parent_;  // the cgroup that this process sat in
  std::string dir_;
  Fd lock_;  // dir_, locked
  std::string description_;
  std::string handed_by_us_;  // "-memory -pids": what to undo in parent_
  bool has_memory_ = false;
  bool has_pids_ = false;
  bool has_cpu_ = false;
  bool moved_ = false;
  bool removed_ = false;
};

// Ends and removes trees of dead runs below the cgroup of this process: those whose lock nobody
// holds. Of dead nodes only those where nothing runs. Trees of releases that took no lock stay:
// from another pid namespace nobody can tell whether their owners live. Returns how many there
// were.
uint32_t SweepCgroups(const CgroupPlaces& places, Duration patience);

// Ends and removes what earlier processes of the node with the tree `own` left in their trees,
// except slots with one of the processes in `keep`. Returns how many slots there were.
uint32_t SweepNodeCgroups(const std::string& own, const std::vector<Pid>& keep, Duration patience);

// One sentence without a full stop: what cgroups this machine offers to this process, before any
// tree is made.
std::string DescribeCgroups(const CgroupPlaces& places, const std::string& root = "");

}  // namespace spate::os
