// Control groups, version 2: finding the one that this process sits in, and making a tree of our
// own below it, one cgroup for each slot. Version 1 is recognised and described, never used.
//
// All of it is optional: whoever uses this works without, and tells the user Describe()'s sentence.
// Thread: any, one at a time for each object.
#pragma once

#include <cstdint>
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

  Status SetProcessLimit(uint64_t count);  // 0: none; kUnavailable without the controller

  // Kills all processes here and below (cgroup.kill, since Linux 5.14; else frozen and one by one)
  // but an owner, and waits until they are gone. Costs milliseconds. kBusy when some are left after
  // `patience`.
  Status KillAll(Duration patience);
  // Stops all that is in it but an owner, which stays aside meanwhile: nothing may be started until
  // Thaw. False where that is not possible.
  bool Freeze();
  void Thaw();
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
  // Becomes readable with POLLPRI when WasOutOfMemory may have changed; -1 without a limit.
  int events_fd() const { return limit_ != 0 ? memory_events_.get() : -1; }
  // Before an attempt: the limit in bytes (0: none), and the high-water mark starts again.
  void Begin(uint64_t memory_limit);
  // The high-water mark since Begin. Empty where there is no memory controller, and where the
  // kernel (before 6.12) cannot start again and an earlier attempt went higher.
  std::optional<uint64_t> Peak() const;
  // Memory that its processes use now, without page cache, which the system may take back. Empty
  // when there is no memory controller.
  std::optional<uint64_t> Used() const;
  // Bytes of page cache that are charged to it, of this attempt and those before.
  uint64_t Cache() const;
  // True if the kernel ended a process since Begin because of the limit.
  bool WasOutOfMemory() const { return limit_ != 0 && OomKills() > oom_kills_before_; }

 private:
  std::string File(const char* name) const { return dir_ + "/" + name; }
  bool IsHere() const;
  bool StepAside();
  void StepBack();
  uint64_t OomKills() const;

  std::string dir_;
  bool entered_ = false;
  bool frozen_ = false;
  Fd memory_peak_, memory_now_, memory_stat_, memory_events_;
  bool can_reset_peak_ = false;
  uint64_t peak_before_ = 0;
  uint64_t limit_ = 0;
  uint64_t oom_kills_before_ = 0;
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
