// The row of a question: its price, and what it tells, beside its type (wire/questions.h). The file
// that answers the question defines it (hub/answers/questions/, history/questions/). Rights are
// checked by the rows before a question is answered, users are paced by them (hub/pace.h), the
// bench measures them (bench/hub/question_cost.cc), and docs/SECURITY.md shows them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/enum_list.h"
#include "base/time.h"
#include "base/type_name.h"

namespace spate::wire {

SPATE_ENUM(WhoMay,
    kAnybody, "anybody",       // whom the hub lets in; the answer shows of others what `tells` says
    kOwner, "owner",           // of the job or pool that it names; and administrators
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
  // Its type's.
  uint32_t number = 0;
  std::string_view name = {};
};

// The row of a question's type; `row` has who may ask, what it costs, and what it tells.
template <typename Q>
consteval QuestionRow RowOf(QuestionRow row) {
  row.number = Q::kNumber;
  row.name = TypeName<Q>();
  row.name.remove_prefix(row.name.rfind(':') + 1);
  return row;
}

}  // namespace spate::wire
