// paraHub and paraHubStop: the hub of a site (doors/parasol/programs/site_programs.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/parasol/formats/site_facts.h"
#include "doors/parasol/site/parasol_site.h"
#include "os/address.h"
#include "os/subnet.h"

namespace spate::parasol {

// The hub that paraHub requests.
struct SiteHub {
  client::Surroundings here;
  ParasolSite site;
  std::string dir;  // of the hub
  std::vector<os::Address> listen;
  std::optional<os::Subnets> peers;  // nobody else may come
  bool background = true;
  std::string log;  // empty: standard error
};
Result<SiteHub> MakeSiteHub(std::span<const std::string> args);
// For its user, when it serves.
std::string WelcomeOf(const std::string& dir, const std::string& log);

Result<int> RunParaHubStop(std::span<const std::string> args);

}  // namespace spate::parasol
