// Commands that speak to a hub: submit, and those about its jobs and nodes.
#pragma once

#include "cli/main.h"
#include "cli/run/task_list.h"
#include "wire/client_messages.h"

namespace spate::apps {

// A job as it goes to the hub: made once, sent as often as needed.
struct Submission {
  wire::Submit head;
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
