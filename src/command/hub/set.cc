// `spate hub set`
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/hub_options.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "core/model/limits.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kHalfLife = {
    .names = "half-life",
    .argument = "T",
    .heading = Heading::kHub,
    .help = "half-life of use for shares (default: 4h; 0: none)",
    .more =
        "After each half-life, what a user has used counts half as much. At least ten times what "
        "tasks take. 0: only what is in use now counts."};

Result<Duration> ParseHalfLife(std::string_view text) {
  if (text == "0") return Duration();
  auto time = TRY(ParseDuration(text));
  if (time >= kLeastHalfLife) return time;
  return Fail(ErrorKind::kInvalid, "write at least 1m, or 0");
}

Result<wire::SetHub> ChangeOf(const Words& words) {
  wire::SetHub change;
  GangPolicy policy = GangPolicy::kFair;
  Duration half_life;
  OptionReader in(words);
  if (in.Read(opt::kGangPolicy, policy, ParseGangPolicy)) change.policy = policy;
  if (in.Read(kHalfLife, half_life, ParseHalfLife)) change.half_life = half_life;
  TRY(in.status());
  if (!change.policy && !change.half_life) {
    return Fail(ErrorKind::kInvalid,
                "nothing to change; write for example: spate hub set --policy easy");
  }
  return change;
}

Result<int> HubSet(const HubScreen& screen) {
  auto change = TRY(ChangeOf(screen.words));
  auto set = TRY(client::QueryOne(screen.hub, change));
  if (change.policy) {
    screen.Report(fmt::format("the hub's policy for gangs is now {}", WordOf(set.policy)));
  }
  if (change.half_life) {
    screen.Report(set.half_life.ns == 0 ? std::string("for shares, only what is in use now counts")
                                        : fmt::format("use counts half as much for shares after {}",
                                                      FormatDuration(set.half_life)));
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kHubSet = {
    .order = 320,
    .group = CommandGroup::kHub,
    .name = "hub set",
    .arguments = "",
    .summary = "change the hub's settings for all jobs",
    .details = "The change takes effect at once and survives restarts.",
    .examples = {{{"spate hub set --policy easy", "gangs in the order of submission"},
                  {"spate hub set --policy fair", "in the order of shares"},
                  {"spate hub set --half-life 1d", "use of yesterday counts half as much"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub, opt::kGangPolicy, kHalfLife}},
    .run = AskHub<HubSet>,
};

}  // namespace spate::cli::command
