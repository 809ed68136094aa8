#include "run/whose_jobs.h"

#include "cli/options/shared.h"
#include "cli/view/summary.h"
#include "client/hub_call.h"
#include "os/file.h"
#include "present/text/end_text.h"

namespace spate::run {
namespace {

namespace opt = cli::opt;

std::string TypedState(const cli::Words& words) {
  return std::string(words.Last(opt::kState).value_or(""));
}

}  // namespace

bool HubIsConfigured(const client::Surroundings& here) {
  const std::string own = client::HubDirOf("", here);
  auto hub = client::FindHub("", here.environment, own);
  // An access file that cannot be used, or a hub that is away, is told where it is used.
  return !hub || hub->has_value() || client::KnowsHub(own);
}

bool SpeaksOfHub(const cli::Words& words) {
  if (words.Has(opt::kHub) || words.Last(opt::kAccess) || words.Last(opt::kAt)) return true;
  if (words.Has(opt::kLocal) || words.Last(opt::kState)) return false;
  auto here = client::Surroundings::Find();
  return here && HubIsConfigured(*here);
}

bool OrdersGoToHub(const cli::Words& words) {
  const bool names_folder = words.Last(opt::kState) && !words.Has(opt::kLocal) &&
                            !words.Has(opt::kHub) && !words.Last(opt::kAt);
  if (!names_folder) return SpeaksOfHub(words);
  auto here = client::Surroundings::Find();
  return here && client::KnowsHub(client::HubDirOf(TypedState(words), *here));
}

std::string RunsOption(const cli::Words& words, const client::Surroundings& here) {
  return cli::WhoseOption({.state_dir = TypedState(words), .beside_hub = HubIsConfigured(here)});
}

}  // namespace spate::run
