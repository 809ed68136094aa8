// `spate hub stop`
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "client/target.h"
#include "command/hub_screen.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> HubStop(const HubScreen& screen) {
  TRY(client::QueryOne(screen.hub, wire::StopHub()));
  screen.Report("hub stopping; nodes continue their tasks");
  if (!screen.folder.empty() && !client::AwaitEnd(screen.folder, screen.pause)) {
    screen.Report(client::StoppingText(screen.folder));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kHubStop = {
    .order = 290,
    .group = CommandGroup::kHub,
    .name = "hub stop",
    .arguments = "",
    .summary = "stop the hub; nodes continue their tasks and wait for it",
    .details =
        "Returns when the hub has stored everything and ended, so that it may be started again: "
        "your own hub of this machine, for which it waits up to 30 s. With --access, it returns "
        "at once.",
    .examples = {{{"spate hub stop", "the hub of this machine"},
                  {"spate hub stop --access admin.access", "the hub of the access file"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub}},
    .run = AskHub<HubStop>,
};

}  // namespace spate::cli::command
