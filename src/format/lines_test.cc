#include "format/lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::format {
namespace {

TEST(LinesTest, Lines) {
  using Lines = std::vector<std::string>;
  struct Case {
    std::string_view text;
    Lines lines;
  };
  for (const Case& c : std::vector<Case>{{"", {}},
                                         {"\n", {""}},
                                         {"a", {"a"}},
                                         {"a\n", {"a"}},
                                         {"a\n\nb", {"a", "", "b"}},
                                         {"a\r\nb\r\n", {"a", "b"}},
                                         {"a\rb\n\r\n", {"a\rb", ""}},
                                         {"a\r", {"a\r"}}}) {
    Lines lines;
    std::string_view rest = c.text;
    while (auto line = NextLine(&rest)) lines.emplace_back(*line);
    EXPECT_EQ(lines, c.lines) << c.text;
  }
}

TEST(LinesTest, WordsAndTrim) {
  std::string_view rest = "  a\tbc \n";
  EXPECT_EQ(NextWord(&rest), "a");
  EXPECT_EQ(NextWord(&rest), "bc");
  EXPECT_EQ(NextWord(&rest), "");
  EXPECT_EQ(NextWord(&rest), "");
  EXPECT_EQ(TrimBlanks(" \t a b\r\n"), "a b");
  EXPECT_EQ(TrimBlanks(" \t"), "");
  EXPECT_EQ(TrimBlanks(""), "");
}

}  // namespace
}  // namespace spate::format
