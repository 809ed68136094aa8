#include "doors/parasol/site/site_hub.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "cli/options/hub_options.h"
#include "client/hub_call.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/programs/site_programs.h"
#include "os/account.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

Result<ParasolSite> SiteOf(const ParaHubOptions& options) {
  auto machines = TRY(LoadMachineList(options.machine_list, kHubColumns));
  for (const ParasolMachine& machine : machines) {
    auto found = os::ResolveBlocking({.host = machine.name, .port = kNodePort});
    if (!found) return Within(options.machine_list, std::move(found.error()));
  }
  const ParasolMachine& model = machines.front();
  ParasolSite site;
  site.ram_unit = options.ram_unit.value_or((model.ram_megabytes << 20) / model.cpus);
  site.default_ram = site.ram_unit * options.default_ram_units;
  site.machines = std::move(machines);
  return site;
}

Result<std::vector<os::Address>> ListenAt(const ParaHubOptions& options, const SitePlaces& places) {
  std::vector<os::Address> listen = {{.host = "*", .port = options.port.value_or(cli::kHubPort)}};
  if (places.socket.empty()) return listen;
  TRY(os::MakeDirs(os::DirName(places.socket), 0755));
  listen.push_back({.path = places.socket});
  return listen;
}

}  // namespace

std::string WelcomeOf(const std::string& dir, const std::string& log) {
  std::string text = fmt::format("paraHub: the hub is up, its folder is {}, its log is {}\n",
                                 EscapeForScreen(dir), EscapeForScreen(log));
  if (os::EffectiveUser() == 0) {
    text +=
        "paraHub: it runs as root, and needs none of root's rights; spate hub start with an "
        "ordinary user is safer\n";
  }
  return text;
}

Result<SiteHub> MakeSiteHub(std::span<const std::string> args) {
  auto options = TRY(MakeParaHubOptions(args));
  auto site = TRY(SiteOf(options));
  auto here = TRY(client::Surroundings::Find());
  SitePlaces places = PlacesOfSite(here);
  auto listen = TRY(ListenAt(options, places));
  std::optional<os::Subnets> peers;
  if (!options.subnet.empty()) {
    auto parsed = os::Subnets::Parse(options.subnet);
    if (!parsed) return Within("-subnet", std::move(parsed.error()));
    peers = std::move(*parsed);
  }
  std::string log = LogOf(options.log, options.debug, places.hub_dir, here);
  return SiteHub{.here = std::move(here),
                 .site = std::move(site),
                 .dir = std::move(places.hub_dir),
                 .listen = std::move(listen),
                 .peers = std::move(peers),
                 .background = !options.debug,
                 .log = std::move(log)};
}

namespace {

// A hub that is not there has ended, as there; why it is not is told all the same.
Result<int> WhenAway(Error error) {
  if (error.kind != ErrorKind::kUnavailable) return std::unexpected(std::move(error));
  (void)os::WriteAll(os::kStderr, "paraHubStop: " + error.message + "\n", "standard error");
  return 0;
}

// After paraHubStop the next hub may be started at once.
void AwaitEnd(client::HubCall& call, os::RealLoop& loop, const std::string& hub_dir) {
  constexpr Duration kLookAgain = Duration::Millis(20);
  constexpr Duration kPatience = Duration::Seconds(30);
  Instant end = loop.Now() + kPatience;
  while (os::FileLock::IsHeld(os::JoinPath(hub_dir, "lock")).value_or(false) && loop.Now() < end) {
    call.Pause(kLookAgain);
  }
}

}  // namespace

Result<int> RunParaHubStop(std::span<const std::string> args) {
  TRY(CheckParaHubStop(args));
  auto here = TRY(client::Surroundings::Find());
  auto target = client::NeedHub("", here.environment, client::HubDirOf("", here), SiteStart());
  if (!target) return WhenAway(std::move(target.error()));
  auto loop = TRY(os::RealLoop::Create());
  client::HubCall call(*loop, std::move(*target));
  if (auto connected = call.Connect(); !connected) return WhenAway(std::move(connected.error()));
  TRY(client::AskOne(call, wire::StopHub()));
  AwaitEnd(call, *loop, PlacesOfSite(here).hub_dir);
  return 0;
}

}  // namespace spate::parasol
