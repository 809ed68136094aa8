// What the hub's commands have in common, and those that change jobs (hub_job_commands.cc). All are
// run by RunHubCommand (hub_commands.h).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/options/run_options.h"
#include "cli/options/words.h"
#include "doors/parasol/site/parasol_site.h"
#include "hub/service.h"
#include "wire/client_messages.h"

namespace spate::apps {

// What the program that runs the hub knows beside it.
struct HubExtras {
  const parasol::ParasolSite* parasol = nullptr;  // null unless paraHub started it
  std::string metrics;                            // where monitors ask; empty: nowhere
};

// One command on its way to its answer.
struct CommandCall {
  const HubExtras& extras;
  hub::Service& service;
  hub::ClientSession& client;
  const wire::Command& asked;
  const cli::Words& words;
  cli::OutputForm form;

  bool human() const { return form == cli::OutputForm::kHuman; }
  const hub::Caller& caller() const { return client.caller(); }
  void Put(std::string_view text) { client.Print(1, text); }
  void Say(std::string_view text) {
    if (form != cli::OutputForm::kQuiet) client.Print(2, fmt::format("spate: {}\n", text));
  }
  // When what was posted is durable; without a text nothing is said.
  void Done(std::string text) { service.jobs().WhenSettled(Answer(std::move(text))); }
  // The same answer, for whoever knows when.
  std::function<void()> Answer(std::string text) {
    return client.Guarded([this_client = &client, quiet = form, text = std::move(text)] {
      bool say = quiet != cli::OutputForm::kQuiet && !text.empty();
      if (say) this_client->Print(2, "spate: " + text + "\n");
      this_client->Exit(cli::kExitSuccess);
    });
  }
};

// An error is the answer; without one the command has given its own, or does so later.
using Verb = Status (*)(CommandCall&);
// Null: the command does not change jobs.
Verb JobVerbOf(cli::Command command);

}  // namespace spate::apps
