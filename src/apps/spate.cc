// The program `spate`: wires the command line to what carries it out.
#include "apps/parasol_programs.h"
#include "cli/main.h"
#include "cli/simulate/simulate.h"
#include "daemon/hub_daemon.h"
#include "daemon/hub_reader.h"
#include "daemon/node_daemon.h"
#include "daemon/node_stop.h"
#include "daemon/pool_hub.h"
#include "doors/mw/overseer/keeper.h"
#include "doors/mw/overseer/overseer.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/programs/programs.h"
#include "os/file_size.h"
#include "os/process.h"
#include "remote/entry.h"
#include "run/history.h"
#include "run/input_part.h"
#include "run/local_run.h"
#include "run/run_orders.h"
#include "run/semaphore.h"
#include "shepherd/shepherd_main.h"
#include "submit/hub_files.h"
#include "submit/hub_submit.h"
#include "submit/hub_top.h"
#include "submit/pool_run.h"

namespace {

// Jobs are the hub's or this machine's.
spate::cli::Handler HubOr(spate::cli::Handler local) {
  return [local = std::move(local)](const spate::cli::Invocation& invocation) {
    return spate::run::SpeaksOfHub(invocation.words) ? spate::submit::AskHub(invocation)
                                                     : local(invocation);
  };
}

int Wait(const spate::cli::Invocation& invocation) {
  return spate::run::OrdersGoToHub(invocation.words) ? spate::submit::WaitForJobs(invocation)
                                                     : spate::run::WaitForRuns(invocation);
}

int AskRunOrHub(const spate::cli::Invocation& invocation) {
  switch (invocation.words.command) {
    case spate::cli::Command::kJobHold:
    case spate::cli::Command::kJobRelease:
    case spate::cli::Command::kJobCancel:
      if (!spate::run::OrdersGoToHub(invocation.words)) return spate::run::OrderRuns(invocation);
      [[fallthrough]];
    default:
      return spate::submit::AskHub(invocation);
  }
}

int Oversee(const spate::cli::Invocation& invocation) {
  return spate::mw::Oversee(invocation, spate::submit::FindSetting);
}

int Run(const spate::cli::Invocation& invocation) {
  using spate::cli::Opt;
  if (invocation.words.command == spate::cli::Command::kJobRetry) {
    return HubOr(spate::run::RunLocally)(invocation);
  }
  if (invocation.words.Last(Opt::kRunPool)) return spate::submit::RunWithPool(invocation);
  bool hub = invocation.words.Has(Opt::kHub) || invocation.words.Last(Opt::kAccess);
  return hub ? spate::submit::SubmitToHub(invocation) : spate::run::RunLocally(invocation);
}

}  // namespace

int main(int argc, char** argv) {
  spate::os::FillStandardStreams();
  spate::os::FailBeyondFileSize();
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (auto status = spate::run::PartEntry(argc, argv)) return *status;
  if (auto status = spate::daemon::HubReaderEntry(argc, argv)) return *status;
  if (auto status = spate::daemon::PoolHubEntry(argc, argv)) return *status;
  if (auto status = spate::parasol::ParaResultsEntry(argc, argv)) return *status;
  if (auto status = spate::mw::KeeperEntry(argc, argv)) return *status;
  if (auto status = spate::remote::RemoteEntry(argc, argv)) return *status;
  spate::cli::Wiring wiring;
  wiring.programs = {spate::parasol::ParasolPrograms()};
  if (auto status =
          spate::cli::ProgramEntry(argc, argv, wiring.programs, spate::apps::ParasolRunOf)) {
    return *status;
  }
  spate::run::WireHistory(wiring);
  wiring.run = Run;
  wiring.job = HubOr(wiring.job);
  wiring.task = HubOr(wiring.task);
  wiring.submit = spate::submit::SubmitToHub;
  wiring.wait = Wait;
  wiring.hub_start = spate::daemon::StartHub;
  wiring.node_start = spate::daemon::StartNode;
  wiring.node_stop = spate::daemon::StopNode;
  wiring.get = spate::submit::GetFiles;
  wiring.top = spate::submit::Top;
  wiring.sem = spate::run::Semaphore;
  wiring.overseer = Oversee;
  wiring.simulate = spate::cli::Simulate;
  wiring.ask_hub = AskRunOrHub;
  return spate::cli::Main(argc, argv, wiring);
}
