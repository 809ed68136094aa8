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
        Case{"2:30", 150}, Case{"0", 0}, Case{"1_000", 1000}, Case{"1-12", 129600},
        Case{"1-12:30", 131400}, Case{"1-12:00:00", 129600}, Case{"0-00:00:30", 30}}) {
    auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_DOUBLE_EQ(parsed->seconds(), seconds) << text;
  }
  for (const char* bad : {"", "x", "-1", "1y", "1:2:3:4", "1h30", "..", "1e9999", "99999999999999d",
                          "1-", "1-24", "1.5-12", "1-2-3", "1-x", "1-1:2:3:4"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
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
  EXPECT_EQ(EscapeForScreen("\u2029\u202f\u2065\u206a\u200f"), "\u2029\u202f\u2065\u206a\u200f");
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
