// `spate pool set`
#include <set>
#include <string>

#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/pool_options.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/pool/pools.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

// The one batch system of all these pools.
Result<std::string> SystemOf(const HubScreen& screen) {
  std::set<std::string> systems;
  TRY(client::Query(screen.hub, wire::LookAtPools{screen.words.words, false},
                    [&](const PoolFacts& pool) { systems.insert(pool.system); }));
  if (systems.size() == 1) return *systems.begin();
  return Fail(ErrorKind::kInvalid,
              "the words after -- are for one batch system, but these pools have several; change "
              "each pool separately");
}

Result<int> SetPools(const HubScreen& screen) {
  Result<std::string> system = std::string();
  if (HasOwnOptions(screen.words)) system = SystemOf(screen);
  if (!system) return std::unexpected(system.error());
  auto wish = TRY(MakePoolChange(screen.words, *system));
  return TellChanged(screen,
                     ChangePools(screen, {.names = {},
                                          .change = wire::ChangePools::Change::kSet,
                                          .reason = {},
                                          .wish = std::move(wish)}),
                     "changed for future pilots");
}

}  // namespace

extern const Command kPoolSet = {
    .order = 490,
    .group = CommandGroup::kPools,
    .name = "pool set",
    .arguments = "NAME... [-- THE BATCH SYSTEM'S OPTIONS]",
    .completes = Completes::kPools,
    .summary = "change pools; the options apply to future pilots",
    .details =
        "Options that are not given stay unchanged. Words after -- replace all earlier ones; -- "
        "alone removes them.",
    .examples = {{{"spate pool set lab --max-pilots 50", "more pilots at once"},
                  {"spate pool set lab -- -p long -t 12h", "other options for the next pilots"}}},
    .words_min = 1,
    .takes_command = true,
    .options = {{opt::kAboutHub, opt::kPoolWishes}},
    .hint = OwnOptionHint,
    .run = AskHub<SetPools>,
};

}  // namespace spate::cli::command
