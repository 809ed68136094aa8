#include "apps/parasol_programs.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>

#include "cli/options/hub_options.h"
#include "daemon/hub_daemon.h"
#include "daemon/node_daemon.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/parasol_client.h"
#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/site/para_site_tools.h"
#include "os/account.h"
#include "os/clock.h"
#include "present/table/time_text.h"
#include "shepherd/output_check.h"

namespace spate::apps {
namespace {

struct Program {
  std::string_view name;
  cli::ProgramRun run = nullptr;
};

Result<int> RunPara(std::span<const std::string> args) {
  parasol::ParaParts parts;
  auto here = TRY(client::Surroundings::Find());
  parts.state_root = parasol::ParaStateRoot(here);
  parts.open_hub =
      [](const parasol::ParaState& state) -> Result<std::unique_ptr<parasol::BatchHub>> {
    return parasol::BatchClient::Open(state);
  };
  parts.why_file_fails = shepherd::WhyCheckFails;
  parts.now = os::WallNow;
  parts.local = [](int64_t seconds) {
    return present::LocalTime(Instant() + Duration::Seconds(seconds));
  };
  return parasol::RunPara(args, parts);
}

Result<int> RunParaHub(std::span<const std::string> args) {
  auto site = TRY(parasol::MakeSiteHub(args));
  const os::MachineFacts& facts = site.here.machine.facts();
  daemon::HubProgram::Options with;
  with.hub.dir = site.dir;
  with.door.listen = std::move(site.listen);
  with.door.peers = std::move(site.peers);
  with.door.host = facts.host_name;
  cli::HubOptions usual;
  with.door.suspect_after = usual.suspect_after;
  with.hub.limits.node_patience = usual.lost_after;
  with.user = facts.user_name;
  with.node_user = os::EffectiveUser() == 0 ? access::kEveryUser : std::string_view(with.user);
  with.parasol = std::move(site.site);
  daemon::DaemonLife life{site.background, site.log};
  std::string log = life.log.empty() ? "standard error" : life.log;
  return daemon::RunHub(std::move(with), life, [&](daemon::HubProgram& program) {
    return parasol::WelcomeOf(program.service().self().dir, log);
  });
}

cli::NodeOptions NodeOptionsOf(const parasol::ParaNodeStart& start) {
  const parasol::ParaNodeOptions& options = start.options;
  cli::NodeOptions node;
  node.name = start.name;
  node.slots = cli::SlotRule{cli::SlotRule::Form::kCount, options.cpus};
  node.milli_cpus = options.cpus * kMilliCpu;
  node.memory = options.memory;
  node.tmp = options.temp_dir;
  // Parasol's nodes do the same.
  node.allow_root = true;
  return node;
}

Result<int> RunParaNode(std::span<const std::string> args) {
  auto start = TRY(parasol::ReadParaNode(args));
  const client::Surroundings& here = start.here;
  auto folder = TRY(daemon::MakeNodeFolder(parasol::PlacesOfSite(here).node_state, start.name,
                                           here.machine.facts().host_name));
  auto site = TRY(parasol::MakeSiteNode(start, folder));
  const parasol::ParaNodeOptions& options = start.options;
  daemon::DaemonLife life{!options.debug, parasol::LogOf(options.log, options.debug, folder, here)};
  return daemon::RunNode(
      here, {NodeOptionsOf(start), std::move(folder), std::move(life), std::move(site)});
}

constexpr Program kPrograms[] = {
    {"para", RunPara},
    {"paraHub", RunParaHub},
    {"paraHubStop", parasol::RunParaHubStop},
    {"paraNode", RunParaNode},
    {"paraNodeStart", parasol::RunParaNodeStart},
    {"paraNodeStatus", parasol::RunParaNodeStatus},
    {"paraNodeStop", parasol::RunParaNodeStop},
    {"parasol", parasol::RunParasol},
};

}  // namespace

cli::ProgramRun ParasolRunOf(std::string_view name) {
  auto found = std::ranges::find(kPrograms, name, &Program::name);
  return found == std::end(kPrograms) ? nullptr : found->run;
}

}  // namespace spate::apps
