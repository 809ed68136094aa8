// `spate node start`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/hub_options.h"
#include "cli/options/shared.h"
#include "daemon/node_daemon.h"

namespace spate::cli::command {

extern const Command kNodeStart = {
    .order = 350,
    .group = CommandGroup::kNodes,
    .name = "node start",
    .arguments = "",
    .summary = "offer this machine to a hub",
    .details =
        "The node runs in the foreground; with --daemon, it runs in the background. The hub is "
        "that of the access file (--access, $SPATE_HUB, node.access or access in ~/.config/spate "
        "or /etc/spate), else the user's own hub on this machine. A node continues its tasks while "
        "the hub is unreachable.",
    .examples = {{{"spate node start --daemon", "this machine, for your own hub"},
                  {"spate node start --access node.access", "for the hub of the access file"},
                  {"spate node start --lifetime 12h --jobs 16",
                   "inside an allocation of 12 hours"}}},
    .words_max = 0,
    .options = {{opt::kOfNodeStart}},
    .run = daemon::StartNode,
};

}  // namespace spate::cli::command
