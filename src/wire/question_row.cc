#include "wire/question_row.h"

#include <algorithm>

namespace spate::wire {
Duration LoopCost::Worst(const AnswerSizes& sizes) const {
  const uint64_t ns = once + node * sizes.nodes + run * sizes.runs + job * sizes.jobs +
                      listed * std::min(sizes.jobs, kMostJobs) +
                      task * std::min(sizes.tasks, kMostTasks) + user * sizes.users +
                      named * sizes.named;
  return Duration{static_cast<int64_t>(ns)};
}

}  // namespace spate::wire
