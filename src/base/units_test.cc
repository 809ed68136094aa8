#include "base/units.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

TEST(Units, Durations) {
  struct Case {
    const char* text;
    double seconds;
  };
  for (auto [text, seconds] :
       {Case{"90", 90}, Case{"1.5s", 1.5}, Case{"200ms", 0.2}, Case{"10m", 600},
        Case{"1h30m", 5400}, Case{"1h 30m", 5400}, Case{"2d", 172800}, Case{"01:02:03", 3723},
        Case{"2:30", 150}, Case{"90:59", 5459}, Case{"0", 0}, Case{"1_000", 1000},
        Case{"1-12", 129600}, Case{"1-12:30", 131400}, Case{"1-12:00:00", 129600},
        Case{"0-00:00:30", 30}}) {
    auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_DOUBLE_EQ(parsed->seconds(), seconds) << text;
  }
  for (const char* bad : {"",        "x",       "-1",
                          "1y",      "1:2:3:4", "1h30",
                          "..",      "1e9999",  "99999999999999d",
                          "1-",      "1-24",    "1.5-12",
                          "1-2-3",   "1-x",     "1-1:2:3:4",
                          "1:99",    "1:60",    "0:60:00",
                          "1:00:60", "1-01:60"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
  // The most that messages and shepherds hold: 2^60 ns.
  EXPECT_TRUE(ParseDuration("1152921504"));
  for (const char* bad :
       {"1152921505", "1152921504606.9ms", "2147483648", "13345d", "320256:00:00"}) {
    auto refused = ParseDuration(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message.contains("' is 36 years or more; write")) << bad;
  }
}

TEST(Units, Sizes) {
  EXPECT_EQ(ParseSize("512").value(), 512u);
  EXPECT_EQ(ParseSize("64K").value(), 65536u);
  EXPECT_EQ(ParseSize("1.5G").value(), 1610612736u);
  EXPECT_EQ(ParseSize("2GiB").value(), 2147483648u);
  EXPECT_EQ(ParseSize("2gb").value(), 2147483648u);
  for (const char* bad : {"", "G", "1X", "1GG", "-5", "9999999P"}) {
    EXPECT_FALSE(ParseSize(bad)) << bad;
  }
}

TEST(Units, MemoryHasAUnitOrIsMuch) {
  for (const char* good : {"0", "4000M", "4000B", "0.5G", "1K", "16000000", "128_000_000_000"}) {
    EXPECT_EQ(ParseMemory(good).value(), ParseSize(good).value()) << good;
  }
  for (const char* bad : {"4", "400", "4000", "128000", "4_000", "2.5", "15999999"}) {
    const auto refused = ParseMemory(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message.contains("has no unit")) << refused.error().message;
  }
  EXPECT_EQ(ParseMemory("4000").error().message,
            "'4000' has no unit and would be 4,000 bytes; write 4000M (megabytes) or 4000G "
            "(gigabytes); for bytes: 4000B");
  EXPECT_TRUE(ParseMemory("x").error().message.contains("is not a size"));
}

TEST(Units, Counts) {
  EXPECT_EQ(ParseCount("1_000_000").value(), 1000000u);
  for (const char* bad : {"", "1.0", "-1", "1k", "_1", "1_", "99999999999999999999"}) {
    EXPECT_FALSE(ParseCount(bad)) << bad;
  }
}

TEST(Units, Formats) {
  EXPECT_EQ(FormatDuration(Duration::Millis(210)), "0.21 s");
  EXPECT_EQ(FormatDuration(Duration::Seconds(125)), "2m05s");
  EXPECT_EQ(FormatDuration(Duration::Millis(59990)), "1m00s");
  EXPECT_EQ(FormatDuration(Duration::Seconds(3720)), "1h02m");
  EXPECT_EQ(FormatSize(812), "812 B");
  EXPECT_EQ(FormatSize(1536), "1.5 KB");
  EXPECT_EQ(FormatSize(uint64_t{20} << 30), "20 GB");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(999), "999");
}

TEST(Units, EscapesWhatATerminalMustNotSee) {
  EXPECT_EQ(EscapeForScreen("a\tb\n"), "a\\tb\\n");
  EXPECT_EQ(EscapeForScreen("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(EscapeForScreen("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(EscapeForScreen("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(EscapeForScreen("\xc2\x9b"), "\\xc2\\x9b");
  // These would reverse the rest of the line.
  EXPECT_EQ(EscapeForScreen("a\u202eb\u2066c\u2069\u202a"), "a\\u202eb\\u2066c\\u2069\\u202a");
  // Nobody would see these, or they break the line.
  EXPECT_EQ(EscapeForScreen("\u200b\u200c\u200f\u2028\u2029\u2060\u2064\u206f\ufeff"),
            "\\u200b\\u200c\\u200f\\u2028\\u2029\\u2060\\u2064\\u206f\\ufeff");
  EXPECT_EQ(EscapeForScreen("\u00ad\u061c\u180e\ufff9\U000e0041"),
            "\\u00ad\\u061c\\u180e\\ufff9\\U000e0041");
  constexpr std::string_view kBeside = "\u200a\u2010\u2027\u202f\u205f\u2070\ufefe\uff00";
  EXPECT_EQ(EscapeForScreen(kBeside), kBeside);
}

TEST(Units, ShellQuotesOnlyWhenNeeded) {
  EXPECT_EQ(ShellQuote("a/b.c"), "a/b.c");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("~x"), "'~x'");
}

}  // namespace
}  // namespace spate
