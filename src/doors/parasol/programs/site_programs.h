// The programs that run a site as Parasol's do: its hub, its nodes, and what starts, stops and asks
// them. Here their command lines; apps/spate.cc and doors/parasol/site/para_site_tools.h carry them
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "doors/parasol/programs/programs.h"

namespace spate::parasol {

// The port of a node. Parasol's has UDP at the same number, which does not meet ours.
inline constexpr uint16_t kNodePort = 18141;

// "stdin" for the file of a machine list, "stdout" for that of a log.
inline constexpr std::string_view kStdinName = "stdin";
inline constexpr std::string_view kStdoutName = "stdout";

struct ParaHubOptions {
  std::string machine_list;
  std::optional<uint16_t> port;
  std::string subnet;  // empty: whoever has a credential
  std::string log;     // empty: in the hub's folder
  bool debug = false;
  std::optional<uint64_t> ram_unit;  // bytes
  uint64_t default_ram_units = 1;    // of a job that does not say
};
// The error of all these is the usage when the words are not so many as they should be.
Result<ParaHubOptions> MakeParaHubOptions(std::span<const std::string> args);

struct ParaNodeOptions {
  uint32_t cpus = 1;
  std::optional<uint64_t> memory;  // bytes
  std::string name;                // empty: $HOST, or the machine's
  std::string hub;                 // HOST[:PORT]; empty: as the access says
  std::optional<uint16_t> port;
  uint32_t umask = 0002;
  std::string user_path, sys_path;       // folders with colons between them
  std::vector<std::string> environment;  // NAME=VALUE
  std::string temp_dir = "/tmp";
  Duration keep_errors = Duration::Seconds(7 * 86400);
  std::string log;  // empty: in the node's folder
  bool debug = false;
  bool kit_from_stdin = false;  // from paraNodeStart
};
Result<ParaNodeOptions> MakeParaNodeOptions(std::span<const std::string> args);

struct ParaNodeStartOptions {
  std::string machine_list;
  std::string exe = "paraNode";
  std::vector<std::string> rsh;  // the words before the host's name
  std::string hub;
  std::optional<uint16_t> port;
  std::vector<std::string> passed;  // for the node, quoted for its shell
};
Result<ParaNodeStartOptions> MakeParaNodeStartOptions(std::span<const std::string> args);

// Options of paraNodeStop and paraNodeStatus.
struct ParaNodeAskOptions {
  std::string machine_list;
  std::optional<uint16_t> port;
  bool lengthy = false;
};
Result<ParaNodeAskOptions> MakeParaNodeStopOptions(std::span<const std::string> args);
Result<ParaNodeAskOptions> MakeParaNodeStatusOptions(std::span<const std::string> args);
// Requires a word after paraHubStop; the error is the usage.
Status CheckParaHubStop(std::span<const std::string> args);

inline constexpr cli::Program kParaHub = {
    .name = "paraHub", .summary = "the hub of a site", .usage = R"(paraHub - the hub of a site
usage:
   paraHub MACHINELIST
MACHINELIST: a line for each machine, with its name, CPUs, memory in MB, folder for temporary
files, and three more words, which are ignored.
options:
   -log=FILE         file for the hub's log, or stdout (default: in its folder)
   -debug            stay in the foreground
   -subnet=LIST      accept only peers from these networks, such as 192.168 or 10.0.0.0/8,fd00::/8;
                     they still need a credential (default: all networks)
   -ramUnit=SIZE     memory of a job that states none, as 512m or 2g (default: memory of the
                     first machine divided by its CPUs)
   -defaultJobRam=N  number of these units for such a job (default: 1)
accepted without effect:
   -spokes -jobCheckPeriod -machineCheckPeriod   nodes report their state themselves
   -nextJobId -noResume                          the journal knows all jobs
   -logFacility -logMinPriority -logFlush        everything is logged, each line at once
)"};

inline constexpr cli::Program kParaHubStop = {.name = "paraHubStop",
                                              .summary = "end the hub of a site",
                                              .usage = R"(paraHubStop - end the hub of a site
usage:
   paraHubStop now
Jobs are kept, and nodes continue to run theirs. The next hub resumes the jobs.
)"};

inline constexpr cli::Program kParaNode = {
    .name = "paraNode", .summary = "a node of a site", .usage = R"(paraNode - a node of a site
usage:
   paraNode start
paraNodeStart starts a node on each machine, with access to the hub.
options:
   -cpu=N             CPUs, and thus the number of jobs at once (default: 1)
   -ram=MB            memory for jobs (default: the machine's)
   -hub=HOST[:PORT]   connect to the hub there; answer only that host and this machine
   -node=NAME         the node's name (default: $HOST, or the machine's)
   -umask=NNN         permissions that files of jobs lack, octal (default: 002)
   -userPath=A:B      folders for PATH, below the home of the job's user
   -sysPath=A:B       folders for PATH, after these
   -env=NAME=VALUE    variable for jobs; may be given several times
   -tempDir=DIR       folder for the standard error of jobs (default: /tmp)
   -errKeep=DAYS      how long to keep it (default: 7)
   -log=FILE          file for the node's log, or stdout (default: in its folder)
   -debug             stay in the foreground
accepted without effect:
   -randomDelay                   jobs start at once
   -logFacility -logMinPriority   everything is logged
)"};

inline constexpr cli::Program kParaNodeStart = {
    .name = "paraNodeStart",
    .summary = "start the nodes of a site",
    .usage = R"(paraNodeStart - start the nodes of a site
usage:
   paraNodeStart MACHINELIST
MACHINELIST: a line for each machine, with its name and CPUs, and optionally memory in MB and folder
for temporary files; stdin means standard input. The hub does not have to be running yet.
options:
   -hub=HOST[:PORT]   where the nodes find the hub (default: this host)
   -rsh=COMMAND       command that runs a command on another machine (default: ssh)
   -exe=FILE          the node's program there (default: paraNode)
passed on to paraNode:
   -umask -userPath -sysPath -env -errKeep -log -randomDelay -logFacility -logMinPriority
)"};

inline constexpr cli::Program kParaNodeStop = {.name = "paraNodeStop",
                                               .summary = "end the nodes of a site",
                                               .usage = R"(paraNodeStop - end the nodes of a site
usage:
   paraNodeStop MACHINELIST
MACHINELIST: a line for each machine that begins with its name. Needs no hub. Jobs that run on the
nodes end, and run again elsewhere.
)"};

inline constexpr cli::Program kParaNodeStatus = {
    .name = "paraNodeStatus",
    .summary = "what the nodes of a site run",
    .usage = R"(paraNodeStatus - what the nodes of a site run
usage:
   paraNodeStatus MACHINELIST
MACHINELIST: a line for each machine that begins with its name. Needs no hub.
options:
   -long        running jobs, and jobs that ended recently
   -retries=N   without effect, for command lines that have it
)"};

}  // namespace spate::parasol
