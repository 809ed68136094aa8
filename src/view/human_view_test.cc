// The human view, frame by frame, with a clock set by hand.
#include "view/human_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

using engine::Verdict;

class HumanViewTest : public testing::Test {
 protected:
  void Make(int width, bool terminal, HumanView::Options options = {}) {
    screen_.err_terminal = screen_.out_terminal = terminal;
    screen_.width = width;
    options.output.spill_folder = folder_.path();
    options.hints.files = {"jobs.lst"};
    view_ = std::make_unique<HumanView>(screen_, TestTexts(), options);
  }
  Instant At(int64_t ms) { return kTestStart + Duration::Millis(ms); }
  void Tick(int64_t ms, uint32_t running = 2) { view_->Tick(At(ms), running); }
  void End(int64_t ms, TaskIndex index, const TaskOutputPtr& output = nullptr) {
    AttemptEnd end = EndOf(index);
    view_->OnEnded({.end = end, .verdict = Verdict::kSucceeded, .output = output, .now = At(ms)});
  }
  void Fail(int64_t ms, TaskIndex index, const TaskOutputPtr& output, uint16_t attempt = 1) {
    AttemptEnd end = EndOf(index, attempt);
    end.cause = Cause::kExit;
    end.status = 3;
    view_->OnEnded({.end = end, .verdict = Verdict::kFailed, .output = output, .now = At(ms)});
  }
  void Finish(int64_t ms, JobCounts counts, RunEnd how = RunEnd::kFinished) {
    view_->OnFinish({.how = how, .counts = counts, .now = At(ms)});
  }

  TestFolder folder_;
  FakeScreen screen_;
  std::unique_ptr<HumanView> view_;
};

TEST_F(HumanViewTest, TasksHaveTheirNames) {
  ViewTexts texts = TestTexts();
  texts.name = [](TaskIndex i) { return std::vector<std::string>{"align", "7", ""}.at(i); };
  texts.places = [](const std::vector<TaskIndex>& all) {
    return std::vector<std::string>(all.size(), "m.dag:4");
  };
  Make(80, false);
  view_ = std::make_unique<HumanView>(
      screen_, texts, HumanView::Options{.output = {.spill_folder = folder_.path()}});
  view_->OnStart(StartOf(3));
  view_->OnNews(TaskLeftRunning{{JobId(12), 0, Attempt(1)}, "sort (pid 12)"}, At(350));
  for (TaskIndex i : {0, 1, 2}) Fail(400, i, nullptr);
  Finish(500, {.total = 3, .failed = 3});
  for (const char* text : {"spate: task align has ended but left", "  task align (m.dag:4): exit",
                           "  task name=7 (m.dag:4): exit", "  task 3 (m.dag:4): exit"}) {
    EXPECT_TRUE(screen_.err.contains(text)) << text << " in " << screen_.err;
  }
}

TEST_F(HumanViewTest, ALogGetsALineNowAndThen) {
  Make(80, false);
  view_->OnStart(StartOf(40));
  for (int64_t ms = 0; ms < 10'000; ms += 100) Tick(ms);
  EXPECT_EQ(screen_.err, "");
  for (TaskIndex i = 0; i < 11; ++i) End(900 * (i + 1), i);
  Fail(9950, 11, nullptr);
  for (int64_t ms = 10'000; ms < 90'000; ms += 100) Tick(ms);
  const std::string counts = "spate: 11 of 40 tasks done (27%), 1 failed, 2 running";
  EXPECT_EQ(screen_.err, counts + ", 1.2/s, ETA 23s\n" + counts + ", 36/min, ETA 47s\n" + counts +
                             ", 18/min, ETA 1m33s\n" + counts + ", 9/min, ETA 3m07s\n");
  Make(80, false, {.hints = {.on_hub = true}});
  screen_.err.clear();
  view_->OnStart(StartOf(40));
  Tick(10'000);
  EXPECT_EQ(screen_.err, "spate: 0 of 40 tasks done (0%), 2 running\n");
  Make(80, false, {.bar = false});
  screen_.err.clear();
  view_->OnStart(StartOf(40));
  Tick(60'000);
  Make(80, false);
  view_->OnStart(StartOf(1));
  Tick(60'000);
  EXPECT_EQ(screen_.err, "") << "not with --no-bar, nor of a single task";
}

TEST_F(HumanViewTest, AWholeRunAt80Columns) {
  Make(80, true);
  view_->OnStart(StartOf(4));
  Tick(100);
  EXPECT_EQ(screen_.Shown(), "");  // too early for a bar
  Tick(400);
  EXPECT_EQ(screen_.Shown(), "  0% 0/4  [......................................]  2 running");
  End(1000, 0, Wrote("one\n"));
  EXPECT_EQ(screen_.Shown(),
            "one\n 25% 1/4  [#########.............................]  2 running  1.0/s  ETA 3s");
  Fail(2000, 1, Wrote("two\n", "line 1\nbad thing\n"), 2);
  EXPECT_EQ(screen_.Shown(),
            "one\ntwo\nline 1\nbad thing\n"
            " 25% 1/4  [#######........................]  1 failed  2 running  1.0/s  ETA 2s");
  End(2010, 2);
  End(3000, 3, Wrote("no newline"));
  EXPECT_EQ(screen_.Shown(),
            "one\ntwo\nline 1\nbad thing\nno newline\n"
            " 75% 3/4  [############################..........]  1 failed  2 running  1.3/s");
  Finish(3000, {.total = 4, .succeeded = 3, .failed = 1});
  EXPECT_EQ(screen_.Shown(),
            "one\ntwo\nline 1\nbad thing\nno newline\n"
            "spate: 1 task failed:\n"
            "  task 2: exit code 3 after 1.23 s, attempt 2: cmd 2\n"
            "      line 1\n"
            "      bad thing\n"
            "spate: 4 tasks: 3 succeeded, 1 failed in 3.00 s (1.3 tasks/s), 0.10 s CPU, peak\n"
            "3.0 MB\n"
            "to retry the failed tasks:  spate job retry 12\n");
}

TEST_F(HumanViewTest, TheBarAt40Columns) {
  Make(40, true);
  view_->OnStart(StartOf(1000));
  Tick(400);
  EXPECT_EQ(screen_.Shown(), "  0% 0/1,000  [............]  2 running");
  for (TaskIndex i = 0; i < 100; ++i) End(1000, i);
  Fail(1000, 100, nullptr);
  Tick(1000);
  EXPECT_EQ(screen_.Shown(), " 10% 100/1,000  1 failed  101/s  ETA 9s");
}

TEST_F(HumanViewTest, OlderEndsSayNothingOfThePace) {
  Make(40, true);
  view_->OnStart(StartOf(1000));
  for (TaskIndex i = 0; i < 400; ++i) End(100, i);
  view_->OnNews(PaceBegins(), At(100));
  for (TaskIndex i = 400; i < 410; ++i) End(1100, i);
  Tick(1100, 0);
  EXPECT_EQ(screen_.Shown(), " 41% 410/1,000  10/s  ETA 59s");
}

TEST_F(HumanViewTest, TheBarIsDrawnAtMostTenTimesASecond) {
  Make(80, true);
  view_->OnStart(StartOf(100000));
  for (int ms = 0; ms < 1300; ++ms) {
    End(ms, static_cast<TaskIndex>(ms));
    Tick(ms);
  }
  size_t frames = 0;
  for (char c : screen_.err) frames += c == '\r';
  EXPECT_LE(frames, 10u);
  EXPECT_GE(frames, 9u);
}

TEST_F(HumanViewTest, TheBarStaysWhileOutputFlows) {
  Make(80, true);
  view_->OnStart(StartOf(100000));
  Tick(400);
  std::string lines;
  for (int ms = 400; ms < 502; ++ms) {
    std::string text = ms % 3 == 0 ? "x\n" : ms % 3 == 1 ? "an open " : "line\n";
    lines += text;
    End(ms, static_cast<TaskIndex>(ms), Wrote(text));
    // The open line goes on behind the bar's back.
    std::string shown = screen_.Shown();
    std::string begin = lines.ends_with('\n') ? lines : lines + "\n";
    ASSERT_TRUE(shown.starts_with(begin + "  0% ")) << shown;
    ASSERT_EQ(shown.find('\n', begin.size()), std::string::npos) << shown;
    Tick(ms);
  }
  Tick(800);
  EXPECT_NE(screen_.Shown().find(" 102/100,000"), std::string::npos);
  // A terminal that is slower than the tasks is not given the bar with each line.
  screen_.backlog = 1 << 20;
  screen_.terminal.clear();
  for (int ms = 900; ms < 919; ++ms) End(ms, static_cast<TaskIndex>(ms), Wrote("y\n"));
  EXPECT_EQ(screen_.Shown().find('%'), std::string::npos);
  screen_.backlog = 0;
  Tick(1100);
  EXPECT_NE(screen_.Shown().find('%'), std::string::npos);
}

TEST_F(HumanViewTest, AnOpenLineOfUnknownWidthIsEndedByTheBar) {
  Make(80, true);
  view_->OnStart(StartOf(9));
  Tick(400);
  End(500, 0, Wrote("\xc3\xa4"));
  EXPECT_EQ(screen_.Shown(), "\xc3\xa4");
  Tick(600);
  End(700, 1, Wrote("b\n"));
  EXPECT_TRUE(screen_.Shown().starts_with("\xc3\xa4\nb\n 22% ")) << screen_.Shown();
}

TEST_F(HumanViewTest, FailuresAreRedWhereThereAreColours) {
  screen_.colour = true;
  Make(80, false);
  view_->OnStart(StartOf(2));
  Fail(500, 0, nullptr);
  End(600, 1);
  Finish(700, {.total = 2, .succeeded = 1, .failed = 1});
  for (const char* text :
       {"spate: \x1b[31m1 task failed\x1b[0m:\n", "  task 1: \x1b[31mexit code 3\x1b[0m after ",
        "1 succeeded, \x1b[31m1 failed\x1b[0m in "}) {
    EXPECT_NE(screen_.err.find(text), std::string::npos) << screen_.err;
  }
}

TEST_F(HumanViewTest, WithoutATerminalThereIsOnlyTheSummary) {
  Make(80, false);
  view_->OnStart(StartOf(2));
  Tick(1000);
  End(1500, 0, Wrote("one\n"));
  view_->OnNews(StartsPaused{"1 GB free, below 4 GB"}, At(1600));
  view_->OnNews(StartsPaused{"1.1 GB free, below 4 GB"}, At(1700));
  view_->OnNews(StartsPaused{""}, At(1800));
  End(1900, 1, Wrote("two\n"));
  Finish(2000, {.total = 2, .succeeded = 2});
  EXPECT_EQ(screen_.out, "one\ntwo\n");
  EXPECT_EQ(screen_.err,
            "spate: no tasks start for now: 1 GB free, below 4 GB\n"
            "spate: 2 tasks: 2 succeeded in 2.00 s (1.0 tasks/s), 0.05 s CPU, peak 3.0 MB\n");
}

TEST_F(HumanViewTest, QuietShowsOutputAndFailures) {
  Make(80, true, {.quiet = true});
  view_->OnStart(StartOf(2));
  Tick(1000);
  Fail(1500, 0, Wrote("one\n", "err\n"));
  view_->OnNews(Remark{"something"}, At(1600));
  view_->OnNews(Remark{"disk\x1b full", true}, At(1600));
  Finish(2000, {.total = 2, .succeeded = 1, .failed = 1});
  EXPECT_EQ(screen_.out, "one\n");
  EXPECT_EQ(screen_.err,
            "err\nspate: disk\\x1b full\nspate: task 1: exit code 3 after 1.23 s: cmd 1\n");
}

TEST_F(HumanViewTest, QuietBoundsFailures) {
  Make(80, false, {.quiet = true});
  view_->OnStart(StartOf(50));
  for (TaskIndex i = 0; i < 30; ++i) Fail(10, i, nullptr);
  Finish(100, {.total = 50, .queued = 20, .failed = 30}, RunEnd::kHalted);
  EXPECT_EQ(std::ranges::count(screen_.err, '\n'), 11);
  EXPECT_TRUE(screen_.err.ends_with("spate: and 20 more: spate job tasks 12 --filter failed\n"));
}

TEST_F(HumanViewTest, ResultsAreNotShown) {
  Make(80, false, {.show_output = false});
  view_->OnStart(StartOf(1));
  Fail(10, 0, Wrote("one\n", "err\n"));
  Finish(20, {.total = 1, .failed = 1});
  EXPECT_EQ(screen_.out, "");
  EXPECT_EQ(screen_.err,
            "spate: 1 task failed:\n  task 1: exit code 3 after 1.23 s: cmd 1\n"
            "spate: 1 task: 1 failed in 0.02 s, 0.02 s CPU, peak 3.0 MB\n"
            "to retry the failed tasks:  spate job retry 12\n");
}

TEST_F(HumanViewTest, RepeatedErrorsAreBounded) {
  Make(80, false);
  view_->OnStart(StartOf(50));
  for (TaskIndex i = 0; i < 30; ++i) Fail(10, i, Wrote("", "1\n2\n3\n4\n5\n6\n"));
  screen_.err.clear();
  Finish(100, {.total = 50, .queued = 20, .failed = 30}, RunEnd::kHalted);
  EXPECT_NE(screen_.err.find("spate: 30 tasks failed:\n  task 1: "), std::string::npos);
  EXPECT_NE(screen_.err.find("  task 10: "), std::string::npos);
  EXPECT_EQ(screen_.err.find("  task 11: "), std::string::npos);
  EXPECT_EQ(screen_.err.find("      1\n"), std::string::npos);  // the last five lines
  EXPECT_NE(screen_.err.find("      2\n"), std::string::npos);
  EXPECT_NE(screen_.err.find("  and 20 more: spate job tasks 12 --filter failed\n"),
            std::string::npos);
  EXPECT_NE(screen_.err.find("to run the remaining tasks:  spate run --resume jobs.lst\n"),
            std::string::npos);
}

TEST_F(HumanViewTest, News) {
  Make(80, false);
  view_->OnStart(StartOf(5));
  view_->OnNews(TaskSlow{{JobId(12), 2, Attempt(1)}}, At(1));
  view_->OnNews(HoldNews{engine::HoldReason::kUser, 2}, At(2));
  view_->OnNews(HoldNews{engine::HoldReason::kHaltRule, 1}, At(2));
  view_->OnNews(HoldNews{engine::HoldReason::kMaxFailures, 0}, At(2));
  view_->OnNews(HoldNews{engine::HoldReason::kUser, 2, true}, At(2));
  view_->OnNews(Remark{"disk\tfull\nfree some"}, At(3));
  view_->OnNews(Remark{"2 lines are not in the list any more"}, At(3));
  EXPECT_EQ(
      screen_.err,
      "spate: task 3 runs longer than --warn-time: cmd 3\n"
      "spate: no more tasks start; 2 tasks still running (press Ctrl-C again to terminate them)\n"
      "spate: --halt: no more tasks start; 1 task still running\n"
      "spate: --max-failures reached: no more tasks start\n"
      "spate: no more tasks start; terminating 2 tasks\n"
      "spate: disk\\tfull\nfree some\n"
      "spate: 2 lines are not in the list any more\n");
}

TEST_F(HumanViewTest, WhatIsLeftRunningIsInTheBar) {
  Make(80, true);
  view_->OnStart(StartOf(5));
  view_->OnNews(TaskLeftRunning{{JobId(12), 0, Attempt(1)}, "sort (pid 12)"}, At(350));
  Tick(400);
  EXPECT_EQ(screen_.Shown(),
            "  0% 0/5  [...........................]  left running: sort (pid 12)  2 running");
  view_->OnNews(TaskLeftRunning{{JobId(12), 1, Attempt(1)}, "cat (pid 14)"}, At(450));
  Tick(500);
  EXPECT_EQ(screen_.Shown(),
            "  0% 0/5  [..........]  left running: sort (pid 12) and 1 other task  2 running");
  End(550, 0);
  Tick(700);
  EXPECT_NE(screen_.Shown().find("  left running: cat (pid 14)  2 running"), std::string::npos)
      << screen_.Shown();
  End(750, 1);
  Tick(900);
  EXPECT_EQ(screen_.Shown().find("left running"), std::string::npos);
}

TEST_F(HumanViewTest, WithoutABarWhatIsLeftRunningIsSaidOnce) {
  Make(80, false);
  view_->OnStart(StartOf(5));
  view_->OnNews(TaskLeftRunning{{JobId(12), 2, Attempt(1)}, "sort (pid 12)"}, At(350));
  view_->OnNews(TaskLeftRunning{{JobId(12), 3, Attempt(1)}, "cat (pid 14)"}, At(450));
  EXPECT_EQ(screen_.err,
            "spate: task 3 has ended but left processes running: sort (pid 12); waiting for them "
            "(see --leftovers)\n");
}

TEST_F(HumanViewTest, TheFirstInterruptSaysWhatIsWaitedFor) {
  const std::string held = "spate: no more tasks start; ";
  const std::string again = " still running (press Ctrl-C again to terminate them)\n";
  Make(200, true);
  view_->OnStart(StartOf(5));
  view_->OnNews(TaskLeftRunning{{JobId(12), 2, Attempt(1)}, "still waiting to open 'p'"}, At(100));
  view_->OnNews(HoldNews{engine::HoldReason::kUser, 1}, At(200));
  std::string told = held + "1 task" + again + "spate: task 3 still waiting to open 'p'\n";
  EXPECT_EQ(screen_.err, told);
  view_->OnNews(TaskLeftRunning{{JobId(12), 3, Attempt(1)}, "sort (pid 12)"}, At(300));
  view_->OnNews(HoldNews{engine::HoldReason::kUser, 2}, At(400));
  told += held + "2 tasks" + again + "spate: task 3 still waiting to open 'p' (and 1 other task)\n";
  EXPECT_EQ(screen_.err, told);
  view_->OnNews(HoldNews{engine::HoldReason::kUser, 2, true}, At(500));
  EXPECT_EQ(screen_.err, told + held + "terminating 2 tasks\n");
}

TEST_F(HumanViewTest, WhatWasLeftBehindIsNamedAtTheEnd) {
  Make(80, false);
  view_->OnStart(StartOf(8));
  for (TaskIndex i = 0; i < 7; ++i) {
    AttemptEnd end = EndOf(i);
    end.left_behind = 1;
    end.note = fmt::format("leftover processes: sleep (pid {}), ended", 100 + i);
    view_->OnEnded({.end = end, .verdict = Verdict::kSucceeded, .output = nullptr, .now = At(1)});
  }
  End(1, 7);
  Finish(100, {.total = 8, .succeeded = 8});
  EXPECT_TRUE(screen_.err.starts_with(
      "spate: 7 tasks left processes running, which were terminated:\n"
      "  task 1: sleep (pid 100)\n  task 2: sleep (pid 101)\n  task 3: sleep (pid 102)\n"
      "  task 4: sleep (pid 103)\n  task 5: sleep (pid 104)\n  and 2 more\n"
      "spate: 8 tasks: 8 succeeded"))
      << screen_.err;
}

TEST_F(HumanViewTest, NewsGoesAboveTheBar) {
  Make(40, true);
  view_->OnStart(StartOf(5));
  Tick(400);
  view_->OnNews(Remark{"hello"}, At(500));
  view_->OnNews(TotalChanged{.total = 9, .open = true}, At(510));
  view_->OnNews(StartsPaused{"the load is 9, above 8"}, At(520));
  Tick(700, 0);
  EXPECT_EQ(screen_.Shown(), "spate: hello\n0/9+  waiting: the load is 9, above 8");
}

TEST_F(HumanViewTest, NewsIsBrokenBetweenWordsOnATerminal) {
  const std::string news = "this word is the last of a line of 40 columns";
  for (bool terminal : {true, false}) {
    Make(40, terminal);
    screen_.err.clear();
    view_->OnStart(StartOf(5));
    view_->OnNews(Remark{news}, At(500));
    const std::string second = std::string(terminal ? "\n" : " ") + "of 40 columns\n";
    EXPECT_EQ(screen_.err, "spate: this word is the last of a line" + second);
  }
}

TEST_F(HumanViewTest, AResumedRunSaysSo) {
  Make(80, false);
  RunStart start = StartOf(10);
  start.resumed = true;
  start.counts.succeeded = 4;
  start.counts.queued = 6;
  view_->OnStart(start);
  EXPECT_EQ(screen_.err, "spate: resuming job 12: 4 of 10 tasks done\n");
}

TEST_F(HumanViewTest, AClosedOutputIsTheEndOfAllTalk) {
  Make(80, true);
  view_->OnStart(StartOf(2));
  Tick(400);
  Fail(500, 0, nullptr);
  Finish(600, {.total = 2, .queued = 1, .failed = 1}, RunEnd::kOutputClosed);
  EXPECT_EQ(screen_.Shown(), "");
}

}  // namespace
}  // namespace spate::cli
