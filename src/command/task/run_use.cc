#include "command/task/run_use.h"

#include <algorithm>
#include <utility>

#include "wire/questions.h"

namespace spate::cli {

std::vector<std::optional<RunUse>> UseAsker::Query(JobId job,
                                                   std::span<const RunningFacts> running) {
  std::vector<std::optional<RunUse>> uses;
  auto asker = call_.Whom();
  if (!asker) return uses;
  const size_t most = call_.human() ? std::min(kMostOfPage, left_) : left_;
  for (const RunningFacts& each : running.first(std::min(running.size(), most))) {
    --left_;
    wire::LookAtRun question{.task = {.job = job.value, .ranges = {{each.task, each.task, 1}}},
                             .wish = {.use = true},
                             .rank = each.first_rank};
    auto shown = client::QueryOne(**asker, std::move(question));
    const bool silent = shown && shown->look.standing == RunLook::Standing::kUnknown;
    if (!shown || (silent && shown->attempt != 0)) {
      left_ = 0;
      break;
    }
    const bool same = shown->attempt == each.attempt;
    uses.push_back(same ? shown->look.use : std::nullopt);
  }
  return uses;
}

}  // namespace spate::cli
