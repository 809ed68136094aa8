#include "run/whose_jobs.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/options/shared.h"
#include "client/target.h"
#include "present/advice.h"
#include "view/summary.h"

namespace spate::run {
namespace {

namespace opt = cli::opt;

std::string TypedState(const cli::Words& words) {
  return std::string(words.Last(opt::kState).value_or(""));
}

// A hub that ran in this folder, and was not stopped with all of its jobs ended.
bool IsExpected(const std::string& hub_dir) {
  return client::KnowsHub(hub_dir) && !client::HubRests(hub_dir);
}

// False, for its callers. Told once for a command, which may look several times.
bool TellPassedOver(const cli::Words& words, const client::Surroundings& here) {
  static bool told = false;
  const std::string state = TypedState(words), hub_dir = client::HubDirOf(state, here);
  const bool quiet = words.Last(opt::kOutput) == "quiet";
  if (!client::KnowsHub(hub_dir) || quiet || std::exchange(told, true)) return false;
  fmt::print(stderr,
             "spate: using the runs of this machine: the hub in {} is stopped and has no "
             "unfinished jobs (to remove it: {})\n",
             EscapeForScreen(hub_dir),
             present::TextOf(Advice("hub remove"), client::ReachOf(state, here)));
  return false;
}

}  // namespace

bool HubIsConfigured(const client::Surroundings& here) {
  const std::string own = client::HubDirOf("", here);
  auto hub = client::FindHub("", here.environment, own);
  // An access file that cannot be used, or a hub that is away, is told where it is used.
  return !hub || hub->has_value() || IsExpected(own);
}

bool SpeaksOfHub(const cli::Words& words) {
  if (words.Has(opt::kHub) || words.Last(opt::kAccess) || words.Last(opt::kAt)) return true;
  if (words.Has(opt::kLocal) || words.Last(opt::kState)) return false;
  auto here = client::Surroundings::Find();
  return here && (HubIsConfigured(*here) || TellPassedOver(words, *here));
}

bool OrdersGoToHub(const cli::Words& words) {
  const bool names_folder = words.Last(opt::kState) && !words.Has(opt::kLocal) &&
                            !words.Has(opt::kHub) && !words.Last(opt::kAt);
  if (!names_folder) return SpeaksOfHub(words);
  auto here = client::Surroundings::Find();
  return here &&
         (IsExpected(client::HubDirOf(TypedState(words), *here)) || TellPassedOver(words, *here));
}

std::string RunsOption(const cli::Words& words, const client::Surroundings& here) {
  return cli::WhoseOption({.state_dir = TypedState(words), .beside_hub = HubIsConfigured(here)});
}

}  // namespace spate::run
