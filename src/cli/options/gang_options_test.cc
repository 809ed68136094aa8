#include "cli/options/gang_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

Result<RunOptions> Make(Argv argv) {
  argv.insert(argv.end(), {"--", "true"});
  auto words = ParseWords(kRunWords, argv);
  if (!words) return std::unexpected(words.error());
  return MakeRunOptions(*words);
}

TEST(GangOptionsTest, Shapes) {
  struct Case {
    Argv argv;
    GangShape shape;
  };
  using Start = GangShape::Start;
  for (const Case& c : {
           Case{{"--procs", "16"}, {16, 0}},
           Case{{"--nodes", "4"}, {4, 4}},
           Case{{"--nodes", "4", "--procs-per-node", "2"}, {8, 4}},
           Case{{"--nodes", "4", "--procs", "8"}, {8, 4}},
           Case{{"--procs", "8", "--procs-per-node", "4"}, {8, 2}},
           Case{{"--procs", "8", "--nodes", "4", "--procs-per-node", "2"}, {8, 4}},
           Case{{"--nodes", "1", "--whole-nodes"}, {1, 1, true}},
           Case{{"--procs", "2", "--start", "first"}, {2, 0, false, Start::kFirst}},
           Case{{"--procs", "2", "--start=node"}, {2, 0, false, Start::kNode}},
           Case{{"--cpus", "2"}, {}},
       }) {
    auto made = Make(c.argv);
    ASSERT_TRUE(made) << c.argv.front() << ": " << made.error().message;
    EXPECT_EQ(made->gang, c.shape) << testing::PrintToString(c.argv);
    EXPECT_EQ(ClassOf(*made).gang, c.shape);
  }
}

// Both options are named, and what to write instead.
TEST(GangOptionsTest, Contradictions) {
  struct Case {
    Argv argv;
    std::vector<std::string> says;
  };
  for (const Case& c : {
           Case{{"--procs", "7", "--nodes", "2"}, {"--procs 7 with --nodes 2", "--procs 8"}},
           Case{{"--procs", "7", "--nodes", "2", "--procs-per-node", "4"},
                {"--procs 7 contradicts --nodes 2 --procs-per-node 4", "make 8",
                 "leave out --procs"}},
           Case{{"--procs", "7", "--procs-per-node", "2"}, {"--procs-per-node 2", "--procs 8"}},
           Case{{"--procs-per-node", "2"}, {"add --nodes N or --procs N"}},
           Case{{"--whole-nodes"}, {"--whole-nodes is for gangs", "--nodes 1"}},
           Case{{"--start", "first"}, {"--start is for gangs", "--nodes 2"}},
           Case{{"--start", "last", "--nodes", "2"}, {"--start: 'last' is not one of: each"}},
           Case{{"--bound", "disk"}, {"--bound: 'disk' is not one of: cpu memory network"}},
           Case{{"--procs", "0"}, {"--procs: '0' is not a gang"}},
           Case{{"--procs", "1000001"}, {"--procs"}},
           Case{{"--nodes", "1000000", "--procs-per-node", "2"}, {"at most 1,000,000 processes"}},
           Case{{"--procs", "2", "--resident"}, {"a gang", "--resident"}},
           Case{{"--procs", "2", "--line-buffer"}, {"a gang", "--line-buffer"}},
           Case{{"--procs", "2", "--forward", "A=b"}, {"a gang", "--forward"}},
           Case{{"--nodes", "2", "--pipepart", "-a", "f"}, {"a gang", "--pipepart"}},
       }) {
    auto made = Make(c.argv);
    ASSERT_FALSE(made) << testing::PrintToString(c.argv);
    EXPECT_EQ(made.error().kind, ErrorKind::kInvalid);
    for (const std::string& part : c.says) {
      EXPECT_NE(made.error().message.find(part), std::string::npos)
          << part << " in: " << made.error().message;
    }
  }
}

TEST(GangOptionsTest, TheTimeOfAGangIsItsLimit) {
  EXPECT_EQ(Make({"--nodes", "2", "--time", "1h"})->settings.time_limit, Duration::Seconds(3600));
  auto both = Make({"--nodes", "2", "--time", "1h", "--time-limit", "2h"});
  EXPECT_EQ(both->settings.time_limit, Duration::Seconds(7200));
  EXPECT_EQ(Make({"--nodes", "2", "--time", "1h", "--time-limit", "200%"})->settings.time_limit,
            Duration{});
  EXPECT_EQ(Make({"--time", "1h"})->settings.time_limit, Duration{});
}

class DeadlineTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  void TearDown() override {
    unsetenv("TZ");
    tzset();
  }
};

// The clock stands at 2026-11-24 15:00 in Vienna.
constexpr Instant kNow{1'795'528'800'000'000'000};

TEST_F(DeadlineTest, Times) {
  struct Case {
    const char* text;
    int64_t seconds;  // from now
  };
  for (const Case& c : {
           Case{"18:00", 3 * 3600},
           Case{"18:00:30", 3 * 3600 + 30},
           Case{"9:30", 18 * 3600 + 1800},
           Case{"15:00", 24 * 3600},
           Case{"today 9:30", -(5 * 3600 + 1800)},
           Case{"tomorrow 18:00", 27 * 3600},
           Case{"2026-11-24T18:00", 3 * 3600},
           Case{"2026-11-25 18:00:01", 27 * 3600 + 1},
           Case{"2026-11-24T17:00:00Z", 3 * 3600},
           Case{"2026-07-01T00:00", -(146 * 86400 + 16 * 3600)},  // summer time
           Case{"+2h", 7200},
           Case{"2h", 7200},
           Case{"+0:30:00", 1800},
           Case{"90s", 90},
       }) {
    auto when = ParseDeadline(c.text, kNow);
    ASSERT_TRUE(when) << when.error().message;
    EXPECT_EQ((*when - kNow).ns, c.seconds * 1'000'000'000) << c.text;
  }
  // UTC, to the minute or the second.
  auto minute = ParseDeadline("2027-01-31T18:00Z", kNow);
  auto second = ParseDeadline("2027-01-31T18:00:00Z", kNow);
  ASSERT_TRUE(minute && second);
  EXPECT_EQ(minute->ns, 1'801'418'400'000'000'000);
  EXPECT_EQ(*minute, *second);
  for (const char* wrong : {"", "+", "18", "90", "never", "24:00", "18:60", "2026-02-30T18:00",
                            "2026-11-24", "2026-11-24T", "tomorrow", "tomorrow 2h", "-2h",
                            "18:00 tomorrow", "9999-01-01T00:00", "1969-01-01T00:00"}) {
    EXPECT_FALSE(ParseDeadline(wrong, kNow)) << wrong;
  }
}

TEST_F(DeadlineTest, WhatIsPastOrTooSoonIsRefused) {
  auto said = [](Argv argv) {
    auto made = Make(std::move(argv));
    if (!made) return made.error().message;
    auto set = SetDeadline(*made, kNow);
    return set ? std::string() : set.error().message;
  };
  EXPECT_EQ(said({"--deadline", "18:00"}), "");
  EXPECT_EQ(said({"--deadline", "+1h", "--time", "1h"}), "");
  EXPECT_EQ(said({"--deadline", "2026-11-24T14:00"}),
            "--deadline: '2026-11-24T14:00' was 1h00m ago; write a later time, such as +2h");
  EXPECT_EQ(said({"--deadline", "16:00", "--time", "90m"}),
            "--deadline: '16:00' is in 1h00m, but a task takes 1h30m (--time) and could not end by "
            "then; write a later --deadline or a shorter --time");
  EXPECT_EQ(said({"--deadline", "soon"}).substr(0, 18), "--deadline: 'soon'");
}

}  // namespace
}  // namespace spate::cli
