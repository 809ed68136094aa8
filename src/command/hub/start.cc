// `spate hub start`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/hub_options.h"
#include "cli/options/shared.h"
#include "daemon/hub_daemon.h"

namespace spate::cli::command {

extern const Command kHubStart = {
    .order = 270,
    .group = CommandGroup::kHub,
    .name = "hub start",
    .arguments = "",
    .summary = "run a hub, which accepts jobs and assigns their tasks to nodes",
    .details =
        "The hub runs in the foreground until TERM or `spate hub stop`; with --daemon, it runs in "
        "the background. Clients and nodes of the same user on this machine find it without "
        "options. For other machines, start it with --listen, and copy an access file there "
        "(`spate hub access add`). If the hub is killed, it continues where it stopped when it is "
        "started again.",
    .examples = {{{"spate hub start --daemon", "in the background"},
                  {"spate hub start --listen '*'", "reachable from other machines, at port 18150"},
                  {"spate hub start --keep 30d", "forget jobs that ended 30 days ago"}}},
    .words_max = 0,
    .options = {{opt::kOfHubStart}},
    .run = daemon::StartHub,
};

}  // namespace spate::cli::command
