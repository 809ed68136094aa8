#include "wire/question_row.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::wire {
namespace {

std::string TextOf(const LoopCost& cost) {
  std::string text = fmt::format("{} µs", cost.once / 1000);
  auto add = [&](uint32_t each, const char* what) {
    if (each > 0) text += fmt::format(" + {} µs a {}", each / 1000.0, what);
  };
  add(cost.node, "node");
  add(cost.run, "running task");
  add(cost.job, "job");
  add(cost.listed, "job (1,000 at most)");
  add(cost.task, "task (a million at most)");
  add(cost.user, "user");
  add(cost.named, "job or task named");
  return text;
}

}  // namespace

Duration LoopCost::Worst(const AnswerSizes& sizes) const {
  const uint64_t ns = once + node * sizes.nodes + run * sizes.runs + job * sizes.jobs +
                      listed * std::min(sizes.jobs, kMostJobs) +
                      task * std::min(sizes.tasks, kMostTasks) + user * sizes.users +
                      named * sizes.named;
  return Duration{static_cast<int64_t>(ns)};
}

std::string LineOf(const QuestionRow& row) {
  return fmt::format("| {} | {} | {} | {} |\n", row.name, WordOf(row.who), row.tells,
                     TextOf(row.cost));
}

}  // namespace spate::wire
