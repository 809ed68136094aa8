#include "doors/parasol/formats/results.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

const ParasolEnd kEnd = {.status = 768,
                         .host = "n1",
                         .id = "20503",
                         .program = "out.sh",
                         .user_ticks = 12,
                         .system_ticks = 3,
                         .submitted = 1795166888,
                         .started = 1795166889,
                         .ended = 1795166890,
                         .user = "ann",
                         .err_file = "/tmp/para20503.err",
                         .command = "/x/out.sh it's \"b\""};
constexpr std::string_view kLine =
    "768 n1 20503 out.sh 12 3 1795166888 1795166889 1795166890 ann /tmp/para20503.err "
    "'/x/out.sh it's \"b\"'\n";

TEST(ParasolResultsTest, Lines) {
  EXPECT_EQ(ResultsLine(kEnd), kLine);
  EXPECT_EQ(ResultsLine({}), "0 none none none 0 0 0 0 0 none none ''\n");
  const std::string line(kLine);
  auto read = ReadResults(line + "\n11 h 7 p 0 0 1 2 3 u e\r\n-1 h", "para.results");
  ASSERT_EQ(read.ends.size(), 2u);
  ParasolEnd expected = kEnd;
  expected.command.clear();
  EXPECT_EQ(read.ends[0], expected);
  EXPECT_EQ(read.ends[1].status, 11);
  EXPECT_EQ(read.ends[1].err_file, "e");
  EXPECT_TRUE(read.damage.empty());
  // The last line is still being written.
  EXPECT_EQ(read.bytes, kLine.size() + 25);
  EXPECT_EQ(ReadResults("1 h 7", "para.results").bytes, 0u);
  EXPECT_EQ(ReadResults("", "para.results").bytes, 0u);
}

TEST(ParasolResultsTest, DamagedLinesAreLeftOut) {
  struct Case {
    std::string_view line, wrong;
  };
  for (const Case& c :
       std::vector<Case>{{"11 h 7 p 0 0 1 2 3 u", "fewer than 11 words"},
                         {"x h 7 p 0 0 1 2 3 u e", "'x' is not a valid number"},
                         {"1 h 7 p 0 0 1 2. 3 u e", "'2.' is not a valid number"},
                         {"1 h 7 p -1 0 1 2 3 u e", "'-1' is not a valid number"},
                         {"99999999999 h 7 p 0 0 1 2 3 u e", "'99999999999' is not a valid number"},
                         {"\x1b[m", "'\\x1b[m' is not a valid number"}}) {
    auto read =
        ReadResults(std::string(kLine) + std::string(c.line) + "\n" + std::string(kLine), "r", 100);
    EXPECT_EQ(read.ends.size(), 2u);
    ASSERT_EQ(read.damage.size(), 1u) << c.line;
    EXPECT_EQ(read.damage[0], "r: the line at byte " + std::to_string(100 + kLine.size()) +
                                  " is not a valid result (" + std::string(c.wrong) +
                                  "): it is left out");
  }
}

TEST(ParasolResultsTest, Programs) {
  EXPECT_EQ(ProgramOf("/usr/bin/prog a/b"), "prog");
  EXPECT_EQ(ProgramOf(" prog"), "prog");
  EXPECT_EQ(ProgramOf(""), "");
}

TEST(ParasolResultsTest, Bookmark) {
  EXPECT_EQ(ReadBookmark(WriteBookmark(123456789012), "b"), 123456789012u);
  EXPECT_EQ(ReadBookmark("7", "b"), 7u);
  EXPECT_EQ(ReadBookmark("", "b"), 0u);
  for (std::string_view text : {"x", "7x", "-1", "7 8"}) {
    auto read = ReadBookmark(text, "para.bookmark");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message,
              "para.bookmark holds no number: remove it, and all results are read again");
  }
}

}  // namespace
}  // namespace spate::parasol
