// `spate hub set`
#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/hub/hub_screen.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/hub_options.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<GangPolicy> PolicyOf(const Words& words) {
  GangPolicy policy = GangPolicy::kFair;
  OptionReader in(words);
  const bool is_there = in.Read(opt::kGangPolicy, policy, ParseGangPolicy);
  TRY(in.status());
  if (!is_there) {
    return Fail(ErrorKind::kInvalid,
                "nothing to change; write for example: spate hub set --policy easy");
  }
  return policy;
}

Result<int> HubSet(const HubScreen& screen) {
  auto policy = TRY(PolicyOf(screen.words));
  auto set = TRY(client::AskOne(screen.hub, wire::SetHub{policy}));
  screen.Say(fmt::format("the hub's policy for gangs is now {}", GangPolicyName(set.policy)));
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
                  {"spate hub set --policy fair", "in the order of shares"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub, opt::kGangPolicy}},
    .run = AskHub<HubSet>,
};

}  // namespace spate::cli::command
