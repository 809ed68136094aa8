#include "daemon/pool_hub.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/number.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "client/surroundings.h"
#include "daemon/hub_daemon.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"
#include "os/terminal.h"

namespace spate::daemon {
namespace {

constexpr Duration kLookEvery = Duration::Millis(500);
// So long the pilots have to go; those that are left find no hub, and end by themselves.
constexpr Duration kEndPatience = Duration::Seconds(60);

// Watches whether the run is there.
class Owner {
 public:
  Owner(hub::Service& service, os::Pid run) : service_(service), run_(run) { Look(); }

 private:
  void Look() {
    bool there = os::ParentPid() == run_;
    if (!there && !ends_) {
      ends_ = true;
      service_.Log("the run is gone: its tasks end, and its pilots");
      service_.EndWork(kEndPatience, [this] { service_.Stop(); });
    }
    service_.loop().At(service_.loop().Now() + kLookEvery, [this] { Look(); });
  }

  hub::Service& service_;
  const os::Pid run_;
  bool ends_ = false;
};

Result<int> Serve(const std::string& dir, os::Pid run) {
  auto here = client::Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  HubProgram::Options with;
  with.hub.dir = dir;
  os::Address everywhere;
  everywhere.host = "0.0.0.0";
  with.hub.listen = {everywhere};
  with.hub.suspect_after = Duration::Seconds(15);
  with.hub.lost_after = kLimits.node_patience;
  with.hub.host = here->machine.facts().host_name;
  with.user = here->machine.facts().user_name;
  with.node_user = with.user;
  std::unique_ptr<Owner> owner;
  return RunHub(std::move(with), {false, os::JoinPath(dir, "log")}, [&](hub::Service& service) {
    owner = std::make_unique<Owner>(service, run);
    (void)os::WriteAll(os::kStdout, kPoolHubUp, "standard output");
    return std::string();
  });
}

}  // namespace

std::optional<int> PoolHubEntry(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "__pool-hub") return std::nullopt;
  auto run = ReadNumber<os::Pid>(argv[3]);
  if (!run) return cli::kExitUsage;
  auto code = Serve(argv[2], *run);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
