// Commands that speak to a hub: submit, and those about its jobs and nodes.
#pragma once

#include <memory>

#include "cli/main.h"
#include "cli/options/submit_options.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"
#include "client/submission.h"
#include "client/surroundings.h"
#include "wire/client_messages.h"

namespace spate::submit {

using client::HubSetting;
// By --access and --state. kUnavailable: there is no hub; the error says how to start one.
Result<client::HubSetting> FindSetting(const cli::Words& words);

using client::Submission;

// `spate submit`, `spate run --hub` and `spate job add`. As the others that return an int: reports
// its own errors, and returns the exit code.
int SubmitToHub(const cli::Invocation& invocation);
// The same for a command that carries on with the job: prints nothing, and returns its number.
Result<JobId> SubmitOne(const cli::Invocation& invocation, cli::SubmitOptions options);
// The same of a hub that this run has to itself; `resume`: the command with which it goes on.
Result<int> RunOnOwnHub(const cli::Invocation& invocation, const std::string& resume);
// `spate run --pool`
int RunWithPool(const cli::Invocation& invocation);
// The rest of `spate run --hub`: `submission` has gone to the hub as `job`, through `call`; its
// rows are dropped.
Result<int> FollowJob(client::HubCall& call, const client::HubSetting& setting,
                      const cli::SubmitOptions& options, Submission& submission, JobId job);
// `spate job wait` and `spate job progress`, which has a `bar`: about jobs of a hub, and about runs
// of this machine, from any terminal of their user.
int WaitForJobs(const cli::Invocation& invocation, bool bar);
int WaitForRuns(const cli::Invocation& invocation, bool bar);

// For HubCall::OnSlow, to standard error.
void TellSlowHub();

// An error of who asked a hub: numbers of its jobs are not those of this machine's runs.
Error WithLocalHint(Error error, const cli::Words& words);

}  // namespace spate::submit
