// The row of a question: its price, and what it tells, beside its type (wire/questions.h). The file
// that answers the question defines it (hub/answers/questions/, history/questions/). Rights are
// checked by the rows before a question is answered, users are paced by them (hub/pace.h), the
// bench measures them (bench/hub/question_cost.cc), and docs/SECURITY.md shows them.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/enum_list.h"
#include "base/time.h"
#include "base/type_name.h"
#include "wire/question.h"
#include "wire/question_checks.h"

namespace spate::wire {

SPATE_ENUM(WhoMay,
    kAnybody, "anybody",       // whom the hub lets in; the answer shows of others what `tells` says
    kOwner, "owner",           // of the job or pool that it names; and administrators
    kOwnerAlone, "owner alone",  // of the job; the answer checks it
    kPools, "right to pools",  // who may add pools (UserRule::may_pools); and administrators
    kAdmin, "administrators",
    kNobody, "nobody");  // it is not for a hub

// Sizes that an answer may walk over.
struct AnswerSizes {
  uint64_t nodes = 0;
  uint64_t runs = 0;   // tasks that nodes have told to run
  uint64_t jobs = 0;   // that have not ended
  uint64_t tasks = 0;  // likewise
  uint64_t users = 0;  // that the hub knows
  uint64_t named = 0;  // jobs and tasks that the question names; of the hub the rest
};

// Nanoseconds of the loop, at worst: `once`, and so much for each; of jobs that are listed and of
// tasks up to the number that one question is answered for.
struct LoopCost {
  static constexpr uint64_t kMostJobs = 1'000;
  static constexpr uint64_t kMostTasks = 1'000'000;
  uint32_t once = 20'000;
  uint32_t node = 0;
  uint32_t run = 0;
  uint32_t job = 0;
  uint32_t listed = 0;
  uint32_t task = 0;
  uint32_t user = 0;
  uint32_t named = 0;

  Duration Worst(const AnswerSizes& sizes) const;
};
// An answer of the journal is made by a process beside the loop, in turn (hub/turns.h).
inline constexpr LoopCost kAside{};
inline constexpr LoopCost kOneJob{.once = 50'000};
// Jobs and tasks that are named are bounded: hub/answers/pick.h.
inline constexpr LoopCost kNamed{.named = 20'000};
inline constexpr LoopCost kNamedRuns{.run = 250, .named = 20'000};

struct QuestionRow {
  WhoMay who = WhoMay::kNobody;
  LoopCost cost = {};
  const char* tells = "nothing";  // of others
  // Jobs of which the journal's reader has to know how they stand now. Null: those that it names.
  std::vector<JobSelector> (*jobs)(const Question& asked) = nullptr;
  // Its type's.
  uint32_t number = 0;
  std::string_view name = {};
  // kCorrupt: the bytes are none of its type, or no program of ours asks this.
  Status (*check)(const Question& asked) = nullptr;
  // Jobs and tasks that it names, AnswerSizes::named; `jobs`: as there.
  uint64_t (*named)(const Question& asked, uint64_t jobs) = nullptr;
};

// `all`: the number of jobs that have not ended. A selector may name many more that have ended.
uint64_t CountOf(const JobSelector& jobs, uint64_t all);
// A task costs a look; its job, and each piece of it, a hundred.
uint64_t CountOf(const TasksOfJob& tasks);
std::vector<JobSelector> JobsOf(const std::vector<TaskPick>& picks);

template <typename Q>
uint64_t NamedIn(const Q& asked, uint64_t jobs) {
  uint64_t named = 0;
  if constexpr (requires { asked.jobs.ranges; }) named += CountOf(asked.jobs, jobs);
  // The names of up to 65,536 variables.
  if constexpr (requires { asked.shell; }) named += asked.shell ? 500 : 0;
  if constexpr (requires { asked.tasks.front().ranges; }) {
    for (const TasksOfJob& tasks : asked.tasks) named += CountOf(tasks);
  }
  if constexpr (requires { asked.tasks.front().jobs; }) {
    for (const TaskPick& pick : asked.tasks) {
      if (pick.tasks.empty()) named += CountOf(pick.jobs, jobs);
      for (const TasksOfJob& tasks : pick.tasks) named += CountOf(tasks);
    }
  }
  if constexpr (requires { asked.task.ranges; }) named += CountOf(asked.task);
  if constexpr (requires { asked.tasks.ranges; }) named += CountOf(asked.tasks);
  return named;
}

template <typename Q>
std::vector<JobSelector> JobsIn(const Q& asked) {
  if constexpr (requires { requires std::is_same_v<decltype(asked.jobs), JobSelector>; }) {
    return {asked.jobs};
  } else if constexpr (requires { asked.tasks.front().jobs; }) {
    return JobsOf(asked.tasks);
  } else {
    return {};
  }
}

template <typename Q>
using CheckOf = Status (*)(const Q& asked);
// A question of which the types and CheckFields say all.
template <typename Q>
Status NoCheck(const Q&) {
  return {};
}

// The row of a question's type; `row` has who may ask, what it costs, and what it tells.
template <IsQuestion Q, CheckOf<Q> kCheck = NoCheck<Q>>
consteval QuestionRow RowOf(QuestionRow row) {
  row.number = Q::kNumber;
  row.name = TypeName<Q>();
  row.name.remove_prefix(row.name.rfind(':') + 1);
  row.check = [](const Question& question) -> Status {
    const Q asked = TRY(question.Read<Q>());
    TRY(CheckFields(asked));
    return kCheck(asked);
  };
  row.named = [](const Question& question, uint64_t jobs) {
    auto asked = question.As<Q>();
    return asked ? NamedIn(*asked, jobs) : 0;
  };
  if (row.jobs == nullptr) {
    row.jobs = [](const Question& question) {
      auto asked = question.As<Q>();
      return asked ? JobsIn(*asked) : std::vector<JobSelector>();
    };
  }
  return row;
}

// The loop's time for this question at worst, in a hub of this size (without `named`).
Duration WorstCost(const QuestionRow& row, const Question& question, AnswerSizes hub);

}  // namespace spate::wire
