#include "cli/options/job_words.h"

#include "cli/options/foreign.h"

#include "cli/options/shared.h"

namespace spate::cli {

namespace opt {

constexpr OptionRef kOfRunRefs[] = {
    kJobs,     kDelay,   kShuffles, kPacing, kTaskNeeds,   kOffer,      kGangs,      kTries,
    kDeadline, kEnds,    kEnv,      kShells, kTaskStreams, kTaskFiles,  kResident,   kMeasureIo,
    kLists,    kMaxArgs, kValues,   kPipe,   kParts,       kRoundRobin, kFollow,     kFollowUntil,
    kTarget,   kResume,  kDryRun,   kScreen, kForms,       kRunFiles,   kKeepOutput, kName,
    kProfile,  kState,   kKeep,     kHub,    kAccess,      kPlanTime,   kRunPool,    kKey};
const OptionGroup kOfRun = {kOfRunRefs};

constexpr OptionRef kOfRetryRefs[] = {kJobs,  kDelay,    kPacing,      kTaskNeeds, kOffer,  kTries,
                                      kEnds,  kEnv,      kTaskStreams, kMeasureIo, kDryRun, kScreen,
                                      kForms, kRunFiles, kKeepOutput,  kName,      kState,  kKeep,
                                      kWhose, kPlanTime, kNodeWishes,  kSucceeded};
const OptionGroup kOfRetry = {kOfRetryRefs};

constexpr OptionRef kOfSubmitRefs[] = {
    kDelay,      kShuffles,    kPacing,     kTaskNeeds,   kGangs,     kTries,    kDeadline,
    kEnds,       kEnv,         kShells,     kTaskStreams, kTaskFiles, kResident, kMeasureIo,
    kLists,      kLongMaxArgs, kValues,     kParts,       kDryRun,    kForms,    kKeepOutput,
    kName,       kProfile,     kState,      kAccess,      kWait,      kProgress, kKey,
    kArray,      kOpen,        kAfter,      kLike,        kNotify,    kPriority, kJobWeight,
    kMaxRunning, kPlanTime,    kNodeWishes, kInPool,      kTarget};
const OptionGroup kOfSubmit = {kOfSubmitRefs};

constexpr OptionRef kOfAddRefs[] = {kResident, kLists,  kLongMaxArgs, kValues, kForms,
                                    kState,    kAccess, kArray,       kKey};
const OptionGroup kOfAdd = {kOfAddRefs};

}  // namespace opt

const Command kRunWords = {.name = "run",
                           .makes = Makes::kRun,
                           .takes_command = true,
                           .options = {{opt::kOfRun}},
                           .ignores = IsForeignIgnored};
const Command kRetryWords = {
    .name = "job retry", .makes = Makes::kRetry, .options = {{opt::kOfRetry}}};
const Command kSubmitWords = {.name = "submit",
                              .makes = Makes::kSubmission,
                              .takes_command = true,
                              .options = {{opt::kOfSubmit}}};
const Command kAddWords = {.name = "job add",
                           .makes = Makes::kAddition,
                           .words_min = 1,
                           .takes_command = true,
                           .options = {{opt::kOfAdd}}};

}  // namespace spate::cli
