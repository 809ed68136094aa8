// Commands that speak to a hub: submit, and those about its jobs and nodes.
#pragma once

#include <memory>

#include "cli/main.h"
#include "cli/run/task_list.h"
#include "client/hub_call.h"
#include "client/hub_setting.h"
#include "run/local_job.h"
#include "wire/client_messages.h"

namespace spate::submit {

using client::HubSetting;
// By --access and --state. kUnavailable: there is no hub; the error says how to start one.
Result<client::HubSetting> FindSetting(const cli::Words& words);

// A job as it goes to the hub: made once, sent as often as needed.
struct Submission {
  wire::Submit head;
  std::vector<std::string> pieces;  // of the files that it brings along
  cli::TaskList tasks;
  bool forwards = false;  // some of its tasks do
  wire::SubmitEnd end;
};

// `spate submit`, `spate run --hub` and `spate job add`
int SubmitToHub(const cli::Invocation& invocation);
// The same of a hub that this run has to itself; `resume`: the command with which it goes on.
Result<int> RunOnOwnHub(const cli::Invocation& invocation, const std::string& resume);
// `spate job wait` and `spate job progress`
int WaitForJobs(const cli::Invocation& invocation);
// Whatever else the hub answers: `argv` goes there as it was typed.
int AskHub(const cli::Invocation& invocation);

}  // namespace spate::submit
