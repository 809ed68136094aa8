// Jobs of this machine that are made and taken up again, and how later runs find them. Nothing of
// them is started.
#include "run/prepared_job.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/options/job_words.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/temp_dir.h"
#include "plan/job_text.h"
#include "plan/plan.h"
#include "run/earlier_runs.h"
#include "run/run_asker.h"

namespace spate::run {
namespace {

using Argv = std::vector<std::string>;

class PreparedJobTest : public testing::Test {
 protected:
  PreparedJobTest() : here_(client::Surroundings::Find().value()), state_(dir_.Path("state")) {
    here_.cwd = dir_.path();
  }
  static cli::RunOptions OptionsOf(const Argv& argv) { return cli::ParseRun({}, argv).value(); }

  // A new job, accepted and durable.
  std::unique_ptr<PreparedJob> Make(const Argv& argv) {
    cli::RunOptions options = OptionsOf(argv);
    const auto words = cli::ParseWords(cli::kRunWords, argv).value();
    Plan plan{.here = here_, .words = words, .argv = argv, .options = options};
    auto made = MakePlan(plan);
    EXPECT_TRUE(made) << made.error().message;
    auto job = PreparedJob::Create(here_, state_, options).value();
    EXPECT_TRUE(job->SetTasks(SubmissionOf(std::move(plan), argv).value()));
    EXPECT_TRUE(job->foreground().Settle());
    return job;
  }
  // The same, with its process gone; `ends`: by itself.
  uint32_t Leave(const Argv& argv, bool ends = false) {
    auto job = Make(argv);
    if (ends) job->PutEnd();
    return job->id().value;
  }
  std::unique_ptr<PreparedJob> Open(uint32_t number) {
    auto parse = [](const Argv& stored) { return cli::ParseRun({}, stored); };
    auto job = PreparedJob::Open(here_, state_, number, parse);
    EXPECT_TRUE(job) << job.error().message;
    return std::move(*job);
  }
  static Argv RowsOf(PreparedJob& job) {
    Argv rows;
    job.StoredRows()([&](std::string_view row) { rows.emplace_back(row); });
    EXPECT_TRUE(job.rows_status());
    return rows;
  }
  std::string Put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(os::WriteFileAtomically(dir_.Path(name), text, 0600));
    return dir_.Path(name);
  }

  os::TempDir dir_;
  client::Surroundings here_;
  const std::string state_;
};

TEST_F(PreparedJobTest, IsTakenUpAsItWasSubmitted) {
  const Argv argv = {"--name", "some", "--keep-output", "500", "--cpus", "1", "--",
                     "echo",   "{}",   ":::",           "a",   "b"};
  const uint32_t number = Leave(argv);
  EXPECT_EQ(number, 1u);
  auto job = Open(number);
  EXPECT_EQ(job->row().name, "some");
  EXPECT_EQ(job->row().argv, argv);
  EXPECT_EQ(job->row().cwd, dir_.path());
  EXPECT_EQ(job->options().keep_output, 500u);
  EXPECT_EQ(job->settings().command, (Argv{"echo", "{}"}));
  EXPECT_EQ(job->task_count(), 2u);
  EXPECT_EQ(RowsOf(*job), (Argv{"a", "b"}));
  EXPECT_EQ(job->counts().queued, 2u);
  EXPECT_FALSE(job->open());
  ASSERT_EQ(job->requests().size(), 1u);
  EXPECT_EQ(job->requests()[0].needs.milli_cpus, 1000u);
}

TEST_F(PreparedJobTest, HasTheNeedsAndEdgesOfItsList) {
  Put("jobs.lst", "{name a} {use cpu 0.5} echo a\n{after a} echo b\n");
  auto job = Open(Leave({dir_.Path("jobs.lst")}));
  EXPECT_EQ(job->row().files, Argv{dir_.Path("jobs.lst")});
  ASSERT_EQ(job->requests().size(), 2u);
  EXPECT_EQ(job->requests()[0].needs.milli_cpus, 500u);
  const std::vector<Edge> edges = job->engine().Edges(job->id());
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(edges[0].parent, 0u);
  EXPECT_EQ(edges[0].child, 1u);
}

TEST_F(PreparedJobTest, StoresALongListInPieces) {
  std::string list;
  for (int i = 0; i < 3000; ++i) list += "echo " + std::to_string(i) + "\n";
  Put("jobs.lst", list);
  auto job = Open(Leave({dir_.Path("jobs.lst")}));
  const Argv rows = RowsOf(*job);
  ASSERT_EQ(rows.size(), 3000u);
  for (int i : {0, 1023, 1024, 2999}) EXPECT_EQ(rows[i], "echo " + std::to_string(i));
}

TEST_F(PreparedJobTest, GoesOnWithALongerList) {
  Put("jobs.lst", "echo a\necho b\n");
  const uint32_t number = Leave({dir_.Path("jobs.lst")});
  Put("jobs.lst", "echo a\n{use cpu 0.5} echo c\necho b\n");
  {
    auto job = Open(number);
    cli::TaskList now;
    now.count = 3;
    now.rows = [](const cli::RowVisitor& visit) {
      for (const char* row : {"echo a", "{use cpu 0.5} echo c", "echo b"}) visit(row);
    };
    Needs half;
    half.milli_cpus = 500;
    now.requests = {job->requests()[0], half};
    now.runs = {{0, 1, 0}, {1, 1, 1}, {2, 1, 0}};
    ASSERT_TRUE(job->Resume());
    job->AddTasks(now, {1});
    ASSERT_TRUE(job->foreground().Settle());
  }
  auto job = Open(number);
  EXPECT_EQ(RowsOf(*job), (Argv{"echo a", "echo b", "{use cpu 0.5} echo c"}));
  ASSERT_EQ(job->requests().size(), 2u);
  EXPECT_EQ(job->requests()[1].needs.milli_cpus, 500u);
  EXPECT_EQ(job->row().runs, 3u);
}

TEST_F(PreparedJobTest, AJobThatCameToNothingLeavesNoFolder) {
  auto job = Make({"--", "true"});
  const std::string folder = job->dir().path();
  EXPECT_TRUE(os::Exists(folder));
  job->Discard();
  EXPECT_FALSE(os::Exists(folder));
}

TEST_F(PreparedJobTest, OneThatWasNeverAcceptedIsNotTakenUp) {
  auto job = PreparedJob::Create(here_, state_, OptionsOf({"--", "true"})).value();
  const uint32_t number = job->id().value;
  auto busy = PreparedJob::Open(here_, state_, number,
                                [](const Argv& argv) { return cli::ParseRun({}, argv); });
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, ErrorKind::kBusy);  // its process is there
  job.reset();
  auto gone = PreparedJob::Open(here_, state_, number,
                                [](const Argv& argv) { return cli::ParseRun({}, argv); });
  EXPECT_FALSE(gone);
}

// ---- Earlier runs ------------------------------------------------------------------------------

TEST_F(PreparedJobTest, TheNewestRunOfTheSameWorkIsTheEarlierOne) {
  const Argv argv = {"--", "echo", "{}", ":::", "a", "b"};
  EXPECT_FALSE(FindEarlierRun(state_, dir_.path(), OptionsOf(argv)).value().job);
  Leave(argv);
  const uint32_t newest = Leave(argv);
  Leave({"--", "true", ":::", "a", "b"});
  auto found = FindEarlierRun(state_, dir_.path(), OptionsOf(argv)).value();
  ASSERT_TRUE(found.job);
  EXPECT_EQ(found.job->number, newest);
  EXPECT_EQ(found.job->standing, store::JobStanding::kInterrupted);
  EXPECT_FALSE(FindEarlierRun(state_, "/", OptionsOf(argv)).value().job);  // of another folder
}

TEST_F(PreparedJobTest, OfOtherValuesTheRunThatHadMostOfThemIsTheEarlierOne) {
  const uint32_t most = Leave({"--", "echo", "{}", ":::", "a", "b", "c"});
  Leave({"--", "echo", "{}", ":::", "c", "x", "y"});
  auto typed = OptionsOf({"--", "echo", "{}", ":::", "a", "b", "d"});
  auto found = FindEarlierRun(state_, dir_.path(), typed).value();
  ASSERT_TRUE(found.job);
  EXPECT_EQ(found.job->number, most);
  auto others = OptionsOf({"--", "echo", "{}", ":::", "p", "q"});
  EXPECT_FALSE(FindEarlierRun(state_, dir_.path(), others).value().job);
}

TEST_F(PreparedJobTest, OfAListARunThatWasKilledIsCutOff) {
  Put("jobs.lst", "echo a\necho b\n");
  const cli::RunOptions options = OptionsOf({dir_.Path("jobs.lst")});
  EXPECT_FALSE(FindCutOff(state_, dir_.path(), options));
  const uint32_t killed = Leave({dir_.Path("jobs.lst")});
  auto cut = FindCutOff(state_, dir_.path(), options);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->number, killed);
  EXPECT_EQ(cut->row.counts.total, 2u);
  Leave({dir_.Path("jobs.lst")}, /*ends=*/true);  // it has told how to resume it
  EXPECT_FALSE(FindCutOff(state_, dir_.path(), options));
}

TEST_F(PreparedJobTest, TasksWithoutTimesAreStartedAsGiven) {
  const Argv argv = {"--", "echo", "{}", ":::", "a", "b"};
  auto rows = [](const cli::RowVisitor& visit) {
    for (const char* row : {"a", "b"}) visit(row);
  };
  EXPECT_TRUE(LongestFirst(state_, dir_.path(), OptionsOf(argv), rows).empty());
  Leave(argv);
  EXPECT_EQ(LongestFirst(state_, dir_.path(), OptionsOf(argv), rows),
            (std::vector<TaskIndex>{0, 1}));
}

TEST_F(PreparedJobTest, ListsAreNamedByTheirWholePaths) {
  EXPECT_EQ(ListName("/a/b", "c.lst"), "/a/b/c.lst");
  EXPECT_EQ(ListName("/a/b", "../c.lst"), "/a/c.lst");
  EXPECT_EQ(ListName("/a/b", "/x.lst"), "/x.lst");
  EXPECT_EQ(ListName("/a/b", "-"), "-");
}

// ---- All runs of the machine -------------------------------------------------------------------

TEST_F(PreparedJobTest, RunsAreNamedByTheirNumbers) {
  RunAsker runs(here_, state_, " --local");
  JobSelector last;
  last.last = true;
  EXPECT_FALSE(runs.Pick(last));
  for (int i = 0; i < 3; ++i) Leave({"--", "true"});
  auto pick = [&](JobSelector jobs) { return runs.Pick(jobs).value(); };
  EXPECT_EQ(pick({.ranges = {{1, 2, 1}}}), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(pick(last), std::vector<uint32_t>{3});
  JobSelector all;
  all.all = true;
  EXPECT_EQ(pick(all), (std::vector<uint32_t>{1, 2, 3}));
  auto absent = runs.Pick({.ranges = {{7, 7, 1}}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::kNotFound);
}

TEST_F(PreparedJobTest, ARunThatHasEndedTakesNoOrders) {
  Leave({"--", "true"});
  RunAsker runs(here_, state_, " --local");
  wire::Cancel cancel;
  cancel.jobs.ranges = {{1, 1, 1}};
  auto told = client::QueryOne(runs, cancel);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(told.error().message, "job 1 is not running; see: spate job info --local 1");
  auto hub_only = client::QueryOne(runs, wire::StopHub());
  ASSERT_FALSE(hub_only);
  EXPECT_EQ(hub_only.error().kind, ErrorKind::kInvalid);
}

// Its process has the lock before it listens, as this one does here.
TEST_F(PreparedJobTest, ARunThatDoesNotListenYetIsWaitedFor) {
  auto job = Make({"--", "true"});
  RunAsker runs(here_, state_, " --local");
  wire::Cancel cancel;
  cancel.jobs.ranges = {{1, 1, 1}};
  std::jthread ends([&job] {
    auto loop = os::RealLoop::Create().value();
    loop->At(loop->Now() + Duration::Millis(200), [&loop] { loop->Stop(); });
    loop->Run();
    job.reset();
  });
  auto told = client::QueryOne(runs, cancel);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message, "job 1 is not running; see: spate job info --local 1");
}

TEST_F(PreparedJobTest, WhatJournalsKnowIsAnsweredFromThem) {
  Leave({"--name", "some", "--", "echo", "{}", ":::", "a", "b"});
  RunAsker runs(here_, state_, "");
  wire::ListJobs question;
  question.jobs = JobSelector{.ranges = {{1, 1, 1}}};
  auto listed = client::QueryOne(runs, question).value();
  ASSERT_EQ(listed.jobs.size(), 1u);
  EXPECT_EQ(listed.jobs[0].name, "some");
  EXPECT_EQ(listed.jobs[0].counts.total, 2u);
  EXPECT_EQ(listed.jobs[0].state, JobStanding::kInterrupted);
}

}  // namespace
}  // namespace spate::run
