#include "doors/parasol/programs/programs.h"

#include <array>

#include "doors/parasol/programs/gensub2.h"
#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/para_test_job.h"
#include "doors/parasol/programs/parasol.h"
#include "doors/parasol/programs/site_programs.h"

namespace spate::parasol {
namespace {

constexpr std::array kPrograms = {kGensub2,     kPara,          kParaHub,        kParaHubStop,
                                  kParaNode,    kParaNodeStart, kParaNodeStatus, kParaNodeStop,
                                  kParaTestJob, kParasol};

}  // namespace

cli::Programs ParasolPrograms() {
  return {.title = "Programs of Parasol",
          .help = "spate help para",
          .error_code = kParasolExitError,
          .all = kPrograms};
}

}  // namespace spate::parasol
