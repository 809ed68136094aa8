// parasol: jobs, machines and users of a hub. Here its command line; the hub carries most of it
// out (doors/doors.h), the rest does doors/parasol/client.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/parasol/programs/parasol_options.h"
#include "doors/parasol/programs/programs.h"

namespace spate::parasol {

enum class ParasolVerb : uint8_t {
  kAddMachine,
  kAddSpoke,
  kAddJob,
  kRemoveMachine,
  kRemoveJob,
  kRemoveJobs,
  kPing,
  kListMachines,
  kListJobs,
  kListUsers,
  kListBatches,
  kListSick,
  kStatus,
  kPstat,
  kPstat2,
  kPlan,
  kCheckDead,
  kClearSick,
  kFlushResults,
};

struct ParasolAsk {
  ParasolVerb verb = ParasolVerb::kStatus;
  std::vector<std::string> words;  // behind the command's own, at least as many as it needs
  ParasolOptions options;
};
// Parses the words after the program's name. The error is the usage.
Result<ParasolAsk> ParseParasol(std::span<const std::string> args);

// `remove jobs USER PATTERN`: * stands for any text, ? for any byte.
bool MatchesWildcards(std::string_view pattern, std::string_view text);

// The commands that the usage names: "list machines", "ping".
std::vector<std::string> ParasolCommands();

inline constexpr cli::Program kParasol = {
    .name = "parasol",
    .summary = "look into a hub's jobs, machines and users, and change them",
    .usage = R"(parasol - look into a hub's jobs, machines and users, and change them
usage:
   parasol [options] COMMAND
commands:
   add machine HOST TMPDIR          use HOST; waits up to 10 seconds for its node
   add machine HOST CPUS RAM_MB TMPDIR LOCALDIR LOCAL_MB SWITCH
                                    the same
   remove machine HOST "REASON"     stop using HOST; its jobs run again elsewhere
   check dead                       check dead machines now; they also return without this
   add spoke                        no effect, because there are no spokes
   add job COMMAND                  submit a job; several words keep their boundaries
   remove job ID                    end a job, or remove it from the queue
   remove jobs USER [PATTERN]       the same for all of USER, or those with a command like
                                    PATTERN, in which * is any text and ? any character
   clear sick                       use the machines again on which jobs of the batch failed
   ping [COUNT]                     check whether the hub answers
   list machines
   list jobs
   list users
   list batches
   list sick                        machines that fail for everybody
   status                           numbers of machines, CPUs, jobs and users
   pstat, pstat2                    running and waiting jobs, for programs
   plan                             state of machines for the next job
   flushResults                     bring the file of the batch's results up to date
options:
   -host=HUB       the hub's machine (default: that of the access file, or this machine)
   -results=FILE   file for the results of a job; also names its batch (default: results)
   -extended       list jobs: with the file of results
   -all            list batches: include idle ones
of add job:
   -in=FILE -out=FILE   standard input and output (default: /dev/null)
   -dir=FOLDER     folder where the job runs (default: here)
   -cpu=N -ram=N   CPUs, and memory in bytes or as 64k, 512m, 2g, 1t
   -printId        print the job's number
   -verbose        print the job's number and command
   -wait           wait for the job's end; the exit code is that of the job, or 255
   -err=FILE       with -wait: file for the job's standard error
)",
    .commands = ParasolCommands};

}  // namespace spate::parasol
