// The program pegasus-mpi-cluster, from its arguments to its exit code.
#pragma once

#include "transport/parallel_job.h"

namespace spate::pmc {

// `join` is called once it is known that there is something to do: help needs no MPI.
int PmcMain(int argc, char** argv, const transport::JoinJob& join);

}  // namespace spate::pmc
