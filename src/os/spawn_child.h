// A child of this process with pipes: what Child and Command have in common.
//
// Thread: the loop's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/process.h"
#include "os/real_loop.h"

namespace spate::os {

struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // all of it; "NAME=value"
  int in = -1, out = -1, err = -1;       // what become 0, 1 and 2; -1: as this process has it
  std::string program;                   // if it is not found in our PATH, by argv's first word
  std::string folder;                    // empty: ours
  bool session = false;                  // leads a session and so a process group of its own
};
// Signals that a daemon ignores or blocks are the child's again. The error names what could not be
// started. kExhausted: no process is left.
Result<Pid> SpawnChild(const Spawn& spawn);

// True if the child has ended; it is waited for then, with the status of wait(2).
bool HasExited(Pid pid, int* status);
// The number of the signal that a status of wait(2) tells of; 0: none ended it.
int SignalOf(int wait_status);
// Waits for a child that was killed, for as long as that takes. The loop outlives it, or this
// process ends.
void Reap(RealLoop& loop, Pid pid);

// Writes a child's input, then closes it.
class ChildInput {
 public:
  // `fd` must not block.
  ChildInput(RealLoop& loop, Fd fd, std::string text);
  ~ChildInput() { Close(); }
  ChildInput(const ChildInput&) = delete;
  ChildInput& operator=(const ChildInput&) = delete;

 private:
  void OnWritable();
  void Close();

  RealLoop& loop_;
  Fd fd_;
  const std::string text_;
  size_t sent_ = 0;
};

}  // namespace spate::os
