// The program `spate`: wires the command line to what carries it out.
#include "apps/history.h"
#include "apps/local_run.h"
#include "cli/main.h"
#include "os/process.h"
#include "shepherd/shepherd_main.h"

int main(int argc, char** argv) {
  spate::os::FillStandardStreams();
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  spate::cli::Wiring wiring;
  wiring.run = spate::apps::RunLocally;
  spate::apps::WireHistory(wiring);
  return spate::cli::Main(argc, argv, wiring);
}
