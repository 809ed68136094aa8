// Questions that no program of ours asks are damage, by the rows of their files.
#include <gtest/gtest.h>

#include <vector>

#include "history/question.h"
#include "hub/answers/question.h"
#include "wire/client_codec.h"
#include "wire/limits.h"

namespace spate::daemon {
namespace {

NeedsChange NeedsOf(std::vector<NamedNeed> named) {
  return NeedsChange().With<&Needs::named>(std::move(named));
}
NeedsChange LabelsOf(std::vector<std::string> labels) {
  return NeedsChange().With<&Needs::labels>(std::move(labels));
}
wire::Retry RetryWith(NeedsChange needs) {
  return wire::Retry{.tasks = {}, .needs = std::move(needs)};
}
UserChange Weight(uint32_t weight) { return UserChange().With<&UserRule::weight>(weight); }
JobSelector JobsOf(NumberRange range) { return {.ranges = {range}}; }

// The question, when the hub takes it.
Result<wire::Question> Passed(wire::Question question) {
  std::string bytes;
  wire::Append(bytes, wire::Request(wire::Query{std::move(question)}));
  auto request = TRY(wire::DecodeRequest(bytes));
  wire::Question came = std::get<wire::Query>(request).question;
  const hub::HubQuestion* answered = hub::FindQuestion(came.number());
  TRY((answered ? &answered->row : history::FindRow(came.number()))->check(came));
  return came;
}

TEST(QuestionChecks, WhatNobodySendsIsDamage) {
  const std::string long_name(2000, 'x');
  TasksOfJob no_job{.job = 0};
  TasksOfJob backwards{.job = 1, .ranges = {{3, 2, 1}}};
  for (const auto& [question, field] : std::vector<std::pair<wire::Question, std::string>>{
           {wire::ListNodes{{long_name}}, "names"},
           {wire::ListUsers{"a\nb"}, "user"},
           {wire::ExplainTasks{{no_job}}, "tasks.job"},
           {wire::ExplainTasks{{backwards}}, "tasks.ranges"},
           {wire::LookAtJobs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::ListJobs{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::DescribeJobs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::ListTasks{.tasks = {{.jobs = JobsOf({2, 1, 1}), .tasks = {}}}}, "tasks.jobs"},
           {wire::DescribeTasks{{{.jobs = {}, .tasks = {backwards}}}}, "tasks.ranges"},
           {wire::ReadOutput{.tasks = {{.jobs = {}, .tasks = {no_job}}}}, "tasks.job"},
           {wire::TailOutput{.job = JobsOf({2, 1, 1})}, "job.ranges"},
           {wire::SumUse{"a\nb", {}}, "user"},
           {wire::SumUse{"", {}, JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::ComparePairs{JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::FindDependents{JobId(1), 1001}, "most"},
           {wire::ChangeNodes{.names = {"\x1b[2J"}}, "names"},
           {wire::AddAccess{2, "eve\nrole: admin", {}}, "user"},
           {wire::AddAccess{2, "eve", Duration::Seconds(-1)}, "lifetime"},
           {wire::SetUser{.user = ""}, "user"},
           {wire::SetUser{.user = "eve", .change = Weight(0)}, "weight"},
           {wire::ChangeJobs{.jobs = JobsOf({0, 1, 1})}, "jobs.ranges"},
           {wire::ChangeJobs{.jobs = JobsOf({1, 1, 0})}, "jobs.ranges"},
           {wire::ChangeJobs{.set = JobChange().With<&JobTerms::weight>(kMaxJobWeight + 1)},
            "weight"},
           {wire::ChangeJobs{.set = JobChange().With<&JobTerms::weight>(0u)}, "weight"},
           {wire::ChangeJobs{.set = JobChange().With<&JobTerms::priority>(1'000'001)}, "priority"},
           {wire::Cancel{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::Cancel{.jobs = {}, .tasks = {backwards}}, "tasks.ranges"},
           {wire::Forget{.jobs = JobsOf({2, 1, 1})}, "jobs.ranges"},
           {wire::Forget{.jobs = {}, .older_than = Duration{-1}}, "older_than"},
           {wire::Retry{.tasks = backwards}, "tasks.ranges"},
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
  EXPECT_TRUE(Passed(wire::SetUser{.user = "eve", .change = Weight(2)}));
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
           {PoolChange().With<&P::shape, &NodeShape::memory>(wire::kWireLimits.size + 1),
            "wish.memory"},
           {PoolChange().With<&P::shape, &NodeShape::named>(many_named), "wish.named"},
           {PoolChange().With<&P::shape, &NodeShape::named>(
                std::vector<NamedNeed>{{"b", 1}, {"a", 1}}),
            "needs.named"}}) {
    for (const wire::Question& question :
         {wire::Question(wire::AddPool{.name = "p", .system = "slurm", .wish = wish}),
          wire::Question(wire::ChangePools{.names = {"p"}, .wish = wish})}) {
      auto read = Passed(question);
      ASSERT_FALSE(read) << field;
      EXPECT_NE(read.error().message.find(field), std::string::npos) << read.error().message;
    }
  }
  EXPECT_FALSE(Passed(wire::AddPool{.name = "a\nb", .system = "slurm"}));
  EXPECT_FALSE(Passed(wire::ChangePools{.names = {"p"}, .reason = std::string(2000, 'x')}));
  PoolChange sound;
  sound.Set(sound.values.settings.prologue, "module x\n");
  sound.Set(sound.values.idle_exit, Duration::Max());
  auto passed = Passed(wire::AddPool{.name = "p", .system = "slurm", .wish = sound});
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->As<wire::AddPool>()->wish, sound);
}

TEST(QuestionChecks, MoreThanAStrangerMaySendIsDamage) {
  wire::ListNodes many{.names = std::vector<std::string>(wire::kMostElements + 1, "a")};
  EXPECT_TRUE(wire::Question(many).Read<wire::ListNodes>()) << "it is our own";
  EXPECT_FALSE(Passed(many));
  many.names.pop_back();
  EXPECT_TRUE(Passed(many));
}

TEST(QuestionChecks, ANewerClientsQuestionIsPassedOnToBeUnknown) {
  std::string bytes;
  wire::Append(bytes, wire::Request(wire::Query{wire::Question(4'000'000, "anything")}));
  auto read = wire::DecodeRequest(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(std::get<wire::Query>(*read).question.number(), 4'000'000u);
  EXPECT_EQ(hub::FindQuestion(4'000'000), nullptr);
  EXPECT_EQ(history::FindRow(4'000'000), nullptr);
}

}  // namespace
}  // namespace spate::daemon
