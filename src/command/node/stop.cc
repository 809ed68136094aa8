// `spate node stop`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "daemon/node_stop.h"

namespace spate::cli::command {

extern const Command kNodeStop = {
    .order = 360,
    .group = CommandGroup::kNodes,
    .name = "node stop",
    .arguments = "[NODE]",
    .completes = Completes::kNodes,
    .summary = "stop a node of this machine; its tasks run again elsewhere",
    .details =
        "Waits until the node has ended its tasks and itself. Without a name, the node is the only "
        "one of yours that runs on this machine. A node that was started with --state or --tmp is "
        "found with the same option. From another machine, `spate node remove` ends a node.",
    .examples = {{{"spate node stop", "the only node of this machine"},
                  {"spate node stop n7", "the node with this name"}}},
    .words_max = 1,
    .options = {{opt::kState}},
    .run = daemon::StopNode,
};

}  // namespace spate::cli::command
