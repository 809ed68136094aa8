#include "view/joblog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

using engine::Verdict;

constexpr char kHeader[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

TEST(JoblogLineTest, NineColumns) {
  AttemptEnd end = EndOf(16, 2);
  end.start = kTestStart + Duration::Micros(1999);
  end.wall = Duration::Micros(15'999);
  end.stdout_total = 12;
  EXPECT_EQ(JoblogLine(end, "echo a\tb"),
            "17\t:\t1700000000.002\t     0.015\t0\t12\t0\t0\techo a\tb\n");
  EXPECT_EQ(JoblogLine(end, "two\nlines"),
            std::string("17\t:\t1700000000.002\t     0.015\t0\t12\t0\t0\ttwo") + '\0' + "lines\n");
}

TEST(JoblogLineTest, StatusAsParallelHasIt) {
  const std::tuple<Cause, int, std::pair<int, int>> kCases[] = {
      {Cause::kSuccess, 0, {0, 0}},     {Cause::kExit, 3, {3, 0}},      {Cause::kSignal, 9, {0, 9}},
      {Cause::kTimeLimit, 0, {-1, 15}}, {Cause::kMemory, 0, {0, 9}},    {Cause::kCheck, 0, {1, 0}},
      {Cause::kNode, 0, {-1, 0}},       {Cause::kStart, 127, {127, 0}}, {Cause::kStart, 0, {1, 0}}};
  for (const auto& [cause, status, expected] : kCases) {
    AttemptEnd end = EndOf(0);
    end.cause = cause;
    end.status = status;
    EXPECT_EQ(JoblogStatus(end), expected) << WordOf(cause);
  }
}

class JoblogTest : public testing::Test {
 protected:
  std::unique_ptr<Joblog> Open(bool append) {
    auto log = Joblog::Open(folder_.path() + "/log", append, TestTexts().command,
                            [this](const Error& error) { broken_ += error.message + "\n"; });
    EXPECT_TRUE(log);
    return std::move(*log);
  }
  static void End(RunView& view, TaskIndex index, Verdict verdict) {
    AttemptEnd end = EndOf(index);
    view.OnEnded({.end = end, .verdict = verdict, .output = nullptr, .now = kTestStart});
  }
  static std::string LineOf(TaskIndex index) {
    return JoblogLine(EndOf(index), "cmd " + std::to_string(index + 1));
  }
  TestFolder folder_;
  std::string broken_;
};

TEST_F(JoblogTest, OneLineATaskAtItsEnd) {
  auto log = Open(false);
  EXPECT_EQ(folder_.Get("log"), kHeader);
  End(*log, 1, Verdict::kRetry);
  EXPECT_EQ(folder_.Get("log"), kHeader);
  End(*log, 1, Verdict::kFailed);
  End(*log, 0, Verdict::kSucceeded);
  EXPECT_EQ(folder_.Get("log"), kHeader + LineOf(1) + LineOf(0));
}

// Like copytruncate of logrotate.
TEST_F(JoblogTest, GoesOnAtTheNewEndOfAFileThatWasCut) {
  auto log = Open(false);
  End(*log, 0, Verdict::kSucceeded);
  ASSERT_EQ(truncate((folder_.path() + "/log").c_str(), 0), 0);
  End(*log, 1, Verdict::kSucceeded);
  EXPECT_EQ(folder_.Get("log"), LineOf(1));
}

TEST_F(JoblogTest, AppendsAndCutsAnUnfinishedLine) {
  folder_.Put("log", kHeader + LineOf(0) + "2\t:\t17000");
  auto log = Open(true);
  End(*log, 1, Verdict::kSucceeded);
  EXPECT_EQ(folder_.Get("log"), kHeader + LineOf(0) + LineOf(1));
  Open(false);
  EXPECT_EQ(folder_.Get("log"), kHeader);
}

TEST_F(JoblogTest, AppendingToNothingWritesTheHeader) {
  Open(true);
  EXPECT_EQ(folder_.Get("log"), kHeader);
}

TEST_F(JoblogTest, FindsTasksWithoutALine) {
  std::string path = folder_.Put("log", kHeader + LineOf(0) + LineOf(4) + "4\t:\t17");
  auto missing = MissingInJoblog(path, {{0, 2}, {3, 3}});
  ASSERT_TRUE(missing);
  EXPECT_EQ(*missing, (std::vector<TaskRange>{{1, 1}, {3, 1}, {5, 1}}));
  auto all = MissingInJoblog(folder_.path() + "/none", {{0, 2}});
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, (std::vector<TaskRange>{{0, 2}}));
}

TEST_F(JoblogTest, RowsOfAnotherRunAreFound) {
  EXPECT_TRUE(CheckNoRows(folder_.path() + "/none"));
  EXPECT_TRUE(CheckNoRows("/dev/null"));
  EXPECT_TRUE(CheckNoRows(folder_.Put("log", "")));
  EXPECT_TRUE(CheckNoRows(folder_.Put("log", kHeader)));
  std::string path = folder_.Put("log", kHeader + LineOf(0));
  auto rows = CheckNoRows(path);
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().message.find(path), std::string::npos) << rows.error().message;
  EXPECT_EQ(JoblogPath("/here", "log"), "/here/log");
  EXPECT_EQ(JoblogPath("/here", "+log"), "/here/log");
  EXPECT_EQ(JoblogPath("/here", "/log"), "/log");
  EXPECT_EQ(JoblogPath("/here", ""), "");
}

TEST_F(JoblogTest, NamesWhatCannotBeWritten) {
  auto log = Joblog::Open(folder_.path() + "/no/log", false, TestTexts().command, nullptr);
  ASSERT_FALSE(log);
  EXPECT_TRUE(log.error().message.starts_with("--joblog: ")) << log.error().message;
}

TEST_F(JoblogTest, AFullDiskIsReportedOnce) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  std::filesystem::create_symlink("/dev/full", folder_.path() + "/log");
  auto log = Joblog::Open(folder_.path() + "/log", false, TestTexts().command, nullptr);
  ASSERT_FALSE(log);  // the header already finds it
  EXPECT_TRUE(log.error().message.starts_with("--joblog: ")) << log.error().message;
}

// The same commands under GNU parallel give the same columns, times apart.
TEST_F(JoblogTest, EqualsGnuParallel) {
  if (std::system("parallel --version 2>/dev/null | grep -q 'GNU parallel'") != 0) {
    GTEST_SKIP() << "needs GNU parallel";
  }
  std::string command = "cd " + folder_.path() +
                        " && HOME=. PARALLEL_HOME=. parallel --will-cite "
                        "-j1 --joblog theirs ::: 'printf hello' 'exit 3' 'kill -9 $$' "
                        "/nonexistent/x >/dev/null 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  std::string theirs = folder_.Get("theirs");
  auto log = Joblog::Open(
      folder_.path() + "/ours", false,
      [](TaskIndex i) {
        const char* commands[] = {"printf hello", "exit 3", "kill -9 $$", "/nonexistent/x"};
        return std::string(commands[i]);
      },
      nullptr);
  ASSERT_TRUE(log);
  const std::tuple<Cause, int, uint64_t> kEnds[] = {{Cause::kSuccess, 0, 5},
                                                    {Cause::kExit, 3, 0},
                                                    {Cause::kSignal, 9, 0},
                                                    {Cause::kStart, 127, 0}};
  for (TaskIndex i = 0; i < 4; ++i) {
    AttemptEnd end = EndOf(i);
    std::tie(end.cause, end.status, end.stdout_total) = kEnds[i];
    (*log)->OnEnded({.end = end, .output = nullptr, .now = kTestStart});
  }
  std::regex times("\t\\d{10}\\.\\d{3}\t *\\d+\\.\\d{3}\t");
  EXPECT_EQ(std::regex_replace(folder_.Get("ours"), times, "\tSTART\tTIME\t"),
            std::regex_replace(theirs, times, "\tSTART\tTIME\t"));
  EXPECT_NE(theirs.find('\t'), std::string::npos);
}

}  // namespace
}  // namespace spate::cli
