#include "hub/answers/question_rules.h"

#include <algorithm>
#include <array>
#include <vector>

#include "hub/answers/question.h"

namespace spate::hub {
namespace {

using wire::kAside;

constexpr auto kJournal = std::to_array<wire::QuestionRow>({
    wire::RowOf<wire::ListJobs>({kAnybody, kAside, "user, state and counts of jobs"}),
    wire::RowOf<wire::DescribeJobs>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ListTasks>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::DescribeTasks>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ReadOutput>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::TailOutput>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::SumUse>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ReadRows>(
        {kAnybody, kAside, "users and times; rows of Parasol's jobs, as its programs show them"}),
    wire::RowOf<wire::ListEnds>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::SumJobs>({kAnybody, kAside, "user, state and counts of jobs"}),
    wire::RowOf<wire::LookAtGraph>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::FindTasks>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ReadForwards>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ComparePairs>({kOwner, kAside, "kinds of what ran beside it"}),
    wire::RowOf<wire::FindDependents>({kOwner, kAside, "nothing"}),
    wire::RowOf<wire::ReadEvents>({kOwner, kAside, "nothing"}),
});

wire::LoopCost CostOf(uint32_t number) {
  const HubQuestion* found = FindQuestion(number);
  return found != nullptr ? found->row.cost : kAside;
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
        return CostOf(Q::kNumber).Worst(hub);
      },
      question);
}

std::string QuestionTable() {
  std::vector<wire::QuestionRow> rows(kJournal.begin(), kJournal.end());
  for (const HubQuestion* each : HubQuestions()) rows.push_back(each->row);
  std::ranges::sort(rows, {}, &wire::QuestionRow::number);
  std::string table;
  for (const wire::QuestionRow& row : rows) table += LineOf(row);
  return table;
}

}  // namespace spate::hub
