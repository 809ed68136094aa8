// `spate node drain`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/node/nodes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> Drain(const HubScreen& screen) {
  return ChangeNodes(screen, wire::ChangeNodes::Change::kDrain,
                     "drained; no new tasks start there");
}

}  // namespace

extern const Command kNodeDrain = {
    .order = 390,
    .group = CommandGroup::kNodes,
    .name = "node drain",
    .arguments = "NODE...",
    .completes = Completes::kNodes,
    .summary = "drain nodes: start no new tasks, let running ones end",
    .details = "",
    .examples = {{{"spate node drain n7", "before its machine is shut down"},
                  {"spate node drain n7 n8 --reason 'new disks'", "several"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub, opt::kReason}},
    .run = AskHub<Drain>,
};

}  // namespace spate::cli::command
