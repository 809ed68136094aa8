#include "doors/parasol/programs/para.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "doors/parasol/programs/para_fixture.h"
#include "doors/parasol/programs/para_talk.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

class ParaTest : public ParaFixture {};

// ---- command line ----

TEST_F(ParaTest, TooFewWords) {
  const std::string usage(kPara.usage);
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"create"},
                                             {"make"},
                                             {"freeBatch", "x"},
                                             {"resetCounts", "x"},
                                             {"flushResults", "x"},
                                             {"recover", "a"},
                                             {"priority"},
                                             {"ram"}}) {
    Ran ran = Para(args);
    EXPECT_EQ(ran.code, 255);
    EXPECT_EQ(ran.err, usage + "\n");
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(ParaTest, WrongCommandLines) {
  MustCreate("a\n");
  for (auto [args, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"-foo", "check"}, "-foo is not a valid option"},
           {{"chekc"},
            "'chekc' is not a command of para; did you mean check?; para without arguments lists "
            "the commands"},
           {{"check", "-retries=x"},
            "-retries=x is not a whole number; write for example -retries=4"},
           {{"priority", "0"},
            "'0' is not a priority; write high, medium, low or 1 (the most urgent) "
            "to 10000"},
           {{"maxJob", "x"}, "'x' is not a number of jobs; write 0 or more, or unlimited"},
           {{"cpu", "x"}, "'x' is not a number of CPUs"},
           {{"ram", "5M"}, "'5M' is not a valid size (write for example 512m or 2g)"},
           {{"hippos", "x"}, "'x' is not a number of minutes"},
           {{"shove", "-maxPush=0"}, "with -maxPush=0, nothing would ever be submitted"}}) {
    Ran ran = Para(args);
    EXPECT_EQ(ran.code, 255);
    EXPECT_TRUE(ran.err.ends_with(message + "\n")) << ran.err;
  }
}

TEST_F(ParaTest, NoBatch) {
  for (std::string command : {"check", "push", "shove", "stop", "time", "problems"}) {
    Ran ran = Para({command});
    EXPECT_EQ(ran.code, 255);
    EXPECT_EQ(ran.err,
              "there is no batch in 'DIR'; make one with para create, or name its folder with "
              "-batch=DIR\n");
  }
  EXPECT_EQ(os::ListDir(dir_.path())->size(), 0u);
}

// ---- create ----

TEST_F(ParaTest, Create) {
  Ran ran = Create("a {check out line+ o}  \r\n# no\n\n  b {use cpu 2}{use ram 1k}\n");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "Checking input files\n2 jobs written to DIR/batch\n");
  std::string batch =
      "\"a o\",0,0,1,{{\"out\",\"line+\",\"o\",},},0,{},\"a {check out line+ o}\",\n"
      "\"b \",2,1024,0,{},0,{},\"b {use cpu 2}{use ram 1k}\",\n";
  EXPECT_EQ(Read("batch"), batch);
  EXPECT_EQ(Read("batch.bak"), batch);
  EXPECT_FALSE(os::Exists(Path("para.bookmark")));
  EXPECT_EQ(Marks(), "known 0\nhalts 1 create\n");
  EXPECT_EQ(os::Stat(Path("err"))->kind, os::FileKind::kDir);

  ran = Para({"creat", Path("list"), "-cpu=1.5", "ram=1g", "-pri=high", "-maxNode=3", "-eta"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(
      ran.err,
      "-eta has no effect; para time prints the estimate\nChecking input files\n2 jobs written "
      "to DIR/batch\nTold hub to set priority 1\nTold hub to set maxJob 3\n");
  EXPECT_EQ(Log(), Lines({"priority 1", "maxJob 3"}));
  EXPECT_TRUE(Read("batch").starts_with("\"a o\",1.5,1073741824,1,")) << Read("batch");
  EXPECT_NE(Read("batch").find("\n\"b \",2,1024,0,"), std::string::npos) << Read("batch");
  EXPECT_EQ(Para({"-verbose=0", "create", Path("list")}).err, "");
}

TEST_F(ParaTest, CreateRefuses) {
  Ran ran = Create("a {check in exists no1}\nb {check in exists no2}\n");
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.err,
            "Checking input files\nno1 does not exist\nno2 does not exist\n2 total errors in file "
            "check\n");
  EXPECT_FALSE(os::Exists(Path("batch")));
  ran = Create("a\nb {check in}\n");
  EXPECT_EQ(ran.err, "Badly formatted check line 2 of DIR/list\n");

  MustCreate("a\n");
  EXPECT_EQ(Para({"push"}).code, 0);
  std::string before = Read("batch");
  ran = Create("b\n");
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.err, "This batch is currently running.  Please para stop first.\n");
  EXPECT_EQ(Read("batch"), before);
}

TEST_F(ParaTest, CreateNotesWhatParasolCouldNotRead) {
  Ran ran = Create("sh -c \"a b\"\n" + std::string(2000, 'x') + "\n");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(
      ran.err,
      "Checking input files\n"
      "2 jobs written to DIR/batch\n"
      "note: 1 jobs contain a double quote; they run here, but UCSC's para cannot read this batch\n"
      "note: 1 jobs are too long for UCSC's para; they run here\n");
  EXPECT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks[0].command, "sh -c \"a b\"");
}

TEST_F(ParaTest, AnEmptyListIsDone) {
  MustCreate("");
  EXPECT_EQ(Read("batch"), "");
  EXPECT_EQ(Check(), "total jobs in batch: 0\n");
  Ran ran = Para({"make", Path("list")});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.err.find("note: the list has no jobs"), std::string::npos) << ran.err;
  EXPECT_TRUE(ran.err.ends_with("Successful batch!\n")) << ran.err;
}

// Files left by an earlier batch of the same name are not read as the new one's.
TEST_F(ParaTest, CreateAfterAnEarlierBatch) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(0);
  MustCreate("c\nd\n");
  EXPECT_EQ(Check(), "unsubmitted jobs: 2\ntotal jobs in batch: 2\n");
  EXPECT_EQ(Read("para.bookmark"), std::to_string(Read("para.results").size()) + "\n");
  // Also when another hub counts from 1 again.
  world_.tasks.clear();
  world_.next_id = 100'000'000;
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(Check(), "queued and waiting: 2\ntotal jobs in batch: 2\n");
}

// ---- push and what it finds ----

TEST_F(ParaTest, PushTellsAndKeepsTheBatch) {
  MustCreate("a\nb\nc\n");
  world_.others = 5;
  Ran ran = Para({"push", "-maxPush=2", "-jobCwd=/tmp/"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "3 jobs in batch\n5 jobs (including everybody's) in Parasol queue or running.\n"
            "Checking finished jobs\nupdated job database on disk\nPushed Jobs: 2\n");
  EXPECT_EQ(world_.folder, "/tmp");
  EXPECT_EQ(
      Read("batch"),
      "\"a\",0,0,0,{},1,{{\"100000000\",\"n/a\",0,1800000000,0,0,0,0,0,1,0,0,0,0,0,0,0,\"n/a\",},},"
      "\"a\",\n"
      "\"b\",0,0,0,{},1,{{\"100000001\",\"n/a\",0,1800000000,0,0,0,0,0,1,0,0,0,0,0,0,0,\"n/a\",},},"
      "\"b\",\n"
      "\"c\",0,0,0,{},0,{},\"c\",\n");
  EXPECT_EQ(Marks(), "known 2\nhalts 1 create\n");
  EXPECT_EQ(Check(), "unsubmitted jobs: 1\nqueued and waiting: 2\ntotal jobs in batch: 3\n");

  world_.Start(0);
  world_.End(1, kExit3, 2);
  ran = Para({"PUSH"});
  EXPECT_EQ(ran.err,
            "3 jobs in batch\n6 jobs (including everybody's) in Parasol queue or running.\n"
            "Checking finished jobs\nupdated job database on disk\nPushed Jobs: 2\nRetried jobs: "
            "1\n");
  EXPECT_EQ(Log(), Lines({"submit 0 1", "submit 2 1"}));  // first tries first
  EXPECT_EQ(Read("para.bookmark"), std::to_string(Read("para.results").size()) + "\n");
  EXPECT_EQ(Check(), "queued and waiting: 2\nrunning: 1\ntotal jobs in batch: 3\n");
  EXPECT_EQ(Para({"push"}).err,
            "3 jobs in batch\n8 jobs (including everybody's) in Parasol queue or running.\n"
            "Checking finished jobs\nupdated job database on disk\n");
}

TEST_F(ParaTest, HowMuchIsPushed) {
  struct Case {
    std::vector<std::string> args;
    uint64_t others, pushed;
  };
  for (const Case& c : std::vector<Case>{{{"try"}, 0, 10},
                                         {{"try", "-maxPush=3"}, 0, 10},
                                         {{"push", "-maxPush=7"}, 0, 7},
                                         {{"push"}, 0, 15},
                                         {{"push", "-maxQueue=100"}, 94, 6},
                                         {{"push", "-maxQueue=100"}, 200, 1},
                                         {{"push", "-maxQueue=100", "-minPush=4"}, 98, 4},
                                         {{"push", "-maxQueue=100", "-minPush=0"}, 100, 0}}) {
    world_.tasks.clear();
    world_.others = c.others;
    std::string list;
    for (int i = 0; i < 15; ++i) list += "a\n";
    MustCreate(list);
    EXPECT_EQ(Para(c.args).code, 0);
    EXPECT_EQ(world_.tasks.size(), c.pushed) << testing::PrintToString(c.args) << c.others;
  }
}

TEST_F(ParaTest, DelayBetweenSubmissions) {
  MustCreate("a\nb\nc\n");
  Instant start = world_.now;
  EXPECT_EQ(Para({"push", "-delayTime=7"}).code, 0);
  EXPECT_EQ(Log(), Lines({"submit 0", "submit 1", "submit 2"}));
  EXPECT_EQ(world_.now - start, Duration::Seconds(14));
}

TEST_F(ParaTest, RequestsOfTheCommandLineAndLater) {
  MustCreate("a\nb {use ram 2k}\n");
  EXPECT_EQ(Para({"push", "-ram=1k", "-cpu=2"}).code, 0);
  EXPECT_TRUE(Read("batch").starts_with("\"a\",2,1024,0,")) << Read("batch");
  EXPECT_NE(Read("batch").find("\n\"b \",2,2048,0,"), std::string::npos);
  Ran ran = Para({"ram", "3k"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "2 jobs in batch\nupdated job database on disk\n");
  EXPECT_EQ(Para({"cpu", "0.5"}).code, 0);
  EXPECT_TRUE(Read("batch").starts_with("\"a\",0.5,3072,0,")) << Read("batch");
  EXPECT_NE(Read("batch").find("\n\"b \",0.5,3072,0,"), std::string::npos);
}

TEST_F(ParaTest, TriesAreInTotal) {
  MustCreate("a\n");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Para({"push"}).code, 0);
    EXPECT_EQ(world_.tasks.size(), i + 1u);
    world_.EndAll(kExit3);
  }
  EXPECT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 4u);
  EXPECT_EQ(Check(), "crashed: 1\nfailed 4 times: 1\ntotal jobs in batch: 1\n");
  EXPECT_EQ(Para({"push", "-retries=5"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 5u);
}

TEST_F(ParaTest, NoTriesAreNoError) {
  MustCreate("a\n");
  EXPECT_EQ(Para({"push", "-retries=0"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 0u);
  Ran ran = Para({"shove", "-retries=0"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_NE(ran.err.find("Batch failed after 0 tries on a\n"), std::string::npos) << ran.err;
}

TEST_F(ParaTest, NegativeNumbersCountAsZero) {
  MustCreate("a\n");
  for (std::string option : {"-retries=-1", "-maxPush=-1"}) {
    EXPECT_EQ(Para({"push", option}).code, 0) << option;
    EXPECT_EQ(world_.tasks.size(), 0u) << option;
  }
  EXPECT_EQ(Para({"push", "-maxQueue=-1", "-delayTime=-2", "-verbose=-1"}).err, "");
  ASSERT_EQ(world_.tasks.size(), 1u) << "minPush overrides maxQueue";
  world_.Start(0);
  EXPECT_EQ(Check(), "running: 1\ntotal jobs in batch: 1\n");
  EXPECT_EQ(Para({"check", "-killTime=-1", "-warnTime=0"}).out,
            "running: 1\ntotal jobs in batch: 1\n");
  EXPECT_EQ(Para({"check", "-warnTime=-1"}).out,
            "slow (> -1 minutes): 1\nrunning: 1\ntotal jobs in batch: 1\n");
  world_.now = world_.now + Duration::Seconds(1);
  EXPECT_EQ(Para({"check", "-warnTime=0"}).out,
            "slow (> 0 minutes): 1\nrunning: 1\ntotal jobs in batch: 1\n");
}

TEST_F(ParaTest, OutputChecksAreMadeOnce) {
  MustCreate("a {check out exists o1}\nb {check out exists o2}\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  dir_.Write("o1", "");
  world_.EndAll(0);
  Ran ran = Para({"check"});
  EXPECT_EQ(ran.out, "crashed: 1\nranOk: 1\ntotal jobs in batch: 2\n");
  EXPECT_EQ(ran.err,
            "2 jobs in batch\n0 jobs (including everybody's) in Parasol queue or running.\n"
            "Checking finished jobs\no2 does not exist\n");
  EXPECT_EQ(looks_, 2);
  ASSERT_TRUE(os::RemoveFile(Path("o1")));
  EXPECT_EQ(Check(), "crashed: 1\nranOk: 1\ntotal jobs in batch: 2\n");
  EXPECT_EQ(looks_, 2);
}

// A report does not undo what another para has written meanwhile.
TEST_F(ParaTest, WhatOthersWroteStays) {
  MustCreate("a {check out exists o}\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(0);
  on_look_ = [&] { ASSERT_TRUE(os::WriteFileAtomically(Path("batch"), "another")); };
  EXPECT_EQ(Check(), "crashed: 1\ntotal jobs in batch: 1\n");
  EXPECT_EQ(Read("batch"), "another");
}

TEST_F(ParaTest, PriorityIsToldBeforeThePush) {
  MustCreate("a\n");
  EXPECT_EQ(Para({"push", "-pri=low", "-maxJob=unlimited"}).code, 0);
  EXPECT_EQ(Log(), Lines({"priority 100", "maxJob -1", "submit 0"}));
}

TEST_F(ParaTest, ReportsLeaveTheBatchAlone) {
  MustCreate("a\nb\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.End(0, 0);
  std::string before = Read("batch");
  for (std::string command : {"check", "time", "status", "running", "slow", "problems", "finished",
                              "crashed", "failed", "hung"}) {
    EXPECT_EQ(Para({command}).code, 0);
    EXPECT_EQ(Read("batch"), before) << command;
  }
  EXPECT_EQ(Check(), "queued and waiting: 1\nranOk: 1\ntotal jobs in batch: 2\n");
}

// ---- reports ----

TEST_F(ParaTest, Reports) {
  MustCreate("good\tx\nbad {check out exists no}\nruns\nwaits\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  for (size_t i : {0, 1, 2}) world_.Start(i);
  world_.now = world_.now + Duration::Seconds(600);
  world_.End(0, 0, 100);
  world_.End(1, 0, 10);
  world_.err[100'000'001] = "oh no";
  std::string preface =
      "4 jobs in batch\n2 jobs (including everybody's) in Parasol queue or running.\n"
      "Checking finished jobs\n";
  struct Case {
    std::vector<std::string> args;
    std::string out;
  };
  std::string run =
      "command: runs\njobId: 100000002\nhost: n1\nstart time: Fri Jan 15 08:00:00 2027\n"
      "run time so far: 600 sec,  10.00 min, 0.17 hours,  0.01 days\n";
  std::string problem =
      "job: bad no\nid: 100000001\nfailure type: crash\nhost: n1\nstart time: Fri Jan 15 08:00:00 "
      "2027\nreturn: 0\nno does not exist\nstderr:\noh no\n\n1 problems total\n";
  for (const Case& c :
       std::vector<Case>{{{"check"},
                          "queued and waiting: 1\ncrashed: 1\nrunning: 1\nranOk: 1\ntotal jobs in "
                          "batch: 4\n"},
                         {{"finished"}, "good\tx\n"},
                         {{"crashed"}, "bad {check out exists no}\n"},
                         {{"failed"}, ""},
                         {{"failed", "-retries=1"}, "bad {check out exists no}\n"},
                         {{"hung"}, ""},
                         {{"running"}, run + "\ntotal jobs running: 1\n"},
                         {{"hippos", "9"}, run + "\ntotal hippos running: 1\n"},
                         {{"hippos"}, run + "\ntotal hippos running: 1\n"},
                         {{"hippo", "10"}, "total hippos running: 0\n"},
                         {{"slow"}, "total hippos running: 0\n"},
                         {{"problems"}, problem},
                         {{"problem"}, problem},
                         {{"status"},
                          "#state\ttries\treal\tcpu\thost\tjobid\tcmd\n"
                          "done\t1\t100.00\t100.50\tn1\t100000000\tgood x\n"
                          "crash\t1\t10.00\t10.50\tn1\t100000001\tbad no\n"
                          "run\t1\t600.00\t0.00\tn1\t\truns\n"
                          "queue\t1\t0.00\t0.00\tn/a\t100000003\twaits\n"},
                         {{"slow", "-warnTime=9"},
                          run + "This is a slow job, running time > 9 minutes.\n\ntotal "
                                "hippos running: 1\n"},
                         {{"check", "-warnTime=5", "-retries=1"},
                          "queued and waiting: 1\ncrashed: 1\nslow (> 5 minutes): 1\nrunning: "
                          "1\nranOk: 1\nfailed "
                          "1 times: 1\ntotal jobs in batch: 4\n"}}) {
    Ran ran = Para(c.args);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, c.out) << c.args[0];
    EXPECT_TRUE(ran.err.starts_with(preface)) << ran.err;
  }
  EXPECT_EQ(Read("err/100000001"), "oh no");
  EXPECT_EQ(Log(), Lines({"submit 0 1 2 3", "fetch 100000001 n1"}));
  for (std::string command : {"time", "times"}) {
    std::string out = Para({command}).out;
    EXPECT_TRUE(
        out.starts_with("Completed: 1 of 4 jobs\nJobs currently running: 1\nCrashed: 1 "
                        "jobs\nIn queue waiting: 1 jobs\nCPU time in finished jobs:"))
        << out;
  }
}

TEST_F(ParaTest, ProblemsTellWhatCannotBeFetched) {
  MustCreate("a\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.EndAll(11);
  EXPECT_EQ(
      Para({"problems"}).out,
      "job: a\nid: 100000000\nfailure type: crash\nhost: n1\nstart time: Fri Jan 15 08:00:00 "
      "2027\nreturn: signal 11\nstderr:\ncannot fetch /tmp/para100000000.err: it is gone\n\n1 "
      "problems total\n");
  EXPECT_FALSE(os::Exists(Path("err/100000000")));
}

TEST_F(ParaTest, Recover) {
  dir_.Write("there", "");
  std::string list = dir_.Write(
      "list", "a {check out exists there}\nb {check out exists no}\nc\nd {check in exists no}\n");
  no_hub_ = true;
  Ran ran = Para({"recover", list, Path("again")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(Read("again"), "b {check out exists no}\n");
  ran = Para({"recover", list, "stdout"});
  EXPECT_EQ(ran.out, "b {check out exists no}\n") << ran.err;
  EXPECT_FALSE(os::Exists("stdout"));
}

// ---- what is asked of the hub ----

TEST_F(ParaTest, WordsToTheHub) {
  MustCreate("a\n");
  struct Case {
    std::vector<std::string> args;
    std::string err;
    Lines log;
  };
  for (const Case& c : std::vector<Case>{
           {{"priority", "low"}, "Told hub to set priority 100\n", {"priority 100"}},
           {{"priority", "7"}, "Told hub to set priority 7\n", {"priority 7"}},
           {{"maxjob", "5"}, "Told hub to set maxJob 5\n", {"maxJob 5"}},
           {{"maxJob", "0"}, "Told hub to set maxJob 0\n", {"maxJob 0"}},
           {{"priority", "HIGH"}, "Told hub to set priority 1\n", {"priority 1"}},
           {{"maxNode", "unlimited"}, "Told hub to set maxJob -1\n", {"maxJob -1"}},
           {{"clearSickNodes"}, "Told hub to clear sick nodes\n", {"clear 0"}},
           {{"resetCounts", "-priority=medium"},
            "Told hub to set priority 10\nTold hub to reset done and crashed counts on batch DIR\n",
            {"priority 10", "reset 0"}},
           {{"flushResults"}, "Told hub to flush the results file\nFlushed results.\n", {}},
           {{"freeBatch"}, "Told hub to free all batch-related resources\nBatch freed.\n", {}}}) {
    Ran ran = Para(c.args);
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, c.err);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(Log(), c.log);
  }
  EXPECT_EQ(Marks(), "known 0\nhalts 1 create\n");
  world_.freed = BatchHub::Freed::kNotFound;
  Ran ran = Para({"freeBatch"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.err, "Told hub to free all batch-related resources\nBatch not found.\n");
  world_.freed = BatchHub::Freed::kBusy;
  ran = Para({"freeBatch"});
  EXPECT_EQ(
      ran.err,
      "Told hub to free all batch-related resources\nUnable to free batch.  Jobs are queued or "
      "running.\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(Para({"flushResults"}).err,
            "Told hub to flush the results file\nFlushed results. Some jobs are still queued or "
            "running.\n");
}

TEST_F(ParaTest, WordsAboutABatchThatTheHubDoesNotKnow) {
  MustCreate("a\n");
  world_.known = false;
  world_.freed = BatchHub::Freed::kNotFound;
  EXPECT_EQ(Para({"clearSickNodes"}).err, "Told hub to clear sick nodes\n");
  EXPECT_EQ(Para({"resetCounts"}).err, "Told hub to reset done and crashed counts on batch DIR\n");
  EXPECT_EQ(Para({"flushResults"}).err, "Told hub to flush the results file\nBatch not found.\n");
  EXPECT_EQ(Para({"showSickNodes"}).out, "total sick machines: 0 failures: 0\n");
  EXPECT_EQ(Para({"showSickNodes"}).code, 0);
  for (std::string word : {"flushResults", "freeBatch"}) {
    Ran ran = Para({word});
    EXPECT_EQ(ran.code, 255) << word;
    EXPECT_EQ(ran.out, "") << word;
    EXPECT_TRUE(ran.err.ends_with("Batch not found.\n")) << word << ran.err;
  }
  EXPECT_EQ(Log(), Lines());
}

TEST_F(ParaTest, ChillAndStop) {
  MustCreate("a\nb\nc\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  world_.Start(0);
  Ran ran = Para({"chill"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err,
            "Told hub to chill out\n3 jobs in batch\n"
            "1 jobs (including everybody's) in Parasol queue or running.\n"
            "Checking finished jobs\nChilled 2 jobs\n");
  EXPECT_EQ(Check(), "unsubmitted jobs: 2\nrunning: 1\ntotal jobs in batch: 3\n");
  ASSERT_EQ(Para({"push"}).code, 0);
  EXPECT_EQ(world_.tasks.size(), 5u);
  world_.Start(3);
  ran = Para({"stop"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.err.starts_with("Told hub to chill out\n")) << ran.err;
  EXPECT_TRUE(ran.err.ends_with("Chilled 1 jobs\n2 running jobs stopped\n")) << ran.err;
  EXPECT_EQ(Check(), "unsubmitted jobs: 3\ntotal jobs in batch: 3\n");
  EXPECT_EQ(Log(),
            Lines({"submit 0 1 2", "chill", "submit 1 2", "chill", "remove 100000000 100000003"}));
}

TEST_F(ParaTest, HowLongStepsTook) {
  MustCreate("a\n");
  std::string err = Para({"push", "-verbose=2"}).err;
  EXPECT_EQ(err,
            "read batch: 0 millis\n1 jobs in batch\nask hub: 0 millis\nread results: 0 millis\n0 "
            "jobs (including everybody's) in Parasol queue or running.\nChecking finished jobs\n"
            "submit jobs: 0 millis\nwrite batch: 0 millis\nupdated job database on disk\nPushed "
            "Jobs: 1\n");
}

TEST(ParaDotsTest, OneOfTwenty) {
  for (auto [shown, steps, text] : std::vector<std::tuple<bool, int, std::string>>{
           {true, 19, ""}, {true, 45, "..\n"}, {false, 45, ""}}) {
    testing::internal::CaptureStderr();
    {
      ParaDots dots(shown);
      for (int i = 0; i < steps; ++i) dots.Step();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), text);
  }
}

// ---- shove and make ----

TEST_F(ParaTest, MakeEndsWithTheLastJob) {
  world_.on_wait = [&] { return world_.EndAll(0), Status(); };
  Instant start = world_.now;
  Ran ran = Para({"make", dir_.Write("list", "a\nb\n")});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(
      ran.err,
      "Checking input files\n2 jobs written to DIR/batch\n2 jobs in batch\n0 jobs (including "
      "everybody's) in Parasol queue or running.\nChecking finished jobs\nupdated job database "
      "on disk\nPushed Jobs: 2\nSuccessful batch!\n");
  EXPECT_LE(world_.now - start, Duration::Seconds(1));
  no_hub_ = true;
  EXPECT_NE(Read("batch").find("\"n1\""), std::string::npos);
}

TEST_F(ParaTest, ShoveTriesAgain) {
  MustCreate("a\nb\n");
  world_.on_wait = [&] {
    for (size_t i = 0; i < world_.tasks.size(); ++i) {
      if (world_.tasks[i].unended) world_.End(i, i < 4 ? kExit3 : 0);
    }
    return Status();
  };
  Instant start = world_.now;
  Ran ran = Para({"shove", "-retries=3"});
  EXPECT_LE(world_.now - start, Duration::Seconds(3));  // nothing else was to be waited for
  EXPECT_EQ(ran.code, 0);                               // the last try went well
  EXPECT_EQ(Log(), Lines({"submit 0 1", "submit 0 1", "submit 0 1", "settle"}));
  std::string cycle =
      "================\nChecking job status 0 minutes after launch\n0 jobs (including "
      "everybody's) in Parasol queue or running.\nChecking finished jobs\nPushed Jobs: 2\nRetried "
      "jobs: 2\n";
  EXPECT_TRUE(ran.err.ends_with("Pushed Jobs: 2\n" + cycle + cycle + "Successful batch!\n"))
      << ran.err;
}

TEST_F(ParaTest, ShoveGivesUp) {
  MustCreate("a b\nc\n");
  world_.on_wait = [&] {
    for (size_t i = 0; i < world_.tasks.size(); ++i) {
      if (world_.tasks[i].job == 0 && world_.tasks[i].unended) world_.End(i, kExit3);
    }
    return Status();
  };
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_TRUE(ran.err.ends_with("Batch failed after 4 tries on a b\n")) << ran.err;
  EXPECT_EQ(Check(),
            "queued and waiting: 1\ncrashed: 1\nfailed 4 times: 1\ntotal jobs in batch: 2\n");
}

TEST_F(ParaTest, ShoveTellsAtGrowingTimes) {
  MustCreate("a\n");
  int waits = 0;
  world_.on_wait = [&] {
    if (++waits == 200) world_.EndAll(0);
    return Status();
  };
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 0);
  size_t told = 0;
  for (size_t at = 0; (at = ran.err.find("Checking job status ", at)) != std::string::npos; ++at) {
    ++told;
  }
  EXPECT_EQ(told, 4u) << ran.err;  // after 15, 45, 90 and 150 seconds
}

TEST_F(ParaTest, CtrlC) {
  MustCreate("a\nb\n");
  world_.on_wait = [&] {
    if (world_.tasks[0].unended) return world_.End(0, 0), Status();
    return Status(Fail(ErrorKind::kBusy, "interrupted"));
  };
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 130);
  EXPECT_TRUE(ran.err.ends_with(
      "Interrupted. The batch continues; para shove watches it again, para stop ends it.\n"));
  EXPECT_EQ(Check(), "queued and waiting: 1\nranOk: 1\ntotal jobs in batch: 2\n");
  EXPECT_NE(Read("para.bookmark"), "0\n");
}

TEST_F(ParaTest, CtrlCInTheFirstPush) {
  MustCreate("a\n");
  world_.submit = Error{ErrorKind::kBusy, "interrupted"};
  world_.on_wait = [] { return Status(Fail(ErrorKind::kBusy, "interrupted")); };
  EXPECT_EQ(Para({"shove"}).code, 130);
  EXPECT_EQ(Check(), "queued and waiting: 1\ntotal jobs in batch: 1\n");
}

TEST_F(ParaTest, ShoveGoesOnWhenAnAnswerIsLost) {
  MustCreate("a\n");
  world_.on_wait = [&] {
    if (world_.tasks.size() == 1 && world_.tasks[0].unended) {
      world_.End(0, kExit3);
      world_.submit = Error{ErrorKind::kUnavailable, "no answer"};
    } else if (world_.tasks.size() == 2 && world_.tasks[1].unended) {
      world_.End(1, 0);
    }
    return Status();
  };
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(world_.tasks.size(), 2u);
}

TEST_F(ParaTest, ShoveWaitsForTheHub) {
  MustCreate("a\n");
  int waits = 0;
  world_.on_wait = [&] {
    if (++waits < 5) world_.ask = Error{ErrorKind::kUnavailable, "no hub"};
    if (waits == 5) world_.EndAll(0);
    return Status();
  };
  Instant start = world_.now;
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(
      ran.err.ends_with("Pushed Jobs: 1\n"
                        "The hub is unreachable (no hub); retrying until Ctrl-C.\n"
                        "The hub is reachable again.\n"
                        "Successful batch!\n"))
      << ran.err;
  EXPECT_GE(world_.now - start, Duration::Seconds(6));
  no_hub_ = true;
  ran = Para({"shove"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_EQ(ran.err, "no hub\n");
}

TEST_F(ParaTest, ShoveHealsASickBatchTwice) {
  MustCreate("a\n");
  world_.on_wait = [&] { return world_.sick = true, Status(); };
  Ran ran = Para({"shove"});
  EXPECT_EQ(ran.code, 255);
  EXPECT_TRUE(ran.err.ends_with("Sick batch! Correct problem and then run para clearSickNodes.\n"))
      << ran.err;
  EXPECT_EQ(Log(), Lines({"submit 0", "clear 0", "clear 0"}));
}

}  // namespace
}  // namespace spate::parasol
