// A pool's knowledge of its batch system: which commands to run, and what their answers mean.
//
// Data in, data out: a driver starts no process, reads no file and has no clock. The pool's
// owner runs a CommandLine as the pool's user, outside the loop and with a timeout, and brings the
// Outcome back. Drivers have no state; any thread may use them.
//
// A failed command is no evidence about any pilot. Only a text that names a pilot is.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spate::pool {

// The commands of a batch system, as a pool has them. Empty paths are the system's usual names, to
// be found by PATH; several systems have a qsub, so a site that has two must give paths. ssh has
// one command, `submit`, and local has none.
struct Tools {
  std::string submit, query, cancel;
  std::string host;                     // ssh: the one of this driver, as ssh takes it: "ann@host"
  std::string select;                   // pbs: qselect
  std::string user;                     // whose batch jobs they are; gridengine and pbs need it
  std::vector<std::string> everywhere;  // words for each command (not pbs): "-M", "CLUSTER"; for
                                        // ssh before ours, but for BatchMode: the first word counts
};

struct PilotSpec {
  // Name of the batch job, of no other ever: a pilot whose id was lost is found by it. See
  // ValidTag.
  std::string tag;
  // The user's own, behind ours, so that they count where both say something. Those that a pool
  // cannot do without (name, output, array) are refused. htcondor: lines NAME=VALUE of a submit
  // description; what is none is given to condor_submit.
  std::vector<std::string> options;
  std::vector<std::string> avoid;      // hosts; pbs, ssh and local cannot leave any out
  std::optional<Duration> time_limit;  // whole seconds, rounded up; else the options' or the site's
  int nodes = 1;                       // hosts in one allocation
  std::string output_file;             // of stdout and stderr; absolute
  std::string folder;                  // where the script starts; absolute, or "" for the system's
  // Commands of shell, in the script's own shell: what the prologue sets, the pilot has, and its
  // tasks (pool/prologue.h). A prologue whose last command fails ends the pilot. The epilogue runs
  // however the pilot ends, except by SIGKILL.
  std::string prologue, epilogue;
  std::string wrapper;  // words of shell before the command: what runs it in a container
  std::vector<std::string> command;  // of the pilot; words
  // Files of this host that `command` names in words of their own: the program, the credential.
  // Unless they are shared, the system's own transfer brings them, and the words are changed. ssh
  // brings them itself: command[0] once to each host, the others (1 MiB at most) for this pilot
  // alone, readable by the user alone, until it has ended.
  std::vector<std::string> files;
  bool shared_files = true;
  std::string script_file;  // where the script may be put, if the system wants a file; absolute
};

struct TextFile {
  std::string path, text;  // to be made with mode 0700, before the command is run
};

// A command to run, in a process group of its own: it may start others, and a timeout ends them
// all.
struct CommandLine {
  std::vector<std::string> argv;
  std::string input;  // its whole stdin; the script, unless it is a file
  std::optional<TextFile> file;
  std::vector<std::string> environment;  // NAME=value, over the user's own
  std::string name = {};                 // for messages; empty: argv[0]
  // A warning on stderr with this text counts as a failure, whatever the exit code; and what to do.
  struct Complaint {
    std::string text, remedy;
  };
  std::optional<Complaint> complaint = {};
};

// How a command ended.
struct Outcome {
  enum class End { kExited, kTimedOut, kNotStarted };
  End end = End::kExited;
  int exit_code = 0;     // with kExited; 128 + the signal's number where a signal ended it
  std::string out, err;  // any bytes; with kNotStarted, `err` says why
};

struct SubmitFailure {
  enum class Kind {
    kLimit,        // the system takes no more for now: queue full, MaxSubmitJobs, a QOS
    kRefused,      // never, as it stands: a wrong option, account or queue
    kUnavailable,  // the system does not answer, or the queue is closed
  };
  Kind kind = Kind::kRefused;
  // The batch job may be there all the same: ask for the tag before it is submitted again.
  bool perhaps_there = false;
  std::string message;  // one line: the command, and what it said
};
using Submitted = std::expected<std::string, SubmitFailure>;  // the batch job's id

struct PilotQuery {
  std::string prefix;            // of the tags of the pool's pilots
  std::vector<std::string> ids;  // those known so far
};

enum class PilotState {
  kQueued,
  kRunning,  // has its allocation; also while it is suspended, or being ended
  kHeld,     // starts only after somebody has changed something
  kEnded,
  kUnknown,  // the system names it, in a word that we do not know: it is there
};

struct ListedPilot {
  std::string id;
  std::string tag;  // "" when the system named the id alone
  PilotState state = PilotState::kUnknown;
  std::string reason;  // as the system gives it, or ""
};

class PoolDriver {
 public:
  virtual ~PoolDriver() = default;

  // kInvalid when the spec cannot be had from this system, or an option would break the pool.
  virtual Result<CommandLine> Submit(const PilotSpec& spec) const = 0;
  virtual Submitted ReadSubmit(const Outcome& outcome) const = 0;

  // One command for all pilots of a pool.
  virtual CommandLine Query(const PilotQuery& query) const = 0;
  // The pilots of the pool that the text names, in its order, each id once; the last word on it
  // counts. A pilot that is not among them was unknown to the system or has been forgotten, or its
  // submit was still under way: that is no proof of its end. kUnavailable when the command failed.
  virtual Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                                     const Outcome& outcome) const = 0;

  // Ends batch jobs, queued or running; `ids` is not empty. Ids that are gone do no harm, but may
  // make the command fail. Whether they have gone is known by the next query.
  virtual CommandLine Cancel(std::span<const std::string> ids) const = 0;

  // Tries the spec without a submit; nullopt when the system has no such test, or Submit fails.
  virtual std::optional<CommandLine> Test(const PilotSpec& spec) const = 0;
};

// 1 to 60 letters, digits, "-" and "_", the first a letter: every system takes it whole. (Old ones
// than those named in docs/design/038-batch-systems.md allow 15 bytes.)
bool ValidTag(std::string_view tag);

// Result of Test and Cancel: what the command said, if it failed.
Status CheckOutcome(const CommandLine& call, const Outcome& outcome);

}  // namespace spate::pool
