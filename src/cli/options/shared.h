// Options that code outside of their definition names, and lists of them.
#pragma once

#include "cli/options/option.h"

namespace spate::cli::opt {

// Options of jobs: their tasks' needs and surroundings, their nodes, their sources, the output that
// is shown, what is kept, and a submit's own.
extern const OptionRows kTaskRows, kNodeRows, kSourceRows, kScreenRows, kKeptRows, kSubmitRows;

// Some of these; options of many kinds of commands, too.
extern const Option &kJobs, &kCpus, &kMemory, &kGpus, &kResource, &kTimeLimit, &kDeadline, &kEnv,
    &kPlanTime, &kWithLabel, &kOnNode, &kNotOnNode, &kInPool, &kFollowUntil, &kNoBar, &kProfile,
    &kGangPolicy, &kNewKey, &kKey, &kArray, &kLike, &kPriority, &kJobWeight, &kMaxRunning, kTarget,
    kResume, kSucceeded, kRunPool, kDryRun, kOutput, kQuiet, kJson, kState, kKeep, kLimit, kFilter,
    kStream, kStderrOnly, kFollowOutput, kTimeout, kJobsOfUser, kReason, kHub, kLocal, kAccess, kAt,
    kHelp, kHelpAll;

// Options of the commands that describe tasks, and of those that start hubs and nodes; forms of
// output; whose jobs are meant; both for commands about jobs, a hub's or runs, about jobs of a hub
// alone, about a hub, and about the state folder here.
extern const OptionGroup kOfRun, kOfRetry, kOfSubmit, kOfAdd, kOfHubStart, kOfNodeStart, kForms,
    kWhose, kAboutJobs, kAboutHubJobs, kAboutHub, kAboutHere;

}  // namespace spate::cli::opt
