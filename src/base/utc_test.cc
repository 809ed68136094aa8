#include "base/utc.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

TEST(Utc, BothWays) {
  struct Case {
    const char* text;
    int64_t seconds;
  };
  for (auto [text, seconds] :
       {Case{"1970-01-01T00:00:00Z", 0}, Case{"2020-09-13T12:26:40Z", 1600000000},
        Case{"2024-02-29T23:59:59Z", 1709251199}, Case{"2261-12-31T23:59:59Z", 9214646399}}) {
    EXPECT_EQ(FormatUtc({seconds * 1000000000}), text);
    auto parsed = ParseUtc(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->ns, seconds * 1000000000) << text;
  }
  EXPECT_EQ(ParseUtc("1970-01-02").value().ns, 86400LL * 1000000000);
  EXPECT_EQ(FormatUtc({-1}), "1969-12-31T23:59:59Z");
  EXPECT_EQ(FormatUtc({999999999}), "1970-01-01T00:00:00Z");
}

TEST(Utc, WrongTexts) {
  for (const char* bad :
       {"", "today", "2027-1-31", "2027-02-29", "2027-13-01", "1969-12-31", "2262-01-01",
        "2027-01-31T24:00:00Z", "2027-01-31T12:60:00Z", "2027-01-31T12:00:00",
        "2027-01-31 12:00:00Z", "2027-01-31T12:00:00+01"}) {
    EXPECT_FALSE(ParseUtc(bad)) << bad;
  }
}

}  // namespace
}  // namespace spate
