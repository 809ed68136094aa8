// Programs that run on a site's hub's machine (doors/parasol/programs/site_programs.h): paraHub and
// paraHubStop, and for the nodes paraNodeStart, paraNodeStop and paraNodeStatus. What the latter
// know of each node is in the hub's folder:
//
//   nodes/NAME   the node's kit (node_kit.h)
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
Result<int> RunParaNodeStart(std::span<const std::string> args);
Result<int> RunParaNodeStop(std::span<const std::string> args);
Result<int> RunParaNodeStatus(std::span<const std::string> args);

}  // namespace spate::parasol
