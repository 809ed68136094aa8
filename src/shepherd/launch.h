// The parent's side of shepherds: making them, and cleaning up after one that died.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "shepherd/foreign_children.h"
#include "shepherd/job_server.h"
#include "shepherd/pulse.h"

namespace spate::shepherd {

// One shepherd, as its parent holds it. Closing the socket ends it and what it runs.
class ShepherdProcess {
 public:
  ShepherdProcess() = default;
  ShepherdProcess(ShepherdProcess&& other) noexcept;
  ShepherdProcess& operator=(ShepherdProcess&& other) noexcept;
  ~ShepherdProcess();  // closes, does not wait

  pid_t pid() const { return pid_; }
  int socket() const { return socket_.get(); }
  // Sequence of the last order that it took in hand; works after its death too.
  uint64_t started_sequence() const;
  // A number that changes while it is alive: odd while it is at work, even while it waits for news.
  uint64_t beats() const;
  void CloseSocket() { socket_.Reset(); }
  // Like CloseSocket for the shepherd, but its last reports can still be received.
  void EndOrders();

  // Sends what the socket takes now; less than all means that it is full. kUnavailable when the
  // shepherd is gone.
  Result<size_t> Send(std::string_view bytes);
  // 0 when nothing is there now; kUnavailable when the shepherd is gone and all was read.
  Result<size_t> Receive(char* to, size_t size);
  void Kill();
  void KillTree();  // and all that is below it
  // True if it is dead and reaped; waits at most `patience` nanoseconds for that.
  bool Reaped(int64_t patience);
  // Once it was reaped: it gave its orders back and left (protocol.h).
  bool made_room() const;

 private:
  friend class Launcher;
  pid_t pid_ = -1;
  int wait_status_ = 0;
  os::Fd socket_;
  SharedPage* page_ = nullptr;
};

// Note of an attempt whose shepherd was ended because it did not answer.
inline constexpr const char* kHungNote =
    "its shepherd did not answer and was ended with the task: a program, file or folder that the "
    "task names may be on a file server that does not answer";

class Launcher {
 public:
  // Remembers this program's file, so that shepherds are of this version even when the file is
  // replaced meanwhile, and makes this process a subreaper: orphans of a killed shepherd come to
  // it.
  static Result<Launcher> Create();

  // Born in the cgroup v2 with this folder, or in ours when that is empty or does not work.
  // kExhausted when there is no process or descriptor for it now.
  Result<ShepherdProcess> Launch(const std::string& cgroup);

 private:
  Launcher() = default;
  os::Fd program_;  // not valid without /proc
  std::optional<JobServer> job_server_;
  std::string program_path_;
};

// Kills all children of this process but those in `keep` and foreign ones, and everything below
// them. Returns how many of them are left: call it again a little later until that is 0. For a
// process whose own children are shepherds alone.
int EndOrphans(const std::vector<pid_t>& keep, const ForeignChildren& foreign);

// Record that a run writes in case it is killed together with its shepherds: one line for
// each shepherd, "boot-id pid start-ticks", in the file `shepherds` of the job's folder.
Status RecordShepherd(const std::string& job_folder, pid_t pid);

struct Leftovers {
  int ended = 0;                   // processes
  std::vector<std::string> notes;  // "sleep (pid 12)", at most a few
};
// Ends what a killed run left running: it waits for shepherds that are still there and end their
// tasks, then kills them; then processes whose environment has SPATE_JOB_DIR=job_folder, everything
// below those, and everything in `cgroup` (may be empty). Up to `patience` nanoseconds.
//
// How exact: a shepherd that outlives its run ends all of its task, whatever that did. If shepherds
// and run were killed together, the tasks' own processes die with their shepherd (a signal that
// they asked for), and what those forked is found by the cgroup or by the variable. Where there is
// no cgroup, a process that emptied its environment is missed in this last case. A process of
// somebody else is never taken for a leftover.
Leftovers EndLeftovers(const std::string& job_folder, const std::string& cgroup, int64_t patience);

// Kills a shepherd, unless that pid is somebody else's by now, and all below it.
void EndShepherd(pid_t pid, uint64_t start);
// For a node: ends processes whose environment has SPATE_NODE_ID=node_id, but for those below the
// processes in `keep` (living shepherds): they belonged to a shepherd that was killed while no
// process of the node was there. Exact as above. An id, since two nodes whose processes see each
// other may have folders of the same path.
Leftovers EndStrays(const std::string& node_id, const std::vector<pid_t>& keep, int64_t patience);

}  // namespace spate::shepherd
