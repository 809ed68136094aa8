// `spate pool pause`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "command/hub_screen.h"
#include "command/pool/pools.h"
#include "present/advice.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kReason = {.names = "reason",
                            .argument = "TEXT",
                            .heading = Heading::kHub,
                            .help = "reason, shown to users who look at the pool"};

Result<int> PausePools(const HubScreen& screen) {
  wire::ChangePools question{
      .names = {}, .change = wire::ChangePools::Change::kPause, .reason = {}, .wish = {}};
  question.reason = TRY(screen.Reason(kReason));
  Advice resume("pool resume");
  resume.args = screen.words.words;
  return TellChanged(screen, ChangePools(screen, std::move(question)),
                     fmt::format("paused, no pilots are requested; to continue: {}",
                                 present::TextOf(resume, screen.reach)));
}

}  // namespace

extern const Command kPoolPause = {
    .order = 470,
    .group = CommandGroup::kPools,
    .name = "pool pause",
    .arguments = "NAME...",
    .completes = Completes::kPools,
    .summary = "pause pools: request no more pilots; running pilots continue",
    .details = "",
    .examples = {{{"spate pool pause lab", "until spate pool resume lab"},
                  {"spate pool pause lab --reason 'over quota'", "and state the reason"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub, kReason}},
    .run = AskHub<PausePools>,
};

}  // namespace spate::cli::command
