#include "daemon/pool_hub.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/number.h"
#include "base/units.h"
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
// How long the hub waits for the pilots' ends, also while the batch system does not answer: as long
// as pilots wait for a hub before they end by themselves.
constexpr Duration kEndPatience = Duration::Seconds(600);

// Watches whether the run is there.
class Owner {
 public:
  Owner(HubProgram& program, os::Pid run) : program_(program), run_(run) { Look(); }

 private:
  void Look() {
    hub::Service& service = program_.service();
    bool there = os::ParentPid() == run_;
    if (!there && !ends_) {
      ends_ = true;
      service.Log("the run has ended; its tasks and pilots end too");
      service.EndWork(kEndPatience, [this] { program_.Stop(); });
    }
    service.loop().At(service.loop().Now() + kLookEvery, [this] { Look(); });
  }

  HubProgram& program_;
  const os::Pid run_;
  bool ends_ = false;
};

Result<int> Serve(const std::string& dir, os::Pid run) {
  auto here = TRY(client::Surroundings::Find());
  HubProgram::Options with;
  with.hub.dir = dir;
  with.reach = " --hub --state " + ShellQuote(os::DirName(dir));
  os::Address everywhere;
  everywhere.host = "0.0.0.0";
  // Pilots of a run that is taken up again look for it where it was.
  everywhere.port = KnownPort(dir).value_or(0);
  with.door.listen = {everywhere};
  with.door.spare_port = true;
  with.door.suspect_after = Duration::Seconds(15);
  with.door.host = here.machine.facts().host_name;
  with.user = here.machine.facts().user_name;
  with.node_user = with.user;
  std::unique_ptr<Owner> owner;
  return RunHub(std::move(with), {false, os::JoinPath(dir, "log")}, [&](HubProgram& program) {
    owner = std::make_unique<Owner>(program, run);
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
