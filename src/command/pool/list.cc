// `spate pool list`
#include <string>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "command/pool/pools.h"
#include "present/json/json_fields.h"

namespace spate::cli::command {
namespace {

Result<int> ListPools(const HubScreen& screen) {
  auto pools = TRY(AskPools(screen, false));
  std::string text;
  if (screen.human()) text = TableOf(screen, pools);
  for (const PoolFacts& pool : pools) {
    if (screen.form == OutputForm::kQuiet) text += EscapeForScreen(pool.policy.name) + "\n";
    if (screen.form == OutputForm::kJson) text += present::JsonOf("pool", pool);
  }
  auto written = screen.Write(text);
  if (pools.empty() && screen.human()) SayNoPool(screen);
  return written;
}

}  // namespace

extern const Command kPoolList = {
    .order = 430,
    .group = CommandGroup::kPools,
    .name = "pool list",
    .arguments = "[NAME...]",
    .completes = Completes::kPools,
    .summary = "list the pools of the hub",
    .details = "",
    .examples = {{{"spate pool list", "all pools"},
                  {"spate pool list lab --json", "one pool, for a program"}}},
    .options = {{opt::kAboutHub}},
    .run = AskHub<ListPools>,
};

}  // namespace spate::cli::command
