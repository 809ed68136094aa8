// Starts one program, vfork-style: the child borrows this process's memory until it has become
// the program, so the price does not grow with our size and a failure of exec is known exactly.
#pragma once

#include <sys/types.h>

#include "os/affinity.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

// What a child is to be. Pointers must live until StartProgram returns.
struct Program {
  const char* path = nullptr;         // absolute, or relative to the current folder; with a slash
  const char* const* argv = nullptr;  // ends with a null pointer
  const char* const* envp = nullptr;  // ends with a null pointer
  int in = -1, out = -1, err = -1;    // become 0, 1, 2; -1: as they are in this process
  pid_t group = 0;                    // process group to join; 0: a new one, led by the child
  int nice = 0;                       // added to ours
  const os::CpuMask* cpus = nullptr;  // where it may run; null: where this process may
  const TaskUser* user = nullptr;     // whom it shall be for good; this process is AsUser
};

struct StartResult {
  pid_t pid = -1;      // -1: no child was made
  int fork_error = 0;  // errno of the failed start of a child (EAGAIN, ENOMEM: try again later)
  int exec_error = 0;  // errno of exec: the child exits with 127 and must be reaped as any other
  int nice_error = 0;  // the program runs, but with another nice value
};

// The child has an empty signal mask, and is killed when the calling thread ends.
// All descriptors above 2 are expected to be close-on-exec. A file without a "#!" line that is not
// a program of this machine is run by /bin/sh, as execvp does.
// The caller has no signal handlers (they could run in the child, on our memory), one thread, and
// may have any signals blocked.
class Starter {
 public:
  Starter();  // maps a stack for the child; CHECKs that this worked
  ~Starter();
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  StartResult StartProgram(const Program& program);

 private:
  char* stack_;
};

}  // namespace spate::shepherd
