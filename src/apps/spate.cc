// The program `spate`: wires the command line to what carries it out.
#include "apps/history.h"
#include "apps/hub_daemon.h"
#include "apps/hub_files.h"
#include "apps/hub_reader.h"
#include "apps/hub_submit.h"
#include "apps/hub_top.h"
#include "apps/input_part.h"
#include "apps/local_run.h"
#include "apps/node_daemon.h"
#include "apps/node_stop.h"
#include "apps/parasol_programs.h"
#include "apps/run_orders.h"
#include "apps/semaphore.h"
#include "cli/main.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/programs/programs.h"
#include "os/process.h"
#include "shepherd/shepherd_main.h"

namespace {

// Jobs are the hub's or this machine's.
spate::cli::Handler HubOr(spate::cli::Handler local) {
  return [local = std::move(local)](const spate::cli::Invocation& invocation) {
    return spate::apps::SpeaksOfHub(invocation.words) ? spate::apps::AskHub(invocation)
                                                      : local(invocation);
  };
}

int Wait(const spate::cli::Invocation& invocation) {
  return spate::apps::OrdersGoToHub(invocation.words) ? spate::apps::WaitForJobs(invocation)
                                                      : spate::apps::WaitForRuns(invocation);
}

int AskRunOrHub(const spate::cli::Invocation& invocation) {
  switch (invocation.words.command) {
    case spate::cli::Command::kJobHold:
    case spate::cli::Command::kJobRelease:
    case spate::cli::Command::kJobCancel:
      if (!spate::apps::OrdersGoToHub(invocation.words)) return spate::apps::OrderRuns(invocation);
      [[fallthrough]];
    default:
      return spate::apps::AskHub(invocation);
  }
}

int Run(const spate::cli::Invocation& invocation) {
  using spate::cli::Opt;
  if (invocation.words.command == spate::cli::Command::kJobRetry) {
    return HubOr(spate::apps::RunLocally)(invocation);
  }
  bool hub = invocation.words.Has(Opt::kHub) || invocation.words.Last(Opt::kAccess);
  return hub ? spate::apps::SubmitToHub(invocation) : spate::apps::RunLocally(invocation);
}

}  // namespace

int main(int argc, char** argv) {
  spate::os::FillStandardStreams();
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  if (auto status = spate::apps::PartEntry(argc, argv)) return *status;
  if (auto status = spate::apps::HubReaderEntry(argc, argv)) return *status;
  if (auto status = spate::parasol::ParaResultsEntry(argc, argv)) return *status;
  spate::cli::Wiring wiring;
  wiring.programs = {spate::parasol::ParasolPrograms()};
  if (auto status =
          spate::cli::ProgramEntry(argc, argv, wiring.programs, spate::apps::ParasolRunOf)) {
    return *status;
  }
  spate::apps::WireHistory(wiring);
  wiring.run = Run;
  wiring.job = HubOr(wiring.job);
  wiring.task = HubOr(wiring.task);
  wiring.submit = spate::apps::SubmitToHub;
  wiring.wait = Wait;
  wiring.hub_start = spate::apps::StartHub;
  wiring.node_start = spate::apps::StartNode;
  wiring.node_stop = spate::apps::StopNode;
  wiring.get = spate::apps::GetFiles;
  wiring.top = spate::apps::Top;
  wiring.sem = spate::apps::Semaphore;
  wiring.ask_hub = AskRunOrHub;
  return spate::cli::Main(argc, argv, wiring);
}
