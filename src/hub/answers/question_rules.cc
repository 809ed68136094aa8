#include "hub/answers/question_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate::hub {
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

uint64_t CountIn(const std::vector<NumberRange>& ranges) {
  uint64_t count = 0;
  for (const NumberRange& range : ranges) {
    count += range.last < range.first ? 0 : (range.last - range.first) / range.step + 1;
  }
  return count;
}

// `all`: the number of jobs that have not ended. A selector may name many more that have ended.
uint64_t JobsIn(const JobSelector& jobs, uint64_t all) {
  constexpr uint64_t kMostNamed = 10'000;
  return std::min(kMostNamed, CountIn(jobs.ranges)) + jobs.ranges.size() + (jobs.all ? all : 0);
}

// A task costs a look; its job, and each piece of it, a hundred.
uint64_t TasksIn(const TasksOfJob& tasks) {
  const uint64_t all = tasks.all ? LoopCost::kMostTasks : CountIn(tasks.ranges);
  return 1 + tasks.ranges.size() + std::min(all, LoopCost::kMostTasks) / 100;
}

}  // namespace

Duration LoopCost::Worst(const AnswerSizes& sizes) const {
  const uint64_t ns = once + node * sizes.nodes + run * sizes.runs + job * sizes.jobs +
                      listed * std::min(sizes.jobs, kMostJobs) +
                      task * std::min(sizes.tasks, kMostTasks) + user * sizes.users +
                      named * sizes.named;
  return Duration{static_cast<int64_t>(ns)};
}

Duration WorstCost(const wire::Question& question, AnswerSizes hub) {
  return std::visit(
      [&]<typename Q>(const Q& asked) {
        if constexpr (requires { asked.jobs.ranges; }) hub.named += JobsIn(asked.jobs, hub.jobs);
        // The names of up to 65,536 variables.
        if constexpr (requires { asked.shell; }) hub.named += asked.shell ? 500 : 0;
        if constexpr (requires { asked.tasks.front().ranges; }) {
          for (const TasksOfJob& tasks : asked.tasks) hub.named += TasksIn(tasks);
        }
        if constexpr (requires { asked.task.ranges; }) hub.named += TasksIn(asked.task);
        if constexpr (requires { asked.tasks.ranges; }) hub.named += TasksIn(asked.tasks);
        return RuleOf<Q>().cost.Worst(hub);
      },
      question);
}

std::string QuestionTable() {
  std::string table;
  auto add = [&](const auto& rule) {
    table += fmt::format("| {} | {} | {} | {} |\n", rule.name, WordOf(rule.who), rule.tells,
                         TextOf(rule.cost));
  };
  std::apply([&](const auto&... rules) { (add(rules), ...); }, kQuestionRules);
  return table;
}

}  // namespace spate::hub
