// The program `spate`: its commands, the programs of its doors, and what is started under its name.
// Command lines and usage of Parasol's programs are in doors/parasol/programs.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "cli/main.h"
#include "cli/options/hub_options.h"
#include "command/all_commands.h"
#include "daemon/hub_daemon.h"
#include "daemon/hub_program.h"
#include "daemon/node_daemon.h"
#include "daemon/pool_hub.h"
#include "daemon/schema.h"
#include "doors/mw/overseer/keeper.h"
#include "doors/parasol/client/para_client.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/client/parasol_client.h"
#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/programs/programs.h"
#include "doors/parasol/site/para_site_tools.h"
#include "os/account.h"
#include "os/affinity.h"
#include "os/clock.h"
#include "os/exhausted.h"
#include "os/file_size.h"
#include "os/process.h"
#include "present/table/time_text.h"
#include "remote/entry.h"
#include "run/pipe_input.h"
#include "run/run_asker.h"
#include "shepherd/output_check.h"
#include "shepherd/shepherd_main.h"

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

// The program of Parasol that needs a hub or a node; null for a name without one.
cli::ProgramRun ParasolRunOf(std::string_view name) {
  auto found = std::ranges::find(kPrograms, name, &Program::name);
  return found == std::end(kPrograms) ? nullptr : found->run;
}

}  // namespace
}  // namespace spate::apps

int main(int argc, char** argv) {
  spate::os::FillStandardStreams();
  spate::os::FailBeyondFileSize();
  spate::os::ExplainExhaustion();
  spate::os::TakeShortTurns();
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (auto status = spate::run::PartEntry(argc, argv)) return *status;
  if (auto status = spate::daemon::HubReaderEntry(argc, argv)) return *status;
  if (auto status = spate::run::RunReaderEntry(argc, argv)) return *status;
  if (auto status = spate::daemon::PoolHubEntry(argc, argv)) return *status;
  if (auto status = spate::daemon::SchemaEntry(argc, argv)) return *status;
  if (auto status = spate::parasol::ParaResultsEntry(argc, argv)) return *status;
  if (auto status = spate::mw::KeeperEntry(argc, argv)) return *status;
  if (auto status = spate::remote::RemoteEntry(argc, argv)) return *status;
  const auto world = spate::cli::command::MakeProgramWorld();
  const spate::cli::Wiring wiring{.commands = spate::cli::command::AllCommands(),
                                  .programs = {spate::parasol::ParasolPrograms()},
                                  .world = world.get()};
  if (auto status =
          spate::cli::ProgramEntry(argc, argv, wiring.programs, spate::apps::ParasolRunOf)) {
    return *status;
  }
  return spate::cli::Main(argc, argv, wiring);
}
