// Commands that speak to a hub: submit, and those about its jobs and nodes.
#pragma once

#include <memory>

#include "apps/local_job.h"
#include "cli/main.h"
#include "cli/run/task_list.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"
#include "wire/client_messages.h"

namespace spate::apps {

using client::HubSetting;
// By --access and --state. kUnavailable: there is no hub; the error says how to start one.
Result<HubSetting> FindSetting(const cli::Words& words);

// A job as it goes to the hub: made once, sent as often as needed.
struct Submission {
  wire::Submit head;
  std::vector<std::string> pieces;  // of the files that it brings along
  cli::TaskList tasks;
  wire::SubmitEnd end;
};

// `spate submit`, `spate run --hub` and `spate job add`
int SubmitToHub(const cli::Invocation& invocation);
// `spate job wait` and `spate job progress`
int WaitForJobs(const cli::Invocation& invocation);
// Whatever else the hub answers: `argv` goes there as it was typed.
int AskHub(const cli::Invocation& invocation);
// Whether the words speak of a hub's jobs: --hub and --access do, --local and --state do not, and
// else they do where a hub is configured.
bool SpeaksOfHub(const cli::Words& words);

}  // namespace spate::apps
