#include "wire/question_checks.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/client_codec.h"
#include "wire/client_forms.h"
#include "wire/limits.h"

namespace spate::wire {
namespace {

NeedsChange NeedsOf(std::vector<NamedNeed> named) {
  return NeedsChange().With<&Needs::named>(std::move(named));
}
NeedsChange LabelsOf(std::vector<std::string> labels) {
  return NeedsChange().With<&Needs::labels>(std::move(labels));
}
Retry RetryWith(NeedsChange needs) { return Retry{.tasks = {}, .needs = std::move(needs)}; }
UserChange Weight(uint32_t weight) { return UserChange().With<&UserRule::weight>(weight); }
JobSelector JobsOf(NumberRange range) { return {.ranges = {range}}; }

Result<Request> Passed(Question question) {
  std::string bytes;
  Append(bytes, Request(Query{std::move(question)}));
  return DecodeRequest(bytes);
}

TEST(QuestionChecks, WhatNobodySendsIsDamage) {
  const std::string long_name(2000, 'x');
  TasksOfJob no_job{.job = 0};
  TasksOfJob backwards{.job = 1, .ranges = {{3, 2, 1}}};
  for (const auto& [question, field] : std::vector<std::pair<Question, std::string>>{
           {ListNodes{{long_name}}, "names"},
           {ListUsers{"a\nb"}, "user"},
           {ExplainTasks{{no_job}}, "tasks.job"},
           {ExplainTasks{{backwards}}, "tasks.ranges"},
           {LookAtJobs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {ListJobs{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {DescribeJobs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {ListTasks{.tasks = {{.jobs = JobsOf({2, 1, 1}), .tasks = {}}}}, "tasks.jobs"},
           {DescribeTasks{{{.jobs = {}, .tasks = {backwards}}}}, "tasks.ranges"},
           {ReadOutput{.tasks = {{.jobs = {}, .tasks = {no_job}}}}, "tasks.job"},
           {TailOutput{.job = JobsOf({2, 1, 1})}, "job.ranges"},
           {SumUse{"a\nb", {}}, "user"},
           {SumUse{"", {}, JobsOf({2, 1, 1})}, "jobs.ranges"},
           {ComparePairs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {FindDependents{JobId(1), 1001}, "most"},
           {ChangeNodes{.names = {"\x1b[2J"}}, "names"},
           {AddAccess{2, "eve\nrole: admin", {}}, "user"},
           {AddAccess{2, "eve", Duration::Seconds(-1)}, "lifetime"},
           {SetUser{.user = ""}, "user"},
           {SetUser{.user = "eve", .change = Weight(0)}, "weight"},
           {ChangeJobs{.jobs = JobsOf({0, 1, 1})}, "jobs.ranges"},
           {ChangeJobs{.jobs = JobsOf({1, 1, 0})}, "jobs.ranges"},
           {ChangeJobs{.set = JobChange().With<&JobTerms::weight>(kMaxJobWeight + 1)}, "weight"},
           {ChangeJobs{.set = JobChange().With<&JobTerms::weight>(0u)}, "weight"},
           {ChangeJobs{.set = JobChange().With<&JobTerms::priority>(1'000'001)}, "priority"},
           {Cancel{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {Cancel{.jobs = {}, .tasks = {backwards}}, "tasks.ranges"},
           {Forget{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {Forget{.jobs = {}, .older_than = Duration{-1}}, "older_than"},
           {Retry{.tasks = backwards}, "tasks.ranges"},
           {RetryWith(NeedsOf({{"b", 1}, {"a", 1}})), "needs.named"},
           {RetryWith(NeedsOf({{"", 1}})), "needs.named"},
           {RetryWith(LabelsOf({"b", "a"})), "needs.labels"},
           {RetryWith(LabelsOf({""})), "needs.labels"}}) {
    auto read = Passed(question);
    ASSERT_FALSE(read) << field;
    EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
  }
  EXPECT_TRUE(Passed(RetryWith(NeedsOf({{"a", 1}, {"b", 0}}))));
  EXPECT_TRUE(Passed(RetryWith(LabelsOf({}))));
  EXPECT_TRUE(Passed(SetUser{.user = "eve", .change = Weight(2)}));
}

// A journal keeps it for as long as the pool is there, and shells read it.
TEST(QuestionChecks, AWishForAPoolIsBounded) {
  const std::string long_text(4097, 'x');
  std::vector<NamedNeed> many_named;
  for (int i = 0; i < 65; ++i) many_named.push_back({"n" + std::to_string(100 + i), 1});
  using Texts = std::vector<std::string>;
  using P = PoolPolicy;
  for (const auto& [wish, field] : std::vector<std::pair<PoolChange, std::string>>{
           {PoolChange().With<&P::settings, &PoolSettings::prologue>(long_text), "wish"},
           {PoolChange().With<&P::settings, &PoolSettings::epilogue>(std::string("a\0b", 3)),
            "wish"},
           {PoolChange().With<&P::settings, &PoolSettings::options>(Texts(257, "-x")), "wish"},
           {PoolChange().With<&P::settings, &PoolSettings::options>(Texts{long_text}), "wish"},
           {PoolChange().With<&P::settings, &PoolSettings::addresses>(
                Texts{std::string("a\0b", 3)}),
            "wish"},
           {PoolChange().With<&P::shape, &NodeShape::labels>(Texts{"b", "a"}), "wish.labels"},
           {PoolChange().With<&P::shape, &NodeShape::memory>(kWireLimits.size + 1), "wish.memory"},
           {PoolChange().With<&P::shape, &NodeShape::named>(many_named), "wish.named"},
           {PoolChange().With<&P::shape, &NodeShape::named>(
                std::vector<NamedNeed>{{"b", 1}, {"a", 1}}),
            "needs.named"}}) {
    for (const Question& question :
         {Question(AddPool{.name = "p", .system = "slurm", .wish = wish}),
          Question(ChangePools{.names = {"p"}, .wish = wish})}) {
      auto read = Passed(question);
      ASSERT_FALSE(read) << field;
      EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
    }
  }
  EXPECT_FALSE(Passed(AddPool{.name = "a\nb", .system = "slurm"}));
  EXPECT_FALSE(Passed(ChangePools{.names = {"p"}, .reason = std::string(2000, 'x')}));
  PoolChange sound;
  sound.Set(sound.values.settings.prologue, "module x\n");
  sound.Set(sound.values.idle_exit, Duration::Max());
  auto passed = Passed(AddPool{.name = "p", .system = "slurm", .wish = sound});
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(std::get<AddPool>(std::get<Query>(*passed).question).wish, sound);
}

TEST(QuestionChecks, WhatANewerClientAsksIsToldToBeUnknown) {
  std::string bytes;
  spate::internal::FieldWriter::WriteIn(bytes, Query::kNumber, QueryForm{4'000'000, "anything"});
  auto read = DecodeRequest(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(std::holds_alternative<UnknownQuestion>(std::get<Query>(*read).question));
}

}  // namespace
}  // namespace spate::wire
