// `spate pool dry-run`
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "present/json/json_fields.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> TryPool(const HubScreen& screen) {
  auto trial = TRY(client::QueryOne(screen.hub, wire::TryPool{screen.words.words.front()}));
  auto written =
      screen.Write(screen.human() ? TrialText(trial, true) : present::JsonOf("pool_trial", trial));
  if (!written || trial.passed) return written;
  return kExitTasksFailed;
}

}  // namespace

extern const Command kPoolDryRun = {
    .order = 450,
    .group = CommandGroup::kPools,
    .name = "pool dry-run",
    .arguments = "NAME",
    .completes = Completes::kPools,
    .summary = "show and test what a pool would submit",
    .details = "Submits nothing. The exit code is 1 if the batch system would refuse the pilot.",
    .examples = {{{"spate pool dry-run lab", "the command, the script and the test"},
                  {"spate pool dry-run lab --json", "for a program"}}},
    .words_min = 1,
    .words_max = 1,
    .options = {{opt::kAboutHub}},
    .run = AskHub<TryPool>,
};

}  // namespace spate::cli::command
