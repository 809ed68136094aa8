// The table of questions: who may ask each, what the answer tells of others, and what it costs the
// hub's loop at worst. Rights are checked by it before a question is answered (answers.cc), users
// are paced by it (hub/pace.h), the bench measures it (bench/hub/question_cost.cc), and
// docs/SECURITY.md shows it. A question without a row does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "base/enum_list.h"
#include "base/time.h"
#include "wire/questions.h"

namespace spate::hub {

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

template <typename Q>
struct QuestionRule {
  using Question = Q;
  const char* name;
  WhoMay who;
  LoopCost cost;
  const char* tells;  // of others
};

// Rules of all questions, in the order of docs/formats/wire.md.
using enum WhoMay;
// An answer of the journal is made by a process beside the loop, in turn (hub/turns.h).
inline constexpr LoopCost kAside{};
inline constexpr LoopCost kOneJob{.once = 50'000};
// Jobs and tasks that are named are bounded: pick.h, answer_why.cc.
inline constexpr LoopCost kNamed{.named = 20'000};
inline constexpr LoopCost kNamedRuns{.run = 250, .named = 20'000};
inline constexpr auto kQuestionRules = std::tuple{
    QuestionRule<wire::UnknownQuestion>{"UnknownQuestion", kAnybody, {}, "nothing"},
    QuestionRule<wire::LookAtHub>{"LookAtHub",
                                  kAnybody,
                                  {.node = 100, .job = 800, .user = 300},
                                  "how many jobs, tasks and nodes there are"},
    QuestionRule<wire::LookAtAll>{"LookAtAll",
                                  kAnybody,
                                  {.node = 2'500, .run = 250, .job = 1'100, .user = 300},
                                  "user, state and counts of jobs; of tasks that run where"},
    QuestionRule<wire::ListNodes>{
        "ListNodes", kAnybody, {.node = 2'500, .run = 250}, "how much of each node is used"},
    QuestionRule<wire::ListUsers>{
        "ListUsers", kAnybody, {.job = 800, .user = 1'500}, "shares, limits and counts"},
    QuestionRule<wire::ListAccess>{"ListAccess", kAdmin, {.user = 1'500}, "all"},
    QuestionRule<wire::ExplainTasks>{"ExplainTasks", kOwner, kNamedRuns, "why others go before"},
    QuestionRule<wire::LookAtJobs>{"LookAtJobs", kOwner, kNamedRuns, "why others go before"},
    QuestionRule<wire::LookAtWork>{"LookAtWork",
                                   kAnybody,
                                   {.run = 50, .listed = 4'000, .task = 3},
                                   "user, counts, policy and avoided nodes of jobs"},
    QuestionRule<wire::ReadStderr>{"ReadStderr", kOwner, kOneJob, "nothing"},
    QuestionRule<wire::LookAtPools>{"LookAtPools", kAnybody, kOneJob, "pools that serve all"},
    QuestionRule<wire::ReadPoolLog>{"ReadPoolLog", kAnybody, kOneJob, "pools that serve all"},
    QuestionRule<wire::ReadPilotOutput>{"ReadPilotOutput", kOwner, kOneJob, "nothing"},
    QuestionRule<wire::TryPool>{"TryPool", kOwner, kOneJob, "nothing"},
    QuestionRule<wire::LookAtRun>{
        "LookAtRun", kOwner, {.once = 100'000, .node = 250, .named = 20'000}, "nothing"},
    QuestionRule<wire::AskNode>{"AskNode", kAnybody, kOneJob, "what its node measures of itself"},
    QuestionRule<wire::LookAtNode>{"LookAtNode", kNobody, {}, "nothing"},
    QuestionRule<wire::StopNode>{"StopNode", kNobody, {}, "nothing"},
    // Answered by the journal
    QuestionRule<wire::ListJobs>{"ListJobs", kAnybody, kAside, "user, state and counts of jobs"},
    QuestionRule<wire::DescribeJobs>{"DescribeJobs", kOwner, kAside, "nothing"},
    QuestionRule<wire::ListTasks>{"ListTasks", kOwner, kAside, "nothing"},
    QuestionRule<wire::DescribeTasks>{"DescribeTasks", kOwner, kAside, "nothing"},
    QuestionRule<wire::ReadOutput>{"ReadOutput", kOwner, kAside, "nothing"},
    QuestionRule<wire::TailOutput>{"TailOutput", kOwner, kAside, "nothing"},
    QuestionRule<wire::SumUse>{"SumUse", kOwner, kAside, "nothing"},
    QuestionRule<wire::ReadRows>{
        "ReadRows", kAnybody, kAside,
        "users and times; rows of Parasol's jobs, as its programs show them"},
    QuestionRule<wire::ListEnds>{"ListEnds", kOwner, kAside, "nothing"},
    QuestionRule<wire::SumJobs>{"SumJobs", kAnybody, kAside, "user, state and counts of jobs"},
    QuestionRule<wire::LookAtGraph>{"LookAtGraph", kOwner, kAside, "nothing"},
    QuestionRule<wire::FindTasks>{"FindTasks", kOwner, kAside, "nothing"},
    QuestionRule<wire::ReadForwards>{"ReadForwards", kOwner, kAside, "nothing"},
    QuestionRule<wire::ComparePairs>{"ComparePairs", kOwner, kAside, "kinds of what ran beside it"},
    QuestionRule<wire::FindDependents>{"FindDependents", kOwner, kAside, "nothing"},
    QuestionRule<wire::ReadEvents>{"ReadEvents", kOwner, kAside, "nothing"},
    // Changes
    QuestionRule<wire::ChangeNodes>{"ChangeNodes", kAdmin, {.node = 2'500}, "nothing"},
    QuestionRule<wire::StopHub>{"StopHub", kAdmin, {}, "nothing"},
    QuestionRule<wire::AddAccess>{"AddAccess", kAdmin, {}, "nothing"},
    QuestionRule<wire::RevokeAccess>{"RevokeAccess", kAdmin, {}, "nothing"},
    QuestionRule<wire::SetUser>{"SetUser", kAdmin, {}, "nothing"},
    QuestionRule<wire::ChangeJobs>{"ChangeJobs", kOwner, kNamed, "nothing"},
    QuestionRule<wire::Cancel>{"Cancel", kOwner, kNamed, "nothing"},
    QuestionRule<wire::Steer>{
        "Steer", kOwner, {.node = 2'500, .run = 2'000, .task = 3, .named = 20'000}, "nothing"},
    QuestionRule<wire::Forget>{"Forget", kOwner, kNamed, "nothing"},
    QuestionRule<wire::Retry>{"Retry", kOwner, kNamed, "nothing"},
    QuestionRule<wire::Withdraw>{"Withdraw", kOwner, kNamed, "nothing"},
    QuestionRule<wire::TrustNodes>{"TrustNodes", kOwner, {.node = 500}, "nothing"},
    QuestionRule<wire::ResetCounts>{"ResetCounts", kOwner, kOneJob, "nothing"},
    QuestionRule<wire::AddPool>{"AddPool", kPools, kOneJob, "nothing"},
    QuestionRule<wire::ChangePools>{"ChangePools", kOwner, kOneJob, "nothing"},
    QuestionRule<wire::SetHub>{"SetHub", kAdmin, {}, "nothing"},
};

template <typename Q>
constexpr const QuestionRule<Q>& RuleOf() {
  return std::get<QuestionRule<Q>>(kQuestionRules);
}
static_assert(std::tuple_size_v<decltype(kQuestionRules)> == std::variant_size_v<wire::Question>);

// The loop's time for this question at worst, in a hub of this size (without `named`).
Duration WorstCost(const wire::Question& question, AnswerSizes hub);

// The table for people: lines of "| question | who may | what it tells of others | cost |".
std::string QuestionTable();

}  // namespace spate::hub
