// Reports of para: each prints what one command tells about a batch, and returns its exit code.
#pragma once

#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/para_cycle.h"
#include "doors/parasol/programs/para_folder.h"

namespace spate::parasol {

// Jobs that wait and run are marked in the batch.
struct ParaReport {
  const ParaOptions& options;
  const ParaFolder& folder;
  ParaCycle& cycle;
  const ParaParts& parts;
};
Result<int> ReportCheck(const ParaReport& report);
Result<int> ReportFinished(const ParaReport& report);
Result<int> ReportHung(const ParaReport& report);
Result<int> ReportCrashed(const ParaReport& report);
Result<int> ReportFailed(const ParaReport& report);
Result<int> ReportSlow(const ParaReport& report);
Result<int> ReportRunning(const ParaReport& report);
Result<int> ReportHippos(const ParaReport& report);
Result<int> ReportProblems(const ParaReport& report);
Result<int> ReportStatus(const ParaReport& report);
Result<int> ReportTime(const ParaReport& report);

}  // namespace spate::parasol
