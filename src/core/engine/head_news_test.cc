#include "core/engine/head_news.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace spate::engine {
namespace {

constexpr Instant kBegin{1'800'000'000'000'000'000};

// Seconds at which news is recorded, with news at each second.
template <typename ReasonAt>
std::vector<int> RecordedIn(int seconds, ReasonAt reason_at) {
  HeadNews news;
  news.Recorded(true, "");
  std::vector<int> recorded;
  for (int s = 0; s < seconds; ++s) {
    const std::string reason = reason_at(s);
    if (!news.IsDue(reason, kBegin + Duration::Seconds(s))) continue;
    news.Recorded(false, reason);
    recorded.push_back(s);
  }
  return recorded;
}

TEST(HeadNews, ReasonsInTurnAreNoRecordEach) {
  constexpr int kDay = 86'400;
  for (int reasons : {1, 2, 3, 1000, kDay}) {
    auto recorded =
        RecordedIn(kDay, [&](int s) { return "reason " + std::to_string(s % reasons); });
    EXPECT_LE(recorded.size(), 220u) << reasons;
    // Not lost: there is news to the end, a sixteenth late (a half where the reason is the same).
    for (size_t i = 1; i < recorded.size(); ++i) {
      const int late = recorded[i - 1] / (reasons == 1 ? 2 : 16) + reasons % 1000 + 2;
      EXPECT_LE(recorded[i], recorded[i - 1] + late) << reasons;
    }
    EXPECT_GT(recorded.back(), kDay / 2) << reasons;
  }
}

TEST(HeadNews, TheFirstOfAnotherReasonIsRecordedAtOnce) {
  auto recorded = RecordedIn(3600, [](int s) { return s < 3000 ? "it runs on" : "its node left"; });
  EXPECT_NE(std::ranges::find(recorded, 3000), recorded.end());
  recorded = RecordedIn(10, [](int s) { return std::to_string(s); });
  EXPECT_EQ(recorded.size(), 10u);
}

TEST(HeadNews, AnotherGangBeginsAnew) {
  HeadNews news;
  news.Recorded(true, "");
  for (int s = 0; s < 100; ++s) (void)news.IsDue(std::to_string(s), kBegin + Duration::Seconds(s));
  (void)news.IsDue("one", kBegin + Duration::Seconds(100));
  EXPECT_FALSE(news.IsDue("more", kBegin + Duration::Seconds(100)));
  news.Recorded(true, "it goes before task 1.1");
  EXPECT_TRUE(news.IsDue("more", kBegin + Duration::Seconds(100)));
}

// A replay knows the reason of the last record, and not when it was first given.
TEST(HeadNews, AReasonFromBeforeARestartIsHeardOfAgain) {
  HeadNews news;
  news.Recorded(true, "");
  news.Recorded(false, "it runs on");
  EXPECT_TRUE(news.IsDue("it runs on", kBegin));
  EXPECT_TRUE(news.IsDue("it runs on", kBegin + Duration::Seconds(10)));
}

}  // namespace
}  // namespace spate::engine
