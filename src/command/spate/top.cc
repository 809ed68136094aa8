// `spate top`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "submit/hub_top.h"

namespace spate::cli::command {
namespace {

constexpr Option kOnce = {
    .names = "once", .heading = Heading::kOutput, .help = "print the current state once and exit"};

}  // namespace

extern const Command kSpateTop = {
    .order = 510,
    .group = CommandGroup::kHub,
    .name = "top",
    .arguments = "",
    .summary = "watch a hub, its nodes and its jobs",
    .details =
        "On a terminal, the display is updated every second. q quits; n and j show only the nodes "
        "or only the jobs (press again for both); arrows, PgUp and PgDn scroll. If the hub "
        "disconnects, spate top waits for it. Elsewhere, it prints the current state once. "
        "--output json prints one object per line. Only administrators see the names of other "
        "users' jobs.",
    .examples = {{{"spate top", "updated every second"},
                  {"spate top --once", "the current state once"},
                  {"spate top --at ~/.local/state/spate/jobs/12/socket", "a run of this machine"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub, opt::kAt, kOnce}},
    .run =
        [](const Invocation& invocation) {
          return submit::Top(invocation, invocation.words.Has(kOnce));
        },
};

}  // namespace spate::cli::command
