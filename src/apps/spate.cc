// The program `spate`: its commands, the programs of its doors, and what is started under its name.
#include "apps/parasol_programs.h"
#include "cli/main.h"
#include "command/all_commands.h"
#include "command/program_world.h"
#include "daemon/hub_program.h"
#include "daemon/pool_hub.h"
#include "daemon/schema.h"
#include "doors/mw/overseer/keeper.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/programs/programs.h"
#include "os/affinity.h"
#include "os/exhausted.h"
#include "os/file_size.h"
#include "os/process.h"
#include "remote/entry.h"
#include "run/history.h"
#include "run/input_part.h"
#include "shepherd/shepherd_main.h"

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
  spate::cli::command::ProgramWorld world;
  const spate::cli::Wiring wiring{.commands = spate::cli::command::AllCommands(),
                                  .programs = {spate::parasol::ParasolPrograms()},
                                  .world = &world};
  if (auto status =
          spate::cli::ProgramEntry(argc, argv, wiring.programs, spate::apps::ParasolRunOf)) {
    return *status;
  }
  return spate::cli::Main(argc, argv, wiring);
}
