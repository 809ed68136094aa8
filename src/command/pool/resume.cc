// `spate pool resume`
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/pool/pools.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<int> ResumePools(const HubScreen& screen) {
  return TellChanged(
      screen,
      ChangePools(
          screen,
          {.names = {}, .change = wire::ChangePools::Change::kResume, .reason = {}, .wish = {}}),
      "may request pilots again");
}

}  // namespace

extern const Command kPoolResume = {
    .order = 480,
    .group = CommandGroup::kPools,
    .name = "pool resume",
    .arguments = "NAME...",
    .completes = Completes::kPools,
    .summary = "resume paused pools",
    .details = "A pool pauses itself when three pilots in a row have ended before they joined.",
    .examples = {{{"spate pool resume lab", "after spate pool pause lab"},
                  {"spate pool resume lab desks", "several"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub}},
    .run = AskHub<ResumePools>,
};

}  // namespace spate::cli::command
