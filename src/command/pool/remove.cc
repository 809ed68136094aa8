// `spate pool remove`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "command/pool/pools.h"
#include "present/text/end_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kWaitUntilGone = {
    .names = "wait", .heading = Heading::kHub, .help = "wait until the last pilot has ended"};

constexpr Duration kLookEvery = Duration::Seconds(1);

// Those of these pools, or groups, that are there.
Result<std::vector<PoolFacts>> StillThere(const HubScreen& screen) {
  const std::vector<std::string>& names = screen.words.words;
  std::vector<PoolFacts> pools;
  TRY(client::Query(screen.hub, wire::LookAtPools(), [&](PoolFacts pool) {
    bool meant = std::ranges::any_of(names, [&](const std::string& name) {
      return name == pool.policy.name || (name == pool.group && !name.empty());
    });
    if (meant) pools.push_back(std::move(pool));
  }));
  return pools;
}

Result<int> WaitUntilGone(const HubScreen& screen) {
  std::string last;
  for (;;) {
    auto pools = TRY(StillThere(screen));
    if (pools.empty()) break;
    uint32_t pilots = 0, nodes = 0;
    for (const PoolFacts& pool : pools) {
      pilots += pool.queued + pool.joined + pool.leaving;
      nodes += pool.nodes;
    }
    std::string text =
        fmt::format("{} of {} left, with {}", present::CountOf(pilots, "pilot"),
                    present::CountOf(pools.size(), "pool"), present::CountOf(nodes, "node"));
    if (text != last) screen.Report(text);
    last = std::move(text);
    screen.pause(kLookEvery);
  }
  screen.Report(fmt::format("{}: removed", NamesText(screen.words.words)));
  return kExitSuccess;
}

Result<int> RemovePools(const HubScreen& screen) {
  bool wait = screen.words.Has(kWaitUntilGone);
  std::string done = "being removed: queued pilots are cancelled, nodes finish their running tasks";
  if (!wait) {
    done += fmt::format("; to check: spate pool info {}", fmt::join(screen.words.words, " "));
  }
  auto told = TellChanged(
      screen,
      ChangePools(
          screen,
          {.names = {}, .change = wire::ChangePools::Change::kRemove, .reason = {}, .wish = {}}),
      done);
  return told && wait ? WaitUntilGone(screen) : told;
}

}  // namespace

extern const Command kPoolRemove = {
    .order = 500,
    .group = CommandGroup::kPools,
    .name = "pool remove",
    .arguments = "NAME...",
    .completes = Completes::kPools,
    .summary = "remove pools: cancel queued pilots, let others end their work",
    .details =
        "Tasks that run on the pool's nodes continue to their ends, but no new tasks start there. "
        "The pool disappears with its last pilot.",
    .examples = {{{"spate pool remove lab", "for good"},
                  {"spate pool remove lab --wait", "and wait for the last pilot"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub, kWaitUntilGone}},
    .run = AskHub<RemovePools>,
};

}  // namespace spate::cli::command
