#include "cli/job/job_handler.h"

#include <memory>

#include "base/check.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/job/job_verbs.h"

namespace spate::cli {
namespace {

Result<int> CallVerb(HistoryCall& call) {
  switch (call.words().command) {
    case Command::kJobList:
      return JobList(call);
    case Command::kJobInfo:
      return JobInfo(call);
    case Command::kJobTasks:
      return JobTasks(call);
    case Command::kJobGraph:
      return JobGraph(call);
    case Command::kJobCat:
      return JobCat(call);
    case Command::kJobTail:
      return JobTail(call);
    case Command::kReport:
      return Report(call);
    default:
      CHECK(!"a verb of `job`");
      return kExitUsage;
  }
}

}  // namespace

Result<uint64_t> LimitOf(const Words& words, uint64_t otherwise) {
  auto value = words.Last(Opt::kLimit);
  if (!value) return otherwise;
  auto limit = ParseCount(*value);
  if (!limit) return Within("--limit", std::move(limit.error()));
  return limit;
}

Handler MakeJobHandler(HistoryEnvironment environment) {
  auto shared = std::make_shared<const HistoryEnvironment>(std::move(environment));
  return
      [shared](const Invocation& invocation) { return CallHistory(*shared, invocation, CallVerb); };
}

}  // namespace spate::cli
