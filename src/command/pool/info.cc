// `spate pool info`
#include <string>

#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "command/pool/pools.h"
#include "present/json/json_fields.h"

namespace spate::cli::command {
namespace {

Result<int> ShowPools(const HubScreen& screen) {
  auto pools = TRY(AskPools(screen, true));
  std::string text;
  for (const PoolFacts& pool : pools) {
    if (screen.human() && !text.empty()) text += '\n';
    text += screen.human() ? PageOf(screen, pool) : present::JsonOf("pool", pool);
  }
  auto written = screen.Write(text);
  if (pools.empty() && screen.human()) SayNoPool(screen);
  return written;
}

}  // namespace

extern const Command kPoolInfo = {
    .order = 440,
    .group = CommandGroup::kPools,
    .name = "pool info",
    .arguments = "[NAME...]",
    .completes = Completes::kPools,
    .summary = "show details of pools and their pilots",
    .details = "",
    .examples = {{{"spate pool info", "all pools"},
                  {"spate pool info lab", "why does it not start anything?"}}},
    .options = {{opt::kAboutHub}},
    .run = AskHub<ShowPools>,
};

}  // namespace spate::cli::command
