// `spate job tail` of one task: while it runs, over its tries, and when nobody can be asked. The
// hub is a function of the test; what has ended comes from a real journal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "command/job/last_lines.h"
#include "command/testing_history.h"

namespace spate::cli::command {
namespace {

using engine::Verdict;
using Ran = HistoryWorld::Ran;
using Shown = wire::LookAtRun::Answer;
using Standing = RunLook::Standing;

class LiveHub final : public client::Asker {
 public:
  explicit LiveHub(history::Source source) : journal_(std::move(source)) {}
  Status Query(wire::Question question, const AcceptAnswer& take) override {
    const auto look = question.As<wire::LookAtRun>();
    if (!look) return journal_.Query(std::move(question), take);
    ++looks;
    auto shown = look_at(*look);
    if (!shown) return std::unexpected(shown.error());
    return take(wire::BytesOf(*shown));
  }
  std::function<Result<Shown>(const wire::LookAtRun&)> look_at;
  int looks = 0;

 private:
  history::JournalAsker journal_;
};

class TailTest : public testing::Test {
 protected:
  TailTest() {
    JobText text;
    text.rows = {"one", "two"};
    job_ = world_.AddJob(text);
    hub_ = std::make_unique<LiveHub>(world_.SourceOf(store::JobPlace(world_.state())));
    hub_->look_at = [this](const wire::LookAtRun& asked) { return LookAt(asked); };
    world_.environment().hub = hub_.get();
    world_.environment().pause = [this](Duration time) {
      pauses_.push_back(time);
      const size_t number = pauses_.size();
      ASSERT_LT(number, 200u) << "it goes on for ever";
      if (number <= steps_.size()) steps_[number - 1]();
    };
  }
  Ran Tail(std::vector<std::string> argv) { return world_.Run("job tail", std::move(argv)); }

  // Answers as a hub and its node do, of what the task has written so far.
  Result<Shown> LookAt(const wire::LookAtRun& asked) const {
    Shown shown = now_;
    shown.job = JobId(1);
    shown.task = 1;
    if (shown.look.standing != Standing::kRunning) return shown;
    auto piece = [&](const std::string& text, uint64_t from) {
      StreamSoFar so_far{.from = std::min<uint64_t>(from, text.size()), .total = text.size()};
      so_far.bytes = text.substr(so_far.from, asked.wish.most);
      return so_far;
    };
    if (out_file_.empty()) shown.look.out = piece(out_, asked.wish.out_from);
    shown.look.out.file = out_file_;
    shown.look.err = piece(err_, asked.wish.err_from);
    return shown;
  }
  void Runs(uint32_t attempt, std::string out, std::string err = "") {
    now_ = {.state = TaskState::kLeased, .attempt = attempt, .node = fmt::format("n{}", attempt)};
    now_.look.standing = Standing::kRunning;
    out_ = std::move(out);
    err_ = std::move(err);
  }
  void Is(TaskState state) { now_ = {.state = state}; }
  // In the journal; the hub still says what it said.
  void Ends(uint16_t attempt, Cause cause, int status, Verdict verdict, std::string out) {
    job_->RunTask(AttemptOf(1, 0, attempt, cause, status, verdict), std::move(out));
  }

  HistoryWorld world_;
  std::unique_ptr<HistoryWorld::OpenJob> job_;
  std::unique_ptr<LiveHub> hub_;
  Shown now_;
  std::string out_, err_, out_file_;
  std::vector<std::function<void()>> steps_;  // one for each pause
  std::vector<Duration> pauses_;
};

TEST_F(TailTest, ARunningTaskIsFollowedOverItsTries) {
  Runs(1, "a\n");
  steps_ = {
      [&] { out_ += "b\n"; },
      [&] {
        Ends(1, Cause::kExit, 3, Verdict::kRetry, "a\nb\nc\n");
        Is(TaskState::kQueued);
        now_.why = {{ReasonKind::kNextTry, {}, {Duration::Seconds(5)}}};
      },
      [&] { Runs(2, "x\n"); },
      [&] {
        Ends(2, Cause::kSuccess, 0, Verdict::kSucceeded, "x\ny\n");
        Is(TaskState::kSucceeded);
      },
  };
  Ran ran = Tail({"-f", "1.1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "a\nb\nc\nx\ny\n") << "each byte once";
  EXPECT_NE(ran.err.find("spate: 1.1: attempt 1: exit code 3, after 1.50 s; the task is tried "
                         "again\nspate: 1.1: it waits: "),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("spate: 1.1: attempt 2 runs on node n2\n"
                         "spate: 1.1: attempt 2: succeeded, after 1.50 s\n"),
            std::string::npos)
      << ran.err;
}

// Two attempts have ended between two looks.
TEST_F(TailTest, TriesThatNobodySawAreToldOf) {
  Runs(1, "a\n");
  steps_ = {[&] {
              Ends(1, Cause::kExit, 3, Verdict::kRetry, "a\nb\n");
              Ends(2, Cause::kExit, 4, Verdict::kRetry, "whole\n");
              Runs(3, "c\n");
            },
            [&] {
              Ends(3, Cause::kExit, 5, Verdict::kFailed, "c\n");
              Is(TaskState::kFailed);
            }};
  Ran ran = Tail({"-f", "1.1"});
  EXPECT_EQ(ran.out, "a\nb\nwhole\nc\n");
  for (const char* text : {"attempt 1: exit code 3", "attempt 2: exit code 4", "attempt 3 runs on",
                           "attempt 3: exit code 5"}) {
    EXPECT_NE(ran.err.find(text), std::string::npos) << text << " in " << ran.err;
  }
}

TEST_F(TailTest, BytesThatTheJournalHasNotKeptAreToldOf) {
  constexpr size_t kSeen = 70'000, kAll = 200'000, kKept = 64 << 10;
  std::string all;
  while (all.size() < kAll) all += fmt::format("{:9}\n", all.size());
  Runs(1, all.substr(0, kSeen));
  steps_ = {[&] {
    Ends(1, Cause::kSuccess, 0, Verdict::kSucceeded, all);  // its beginning and its end are kept
    Is(TaskState::kSucceeded);
  }};
  Ran ran = Tail({"-f", "1.1", "-n", "100000"});
  EXPECT_EQ(ran.code, kExitTasksFailed);
  EXPECT_TRUE(ran.out == all.substr(0, kSeen) + all.substr(kAll - kKept)) << ran.out.size();
  EXPECT_NE(ran.err.find("1.1: 64,464 bytes of its standard output were not kept"),
            std::string::npos)
      << ran.err;
}

TEST_F(TailTest, ANodeThatDoesNotAnswerIsToldOfOnceAndTheRestFollows) {
  Runs(1, "a\n");
  auto gone = [&] {
    now_.look.standing = Standing::kUnknown;
    now_.look.why = "the node n1 does not answer";
  };
  steps_ = {gone, [] {}, [] {}, [&] { Runs(1, "a\nb\n"); },
            [&] {
              Ends(1, Cause::kNode, 0, Verdict::kFailed, "");
              Is(TaskState::kFailed);
            }};
  Ran ran = Tail({"-f", "1.1"});
  EXPECT_EQ(ran.out, "a\nb\n");
  const std::string told = "nothing can be read of it now: the node n1 does not answer";
  const size_t first = ran.err.find(told);
  ASSERT_NE(first, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(told, first + 1), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("lost with its node"), std::string::npos) << ran.err;
  // Without --follow the same is an error.
  Is(TaskState::kLeased);
  now_.attempt = 1;
  gone();
  ran = Tail({"1.1"});
  EXPECT_EQ(ran.code, ExitCodeOf(ErrorKind::kUnavailable));
  EXPECT_NE(ran.err.find(told), std::string::npos) << ran.err;
}

TEST_F(TailTest, LooksBecomeRareWhereNothingComes) {
  Runs(1, "a\n");
  steps_.resize(7, [] {});
  steps_.push_back([&] { out_ += "b\n"; });
  steps_.push_back([&] {
    Ends(1, Cause::kSuccess, 0, Verdict::kSucceeded, out_);
    Is(TaskState::kSucceeded);
  });
  EXPECT_EQ(Tail({"-f", "1.1"}).out, "a\nb\n");
  std::vector<int64_t> millis;
  for (Duration each : pauses_) millis.push_back(each.ns / 1'000'000);
  EXPECT_EQ(millis, (std::vector<int64_t>{100, 200, 400, 800, 1000, 1000, 1000, 1000, 100}));
}

TEST_F(TailTest, TheLastLinesOfALongOutput) {
  std::string text;
  for (int n = 0; n < 20'000; ++n) text += fmt::format("line {}\n", n);
  Runs(1, text, "an error\n");
  EXPECT_EQ(Tail({"1.1", "-n", "2"}).out, "line 19998\nline 19999\n");
  EXPECT_LT(hub_->looks, 10);
  const Ran many = Tail({"1.1", "-n", "10000"});
  EXPECT_EQ(many.out, text.substr(text.find("line 10000\n")));
  EXPECT_EQ(many.err, "an error\n");
  EXPECT_EQ(Tail({"1.1", "-n", "1", "--stderr"}).out, "an error\n");
  EXPECT_EQ(Tail({"1.1", "-n", "0"}).out, "");
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(TailTest, AFileIsNamed) {
  Runs(1, "", "an error\n");
  out_file_ = "/data/out.txt";
  Ran ran = Tail({"1.1"});
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err,
            "spate: 1.1: its standard output goes to '/data/out.txt' on node n1\n"
            "an error\n");
}

TEST_F(TailTest, WhatHasNotStartedSaysSo) {
  Is(TaskState::kLeased);
  now_.attempt = 1;
  now_.node = "n1";
  now_.look.standing = Standing::kNotStarted;
  EXPECT_EQ(Tail({"1.1"}).err, "spate: 1.1: node n1 has it, and has not started it yet\n");
  // Its end is on its way for too long.
  now_.look.standing = Standing::kEnded;
  EXPECT_EQ(Tail({"1.1"}).err, "spate: 1.1: it is starting or ending on node n1\n");
  EXPECT_LT(pauses_.size(), 60u);
}

TEST_F(TailTest, TheRankOfAGang) {
  Runs(1, "rank\n");
  now_.ranks = 4;
  std::vector<uint32_t> ranks;
  hub_->look_at = [&](const wire::LookAtRun& asked) {
    ranks.push_back(asked.rank);
    return LookAt(asked);
  };
  EXPECT_EQ(Tail({"1.1"}).err, "spate: 1.1: output of rank 0 of 4 ranks (another one: --rank)\n");
  EXPECT_EQ(ranks.back(), 0u);
  EXPECT_EQ(Tail({"1.1", "--rank", "3"}).err, "");
  EXPECT_EQ(ranks.back(), 3u);
}

TEST_F(TailTest, WordsThatMeanNoTask) {
  EXPECT_NE(Tail({"1.1-2"}).err.find("name one task"), std::string::npos);
  EXPECT_NE(Tail({"1", "--rank", "1"}).err.find("name one task"), std::string::npos);
  EXPECT_NE(Tail({"1.1", "--rank", "x"}).err.find("--rank"), std::string::npos);
  EXPECT_EQ(hub_->looks, 0);
}

TEST(LastLines, BeginOfLines) {
  struct {
    const char* block;
    bool is_last;
    uint64_t lines;
    std::optional<size_t> begin;
    uint64_t left;
  } const kTable[] = {
      {"a\nb\nc\n", true, 1, 4, 0},
      {"a\nb\nc", true, 1, 4, 0},
      {"a\nb\nc\n", true, 2, 2, 0},
      {"a\nb\nc\n", true, 3, std::nullopt, 1},
      {"a\nb\n", false, 1, 4, 0},
      {"a\nb\n", false, 2, 2, 0},
      {"abc", false, 1, std::nullopt, 1},
      {"", true, 1, std::nullopt, 1},
      {"\n\n", true, 1, 1, 0},
  };
  for (const auto& row : kTable) {
    uint64_t lines = row.lines;
    EXPECT_EQ(BeginOfLines(row.block, row.is_last, lines), row.begin) << row.block;
    EXPECT_EQ(lines, row.left) << row.block;
  }
}

TEST(LastLines, OnlyTheLastAreKept) {
  TailBuffer buffer(2);
  std::string all;
  for (int n = 0; n < 500'000; ++n) buffer.Add(fmt::format("line {}\n", n));
  EXPECT_FALSE(buffer.HasGap());
  EXPECT_EQ(buffer.Take(), "line 499998\nline 499999\n");
  TailBuffer gap(1);
  gap.Add("a\nb");
  gap.Gap();
  gap.Add("c\n");
  EXPECT_TRUE(gap.HasGap());
  TailBuffer before(1);
  before.Add("a");
  before.Gap();
  before.Add("b\nc\n");
  EXPECT_FALSE(before.HasGap());
  TailBuffer none(0);
  none.Add("a\n");
  EXPECT_EQ(none.Take(), "");
}

}  // namespace
}  // namespace spate::cli::command
