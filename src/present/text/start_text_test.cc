#include "present/text/start_text.h"

#include <gtest/gtest.h>

#include "present/table/time_text.h"

namespace spate::present {
namespace {

using Lines = std::vector<std::string>;

Instant At(int64_t seconds) { return Instant{} + Duration::Seconds(1'800'000'000 + seconds); }
std::string Text(int64_t seconds) { return DateAndTime(At(seconds)); }

TEST(StartText, TellsEachNewsAndTheRealStart) {
  GangStory story{
      .news = {{At(0), At(60), ""},
               {At(70), Instant::Never(), "task 1.1 takes longer on n1 than its --time"},
               {Instant(), At(90), "node n2 disconnected"}}};
  Lines lines = {
      "expected by " + Text(60) + " (" + Text(0) + ": first in line)",
      "not known (" + Text(70) + ": task 1.1 takes longer on n1 than its --time)",
      "expected by " + Text(90) + " (node n2 disconnected)",
  };
  EXPECT_EQ(StartLines(story, std::nullopt), lines);
  lines.push_back("started " + Text(100) + ", 40.0 s later than first expected");
  EXPECT_EQ(StartLines(story, At(100)), lines);
  lines.back() = "started " + Text(50) + ", not later than first expected";
  EXPECT_EQ(StartLines(story, At(50)), lines);
  story.news.front().start = Instant::Never();
  EXPECT_EQ(StartLines(story, At(50)).back(), "started " + Text(50));
}

TEST(StartText, CountsWhatWasLeftOut) {
  GangStory story{.news = {{At(0), At(60), ""}, {At(1), At(61), "x"}}, .left_out = 3};
  EXPECT_EQ(StartLines(story, std::nullopt)[1], "3 changes left out here");
  EXPECT_EQ(StartLines(GangStory(), At(1)), Lines());
}

TEST(StartText, IsJson) {
  GangStory story{.news = {{At(0), At(60), ""}, {Instant(), Instant::Never(), "node x"}}};
  EXPECT_EQ(StartNewsJson(story).text,
            "[{\"at\":1800000000,\"start\":1800000060,\"reason\":\"\"},"
            "{\"at\":null,\"start\":null,\"reason\":\"node x\"}]");
}

}  // namespace
}  // namespace spate::present
