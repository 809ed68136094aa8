// Starts one program, vfork-style: the child borrows this process's memory until it has become
// the program, so the price does not grow with our size and a failure of exec is known exactly.
// Until then this process is suspended. A program that may be on a file server, or is to run in a
// folder there, is started *aside*: by a forked child, which alone waits for the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model/body.h"
#include "os/affinity.h"
#include "os/fd.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

// No process, memory or descriptor is to be had now: not the task's failure.
bool IsShortage(int error);

// Why an attempt cannot be started.
struct StartFailure {
  int shortage = 0;  // errno: try again later
  std::string why;   // else the task's failure
  // `what` failed with this errno.
  static StartFailure Of(int error, const std::string& what);
};

struct Descriptor {
  int from;  // of this process; greater than any `to`
  int to;    // of the child
};

// Description of a child. Pointers must live until StartProgram returns.
struct Program {
  const char* path = nullptr;         // absolute, or relative to the current folder; with a slash
  const char* const* argv = nullptr;  // ends with a null pointer
  const char* const* envp = nullptr;  // ends with a null pointer
  int in = -1, out = -1, err = -1;    // become 0, 1, 2; -1: as they are in this process
  std::span<const Descriptor> descriptors;    // after these, and in their place
  std::span<const ProcessLimit> soft_limits;  // first; no more than the hard ones are
  std::span<const ProcessLimit> limits;
  pid_t group = 0;                    // process group to join; 0: a new one, led by the child
  int nice = 0;                       // added to ours
  const os::CpuMask* cpus = nullptr;  // where it may run; null: where this process may
  bool must_have_cpus = false;        // else it may run elsewhere, where the system refuses that
  const TaskUser* user = nullptr;     // whom it shall be for good; this process is AsUser
  const char* folder = nullptr;       // to be entered first, if any; then it is started aside
  bool aside = false;
  const char* search =
      nullptr;  // started aside: where argv[0] is, when it is not at `path` any more
};

struct StartResult {
  pid_t pid = -1;      // -1: no child was made
  int fork_error = 0;  // errno of the failed start of a child (EAGAIN, ENOMEM: try again later)
  int exec_error = 0;  // errno of exec: the child exits with 127 and must be reaped as any other
  std::optional<ProcessLimit> refused_limit;  // exec_error is of this one,
  bool refused_cpus = false;                  // or of its processors,
  bool refused_folder = false;                // or of Program::folder
  bool lacks_interpreter = false;             // ENOENT is not of the program itself
  bool is_folder = false;                     // EACCES is of a folder
  bool is_noexec = false;                     // EACCES is of a file system without programs
  int nice_error = 0;                         // the program runs, but with another nice value
  uint32_t cut_limits = 0;                    // or with lower ones of Program::soft_limits (CutBit)
};

constexpr uint32_t CutBit(LimitKind kind) { return 1u << static_cast<uint32_t>(kind); }
// This process' own, which its children have.
uint64_t HardLimitOf(LimitKind kind);

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

  // Only the pid and fork_error are known at once of a program that is started aside.
  StartResult StartProgram(const Program& program);
  // For programs that were started aside:
  // The path of one that has not become its program yet; null: there is none.
  const char* Waiting();
  // This one has ended: what its start has come to. Nullopt: it was not started aside.
  std::optional<StartResult> Ended(pid_t pid);
  void Forget() { aside_.clear(); }
  // From now on each program of this process's own user has these too, where nothing else is to be
  // in their place.
  void PassOn(std::vector<Descriptor> descriptors) { passed_on_ = std::move(descriptors); }

 private:
  struct Aside {
    pid_t pid;
    std::string path;
    os::Fd report;  // its end: it has become the program, or has ended
    StartResult result;
  };
  StartResult StartAside(const Program& program, std::span<const Descriptor> passed_on);
  static void Read(Aside& one);

  std::vector<Descriptor> passed_on_;
  std::vector<Aside> aside_;
  char* stack_;
};

}  // namespace spate::shepherd
