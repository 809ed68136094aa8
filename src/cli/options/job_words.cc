#include "cli/options/job_words.h"

#include "cli/options/foreign.h"

#include "cli/options/shared.h"

namespace spate::cli {

namespace opt {

const OptionRef kOfRunRefs[] = {kTaskRows,   kSourceRows, kTarget,   kResume,  kDryRun,
                                kScreenRows, kForms,      kKeptRows, kState,   kKeep,
                                kHub,        kAccess,     kNodeRows, kRunPool, kSubmitRows};
const OptionGroup kOfRun = {kOfRunRefs};

const OptionRef kOfRetryRefs[] = {kTaskRows, kDryRun, kScreenRows, kForms,    kKeptRows,
                                  kState,    kKeep,   kWhose,      kNodeRows, kSucceeded};
const OptionGroup kOfRetry = {kOfRetryRefs};

const OptionRef kOfSubmitRefs[] = {kTaskRows, kSourceRows, kDryRun,     kForms,    kKeptRows,
                                   kState,    kAccess,     kSubmitRows, kNodeRows, kTarget};
const OptionGroup kOfSubmit = {kOfSubmitRefs};

const OptionRef kOfAddRefs[] = {kTaskRows, kSourceRows, kForms, kState, kAccess, kArray, kKey};
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
