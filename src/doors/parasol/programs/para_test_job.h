// paraTestJob: a job to try a cluster with.
#pragma once

#include "doors/parasol/programs/programs.h"

namespace spate::parasol {

Result<int> RunParaTestJob(std::span<const std::string> args);

inline constexpr cli::Program kParaTestJob = {.name = "paraTestJob",
                                              .summary = "a job to try a cluster with",
                                              .usage = R"(paraTestJob - a job to try a cluster with
usage:
   paraTestJob COUNT
Computes for about COUNT hundredths of a second and prints its result.
options:
   -output=FILE   write a line for each count, and the result, to FILE
   -heavy=N       write N more lines for each count
   -input=FILE    read FILE first
   -sleep=N       wait N seconds
   -err           end with an error (exit code 255)
   -crash         end by a segmentation fault
)",
                                              .run = RunParaTestJob};

}  // namespace spate::parasol
