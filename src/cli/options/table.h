// The one table of commands and options: the parser, --help, the man pages and the shells'
// completions are all made from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace spate::cli {

enum class Command : uint8_t {
  kRun,
  kJobList,
  kJobInfo,
  kJobTasks,
  kJobGraph,
  kJobCat,
  kJobTail,
  kJobGet,
  kJobRetry,
  kJobForget,
  kTaskInfo,
  kTaskExplain,
  kStateCheck,
  kStateSalvage,
  kSubmit,
  kJobWait,
  kJobProgress,
  kJobCancel,
  kJobHold,
  kJobRelease,
  kJobSet,
  kJobAdd,
  kJobClose,
  kHubStart,
  kHubStatus,
  kHubStop,
  kHubAccess,
  kHubUser,
  kHubSet,
  kHubBackup,
  kHubRestore,
  kNodeStart,
  kNodeStop,
  kNodeList,
  kNodeInfo,
  kNodeDrain,
  kNodeResume,
  kNodeRemove,
  kPoolAdd,
  kPoolList,
  kPoolInfo,
  kPoolDryRun,
  kPoolLog,
  kPoolPause,
  kPoolResume,
  kPoolSet,
  kPoolRemove,
  kTop,
  kOverseer,
  kRemote,
  kReport,
  kSem,
  kSimulate,
  kHelp,
  kVersion,
};

using CommandSet = uint64_t;
constexpr CommandSet Bit(Command c) { return uint64_t{1} << static_cast<unsigned>(c); }

// How `spate --help` puts the commands together.
enum class CommandGroup : uint8_t { kMachine, kHub, kNodes, kPools, kRunning, kHistory, kGeneral };
std::string_view GroupTitle(CommandGroup group);
inline constexpr int kCommandGroupCount = 7;

// What shells offer for the words of a command: numbers of jobs, of those that have not ended,
// "12." for a task of job 12, ...
enum class Completes : uint8_t {
  kNothing,
  kFiles,
  kJobs,
  kUnfinishedJobs,
  kTasks,
  kNodes,
  kPools,
  kSystems,
  kCommands
};

struct Example {
  std::string_view command;  // as one types it in a shell
  std::string_view text;     // what it does
};

struct CommandDef {
  Command id;
  CommandGroup group;
  std::string_view name;       // "run", "job list"
  std::string_view arguments;  // of the usage line, after [OPTIONS]
  Completes completes = Completes::kNothing;
  std::string_view summary;           // one line, without a full stop
  std::string_view details;           // paragraphs for --help-all and the man page
  std::array<Example, 4> examples{};  // two to four; those without a command are none
  uint32_t words_min = 0;             // words that are no options, before `--`
  uint32_t words_max = UINT32_MAX;
  bool takes_command = false;  // whether `-- COMMAND...` may follow
};

enum class Opt : uint8_t {
  kHelp,
  kHelpAll,
  // Where the tasks come from.
  kFormat,
  kArgFile,
  kJsonLines,
  kNull,
  kDelimiter,
  kColsep,
  kCsv,
  kHeader,
  kMaxArgs,
  kFill,
  kTrim,
  kReplace,
  kPipe,
  kPipepart,
  kBlock,
  kRecstart,
  kRecend,
  kRoundRobin,
  kFollow,
  kResume,
  kDryRun,
  // Needs of one task.
  kCpus,
  kMemory,
  kGpus,
  kResource,
  kOffer,
  kProcs,
  kGangNodes,
  kProcsPerNode,
  kWholeNodes,
  kGangStart,
  kBound,
  kDeadline,
  // How many at once, and when.
  kJobs,
  kDelay,
  kMinFreeMemory,
  kMaxLoad,
  kNice,
  kOrder,
  kShuf,
  // Time, failures and tries.
  kTimeLimit,
  kWarnTime,
  kKillGrace,
  kWarnSignal,
  kLeftovers,
  kRetries,
  kRetryOn,
  kRetryDelay,
  kRetryElsewhere,
  kRetryMemory,
  kMaxMemory,
  kMaxFailures,
  kHalt,
  kOnce,
  // The tasks' surroundings.
  kEnv,
  kCwd,
  kShell,
  kPipefail,
  kStdin,
  kStdout,
  kStderr,
  kPut,
  kGet,
  kForward,
  kForwardFile,
  kResident,
  kMeasureIo,
  // Output.
  kKeepOrder,
  kTag,
  kTagString,
  kLineBuffer,
  kOutput,
  kQuiet,
  kJson,
  kNoBar,
  kJoblog,
  kResults,
  kKeepOutput,
  // State.
  kName,
  kProfile,
  kState,
  kKeep,
  // History commands.
  kAll,
  kLimit,
  kFilter,
  kSvg,
  kDot,
  kStream,
  kStderrOnly,
  kRank,
  kFollowOutput,
  kLines,
  kOlderThan,
  // Hub.
  kHub,
  kLocal,
  kAccess,
  kListen,
  kDaemon,
  kRole,
  kUser,
  kExpires,
  kWeight,
  kMaxQueued,
  kMaxOutput,
  kGangPolicy,
  // submit.
  kWait,
  kProgress,
  kArray,
  kAfter,
  kLike,
  kPriority,
  kJobWeight,
  kMaxRunning,
  kOpen,
  kNotify,
  kPlanTime,
  kWithLabel,
  kOnNode,
  kNotOnNode,
  kInPool,
  // What a node offers.
  kNodeName,
  kNodeSlots,
  kNodeCpus,
  kNodeBind,
  kNodeMemory,
  kNodeGpus,
  kNodeResource,
  kNodeLabel,
  kLifetime,
  kIdleExit,
  kHubPatience,
  kGangPort,
  kPilot,
  kRunPool,
  kTmp,
  kUsers,
  kSuspectAfter,
  kLostAfter,
  kForgetNodes,
  kAllowRoot,
  kMetrics,
  // A pool: how many pilots.
  kMaxPilots,
  kMinPilots,
  kPilotBacklog,
  kPilotNodes,
  kPilotTimeLimit,
  kPilotLifetime,
  kPilotIdleExit,
  kChain,
  kSubmitRate,
  kPoolUser,
  // What its nodes offer.
  kPoolSlots,
  kPoolCpus,
  kPoolMemory,
  kPoolGpus,
  kPoolResource,
  kPoolLabel,
  kPoolNodeOption,
  // Where and how they are started.
  kHosts,
  kPrologue,
  kEpilogue,
  kSubmitCommand,
  kQueryCommand,
  kCancelCommand,
  kSelectCommand,
  kCommandWord,
  kPoolAddress,
  kPoolFolder,
  kPoolProgram,
  kNoSharedFiles,
  kNoTest,
  kPoolDryRun,
  // When a pilot has failed.
  kWatchUnknown,
  kWatchError,
  kWatchSuspended,
  kWatchSilent,
  kWatchJoining,
  // Changing pools.
  kPauseReason,
  kPoolWait,
  // Looking.
  kOneLook,
  kSince,
  kOfUser,
  kSuggest,
  // sem.
  kSemSlots,
  kSemName,
  kSemForeground,
  kSemWait,
  kSemTimeout,
  // overseer.
  kLocalSlaves,
  kMaxSlaves,
  kEvery,
  kShip,
  kNoShip,
  // simulate.
  kPolicy,
  kReplayOrder,
  kEstimates,
  kTraceFilter,
  kJobHistory,
  kMachineNodes,
  kMachineCpus,
  kPlacement,
  kFirst,
  kSchedule,
  kPlot,
};

enum class Group : uint8_t {
  kSources,
  kNeeds,
  kSlots,
  kFailures,
  kTask,
  kOutput,
  kState,
  kSelect,
  kHub,
  kPilots,
  kPoolNodes,
  kSystem,
  kGeneral,
};
std::string_view GroupTitle(Group group);
inline constexpr int kGroupCount = 13;

enum class Complete : uint8_t { kNothing, kFile, kFolder, kWords };

struct OptionDef {
  Opt id;
  std::string_view names;     // "time-limit,timeout": the first is ours, the others are accepted
  std::string_view letters;   // "jP", likewise
  std::string_view argument;  // "N", empty for a switch
  Group group = Group::kGeneral;
  CommandSet commands = 0;  // where it applies
  std::string_view help;    // one line for --help
  std::string_view more;    // further sentences for --help-all and the man page
  bool repeat = false;      // every value counts, not only the last one
  Complete complete = Complete::kNothing;
  std::string_view words;  // for kWords: "human json quiet"
  // A switch that is short for another option with a value ("-q" for "--output quiet").
  Opt short_for = Opt::kHelp;
  std::string_view short_for_value;

  std::string_view name() const { return names.substr(0, names.find(',')); }
};

std::span<const CommandDef> Commands();
std::span<const Example> ExamplesOf(const CommandDef& def);
// The first definition of the command is its own.
bool IsOtherName(const CommandDef& def);
std::span<const OptionDef> Options();
const CommandDef& Definition(Command command);
const OptionDef& Definition(Opt opt);
// "--jobs", the way messages name it.
std::string DashedName(Opt opt);

}  // namespace spate::cli
