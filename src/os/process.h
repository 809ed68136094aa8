// Processes as /proc shows them, and how to end them. From any thread, unless said otherwise.
//
// A pid alone names nothing for long: it is used again after its process was waited for. Pairs of
// pid and start time, pidfds, and children that this process has not waited for yet do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"

namespace spate::os {

using Pid = int32_t;

struct ProcessInfo {
  Pid pid = 0;
  Pid parent = 0;
  Pid group = 0;
  Pid session = 0;
  char state = '?';         // as in ps: R S D T Z ...
  uint64_t start_time = 0;  // clock ticks since boot; with the pid it names a process
  uint64_t resident = 0;    // bytes
  Duration user, system;    // its own and those of children that it waited for
  Duration own;             // user and system time, its own alone
  uint32_t threads = 0;
  uint64_t stack = 0;   // address of its stack: another one for each program that it executes; 0:
                        // not told
  std::string command;  // the first 15 bytes of the program's name
  bool ending = false;  // killed by a signal, or about to exit; it may take a moment
};

Pid OwnPid();
Pid ParentPid();
// The exit code of a status of wait(2); 128 + the signal's number where a signal ended it.
int ExitStatusOf(int wait_status);
// Gives the null device to those of the descriptors 0, 1 and 2 that are closed, so that no file
// that is opened later becomes one of them. The first thing in a program.
void FillStandardStreams();
// The file that this process runs, as the system knows it: good to start it again.
Result<std::string> OwnProgram();

// How many files this process may have open at once: its own limit, and what it may raise it to.
struct OpenFileLimit {
  uint64_t now = 0;
  uint64_t most = 0;
};
OpenFileLimit GetOpenFileLimit();
// Programs that use select(2) break with more than 1024, so whoever raises the limit for itself
// gives tasks the earlier one.
Status SetOpenFileLimit(uint64_t now);

// Limits of this process that its user sets in a shell (ulimit -S -s -c -n, nice). UINT64_MAX:
// none.
struct OwnLimits {
  uint64_t stack_bytes = 0, core_bytes = 0, open_files = 0;
  int nice = 0;
};
OwnLimits GetOwnLimits();

// Freed memory, up to this many bytes of each arena, and blocks up to half of that, stays with the
// process for what is allocated next; with the C library's own bounds blocks of some MB that come
// and go cost more in page faults than in copies. Bounds that the user has set ($MALLOC_...)
// remain. Without effect where the C library has no such bounds.
void KeepFreedMemory(size_t bytes);

// All take the place where procfs is mounted, for tests.
// kNotFound when there is no such process; zombies are still there.
Result<ProcessInfo> InfoOf(Pid pid, const std::string& proc = "/proc");
// One line of /proc/PID/stat.
Result<ProcessInfo> ParseProcessStat(std::string_view line);
// 0 when there is no such process.
uint64_t StartTimeOf(Pid pid, const std::string& proc = "/proc");
// True if that very process still runs; zombies do not.
bool IsAlive(Pid pid, uint64_t start_time, const std::string& proc = "/proc");

// Another one after each start of the machine; empty when unknown.
std::string BootId(const std::string& proc = "/proc");

// So long ago a process with this start time was started.
Duration AgeOf(uint64_t start_time);

// Children, zombies included. Those that start or end meanwhile may be missing.
std::vector<Pid> ChildrenOf(Pid pid, const std::string& proc = "/proc");
// Children, their children and so on; parents come before their children.
std::vector<Pid> DescendantsOf(Pid pid, const std::string& proc = "/proc");
// Resident bytes of the descendants; pages that several share count for each.
uint64_t RssOfDescendants(Pid pid, const std::string& proc = "/proc");

// Orphans below this process become its children (kept over exec, not over fork).
Status BecomeSubreaper();

struct ReapedChild {
  Pid pid = 0;
  int wait_status = 0;       // as wait(2) gives it
  bool was_running = false;  // it had not ended before it was killed here
};
struct EndedChildren {
  uint32_t reaped = 0;
  uint32_t killed = 0;    // of these, had to be killed
  uint32_t rounds = 0;    // looks at the list of children
  std::vector<Pid> left;  // empty when no child is left; else what would not go in time
};
// Ends everything below this process, which must be a subreaper and should have one thread that
// waits for children: kills (SIGKILL) and reaps children, and those whom their death makes
// children, in rounds, until none is left or `patience` is over. Only own unreaped children are
// signalled, so no pid of others is ever hit. Costs one system call when there is no child.
EndedChildren EndAllChildren(Duration patience,
                             const std::function<void(const ReapedChild&)>& on_reaped = nullptr);

// kUnavailable on kernels before 5.3.
Result<Fd> PidfdOpen(Pid pid);
// kNotFound when the process has ended.
Status PidfdSignal(int pidfd, int signo);
// True if the process has ended (as a zombie or for good).
bool PidfdEnded(int pidfd);

}  // namespace spate::os
