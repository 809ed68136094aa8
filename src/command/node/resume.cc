// `spate node resume`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/node/nodes.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> Resume(const HubScreen& screen) {
  return ChangeNodes(screen, wire::ChangeNodes::Change::kResume, "resumed");
}

}  // namespace

extern const Command kNodeResume = {
    .order = 400,
    .group = CommandGroup::kNodes,
    .name = "node resume",
    .arguments = "NODE...",
    .completes = Completes::kNodes,
    .summary = "resume nodes that were drained or excluded",
    .details = "",
    .examples = {{{"spate node resume n7", "after spate node drain n7"},
                  {"spate node resume n7 n8", "several"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub}},
    .run = AskHub<Resume>,
};

}  // namespace spate::cli::command
