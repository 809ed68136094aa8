// Options that several commands take, by name, for those commands and who reads them.
#pragma once

#include "cli/options/option.h"

namespace spate::cli::opt {

// Sources of a job's tasks.
extern const Option kFormat, kArgFile, kJsonLines, kNull, kDelimiter, kColsep, kCsv, kHeader,
    kMaxArgs, kLongMaxArgs, kFill, kTrim, kReplace, kLiteralBraces, kPipe, kPipepart, kBlock,
    kRecstart, kRecend, kRoundRobin, kFollow, kFollowUntil, kTarget, kResume, kSucceeded;
extern const OptionGroup kLists, kValues, kParts;

// Its tasks.
extern const Option kJobs, kDelay, kOrder, kShuf, kMinFreeMemory, kMaxLoad, kNice, kCpus, kMemory,
    kGpus, kResource, kOffer, kProcs, kGangNodes, kProcsPerNode, kWholeNodes, kGangStart, kBound,
    kRetries, kRetryOn, kRetryDelay, kRetryElsewhere, kRetryMemory, kMaxMemory, kOnce, kTimeLimit,
    kDeadline, kKillGrace, kWarnSignal, kLeftovers, kWarnTime, kMaxFailures, kHalt, kEnv, kCwd,
    kShell, kPipefail, kStdin, kStdout, kStderr, kAppend, kPut, kGet, kForward, kForwardFile,
    kResident, kMeasureIo, kPlanTime, kWithLabel, kOnNode, kNotOnNode, kInPool;
extern const OptionGroup kTaskNeeds, kGangs, kNodeWishes, kPacing, kShuffles, kTries, kEnds,
    kShells, kTaskStreams, kTaskFiles;

// Output that is shown and kept.
extern const Option kKeepOrder, kTag, kTagString, kLineBuffer, kNoBar, kJoblog, kResults,
    kKeepOutput, kName, kProfile, kRunPool;
extern const OptionGroup kScreen, kRunFiles;
extern const Option kWait, kProgress, kKey, kArray, kOpen, kAfter, kLike, kNotify, kPriority,
    kJobWeight, kMaxRunning;

// Options of many kinds of commands.
extern const Option kDryRun, kOutput, kQuiet, kJson, kState, kKeep, kLimit, kFilter, kStream,
    kStderrOnly, kFollowOutput, kTimeout, kJobsOfUser, kReason, kHub, kLocal, kAccess, kAt, kHelp,
    kHelpAll;
// The forms of output; whose jobs are meant; both for commands about jobs, a hub's or runs, about
// jobs of a hub alone, about a hub, and about the state folder here.
extern const OptionGroup kForms, kWhose, kAboutJobs, kAboutHubJobs, kAboutHub, kAboutHere;

}  // namespace spate::cli::opt
