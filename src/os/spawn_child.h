// Starting a program as a child of this process. All side work of programs starts here: Child and
// Command watch their children by the loop, ProcessGroup and others wait for them. (The shepherd
// starts tasks in a way of its own, shepherd/spawn.h.)
//
// Descriptors of this process are not the child's, but for those that Spawn names: all of ours are
// close-on-exec. The child is made vfork-style.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/process.h"
#include "os/real_loop.h"

namespace spate::os {

struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {};  // all of it, "NAME=value"; empty: ours
  int in = -1, out = -1, err = -1;            // what become 0, 1 and 2; -1: as this process has it
  int kept = -1;                              // stays open, under its number; -1: none
  std::string program = {};  // if it is not found in our PATH, by argv's first word
  std::string folder = {};   // empty: ours
  // Path of a terminal that becomes 0, 1 and 2, and the one of the session that it leads.
  std::string terminal = {};
  bool session = false;       // leads a session and so a process group of its own
  bool group = false;         // leads a process group of its own, in our session
  bool close_others = false;  // of our descriptors, too, that are not close-on-exec
  bool our_signals = false;   // ignores and blocks the signals that we do; else none
};
// The error names what could not be started. kExhausted: no process is left.
Result<Pid> SpawnChild(const Spawn& spawn);

// True if the child has ended; it is waited for then, with the status of wait(2).
bool HasExited(Pid pid, int* status);
// Blocks until the child has ended; the status of wait(2).
int WaitForExit(Pid pid);
// The number of the signal that a status of wait(2) tells of; 0: none ended it.
int SignalOf(int wait_status);
// Waits for a child that was killed, for as long as that takes. The loop outlives it, or this
// process ends. Thread: the loop's.
void Reap(RealLoop& loop, Pid pid);

}  // namespace spate::os
