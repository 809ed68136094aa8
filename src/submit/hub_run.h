// `spate run --hub`: a submit, with the job's output and its bar on this screen until it has ended.
//
//   INT once     goes away, and tells how to come back; the job goes on      exit 130
//   INT twice    cancels the job                                             exit 130
//
// A job that has stopped (--halt, --max-failures, all tasks fail) ends it, as it ends `spate run`.
// A connection that is lost is made again, and the output goes on where it was.
#pragma once

#include "cli/options/submit_options.h"
#include "client/hub_call.h"
#include "submit/hub_submit.h"

namespace spate::submit {

// `submission` has gone to the hub as `job`, through `call`; its rows are dropped.
Result<int> FollowJob(client::HubCall& call, const client::HubSetting& setting,
                      const cli::SubmitOptions& options, Submission& submission, JobId job);

}  // namespace spate::submit
