#include "format/sources/csv.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spate::format {
namespace {

using Records = std::vector<std::string>;

// Columns are shown with '|' between.
Records Shown(std::string_view text, char separator = ',') {
  auto records = ParseCsv(text, separator);
  if (!records) return {records.error().message};
  for (std::string& record : *records) std::ranges::replace(record, '\0', '|');
  return *records;
}

TEST(CsvTest, Records) {
  struct Case {
    std::string_view text;
    Records records;
    char separator = ',';
  };
  const Case kCases[] = {
      {"", {}},
      {"a,b\nc,d\n", {"a|b", "c|d"}},
      {"a,b\r\nc,d", {"a|b", "c|d"}},
      {"a,,\n\n,b\n", {"a||", "", "|b"}},
      {"\"a, b\",c\n", {"a, b|c"}},
      {"\"x \"\"y\"\"\",z\n", {"x \"y\"|z"}},
      {"\"two\nlines\",w\nnext\n", {"two\nlines|w", "next"}},
      {"\"\",\"\"\n", {"|"}},
      {"\"\"\"\"\n", {"\""}},
      {"\"a\"\r\n\"b\"\r\n", {"a", "b"}},
      {"a\"b,c\n", {"a\"b|c"}},
      {" a , b \n", {" a | b "}},
      {"a;b,c\n", {"a|b,c"}, ';'},
      {"\xEF\xBB\xBF\"a\"\n", {"a"}},
  };
  for (const Case& c : kCases) EXPECT_EQ(Shown(c.text, c.separator), c.records) << c.text;
}

TEST(CsvTest, Errors) {
  EXPECT_EQ(Shown("a\n\"b\nc\n"),
            Records{"line 2: a double quote is not closed: close it, or write it twice in quotes"});
  EXPECT_EQ(Shown("\"a\nb\" c\n"),
            Records{"line 2: something follows a closing double quote: remove it"});
  EXPECT_EQ(Shown(std::string_view("a\nb\0c\n", 6)),
            Records{"line 2: there is a NUL byte, which is not allowed in values; remove it"});
}

}  // namespace
}  // namespace spate::format
