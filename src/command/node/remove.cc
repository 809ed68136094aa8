// `spate node remove`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/node/nodes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> Remove(const HubScreen& screen) {
  return ChangeNodes(screen, wire::ChangeNodes::Change::kRemove, "removed");
}

}  // namespace

extern const Command kNodeRemove = {
    .order = 410,
    .group = CommandGroup::kNodes,
    .name = "node remove",
    .arguments = "NODE...",
    .completes = Completes::kNodes,
    .summary = "remove nodes; their tasks run again elsewhere",
    .details =
        "A connected node ends its tasks, which then run elsewhere, and exits. Tasks of a "
        "disconnected node run elsewhere at once. After `spate node resume`, the node can "
        "connect again when it is started.",
    .examples = {{{"spate node remove n7", "for good"}, {"spate node remove n7 n8", "several"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub}},
    .run = AskHub<Remove>,
};

}  // namespace spate::cli::command
