// The program pegasus-mpi-cluster, of one MPI library.
#include "doors/pmc/run/pmc_main.h"
#include "os/affinity.h"
#include "os/exhausted.h"
#include "os/file_size.h"
#include "os/process.h"
#include "shepherd/shepherd_main.h"
#include "transport/mpi/mpi_job.h"

int main(int argc, char** argv) {
  spate::os::FillStandardStreams();
  spate::os::FailBeyondFileSize();
  spate::os::ExplainExhaustion();
  spate::os::TakeShortTurns();
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  return spate::pmc::PmcMain(argc, argv, spate::transport::MpiJob::Start);
}
