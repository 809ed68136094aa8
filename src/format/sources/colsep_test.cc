#include "format/sources/colsep.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace spate::format {
namespace {

using Columns = std::vector<std::string>;

Columns Split(std::string_view separator, std::string_view value) {
  auto splitter = ColumnSplitter::Make(separator);
  if (!splitter) return {splitter.error().message};
  std::vector<std::string_view> views;
  // A heap copy without a NUL behind it, so that reading past the end shows.
  std::vector<char> bytes(value.begin(), value.end());
  splitter->Split({bytes.data(), bytes.size()}, views);
  return {views.begin(), views.end()};
}

TEST(ColumnSplitter, Columns) {
  struct Case {
    std::string_view separator, value;
    Columns columns;
  };
  const std::vector<Case> cases = {
      {",", "a,b,,c", {"a", "b", "", "c"}},
      {",", "", {""}},
      {",", ",", {"", ""}},
      {", ", "a, b,c", {"a", "b,c"}},
      {"\\t", "a\tb t", {"a", "b t"}},
      {"\t", "a\tb", {"a", "b"}},
      {"\\|", "a|b\\", {"a", "b\\"}},
      {"\\.", "a.b", {"a", "b"}},
      {"\\++", "a++b+c", {"a", "b", "c"}},
      {"a+[+]?", "1a+2aa3", {"1", "2", "3"}},
      {"((a))", "1a2", {"1", "2"}},
      {"\\\\", "a\\b", {"a", "b"}},
      {"\\s+", "a \t b  ", {"a", "b", ""}},
      {"\\s*;\\s*", "a ; b;c", {"a", "b", "c"}},
      {"[,;]", "a,b;c", {"a", "b", "c"}},
      {"[^a-z]+", "ab12cd", {"ab", "cd"}},
      {"[]x]", "a]bxc", {"a", "b", "c"}},
      {"[[:digit:]]+", "a12b", {"a", "b"}},
      {"[\\s,]+", "a, b", {"a", "b"}},
      {"[\\t\\d]", "a\tb1c", {"a", "b", "c"}},
      {"\\d", "a1b2", {"a", "b", ""}},
      {"\\D+", "1ab2", {"1", "2"}},
      {"\\W", "a-b_c", {"a", "b_c"}},
      {".", "ab", {"", "", ""}},
      {"a|b", "1a2b3", {"1", "2", "3"}},
      {"(ab)+", "1abab2", {"1", "2"}},
      {"x{2}", "axxbxc", {"a", "bxc"}},
      {"^a", "aba", {"", "ba"}},
      {"b$", "abab", {"aba", ""}},
      {"\xff",
       "a\xff"
       "b",
       {"a", "b"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Split(c.separator, c.value), c.columns) << c.separator;
}

TEST(ColumnSplitter, Errors) {
  struct Case {
    std::string_view separator, message;
  };
  for (const Case& c : std::vector<Case>{
           {"", "--colsep '': is empty; write the text that separates two columns"},
           {"|",
            "--colsep '|': matches the empty text: put a backslash before a byte that is meant as "
            "itself, as in '\\|'"},
           {"x*",
            "--colsep 'x*': matches the empty text: put a backslash before a byte that is meant as "
            "itself, as in '\\|'"},
           {"(",
            "--colsep '(': is not a regular expression (Unmatched ( or \\(): put a backslash "
            "before a byte that is meant as itself"},
           {"a\\", "--colsep 'a\\': ends in a backslash: write \\\\ for one"},
           {"\\Qa",
            "--colsep '\\Qa': \\Q is not supported here; write a POSIX extended regular "
            "expression"},
           {"(?:a)",
            "--colsep '(?:a)': (? is Perl syntax; write a POSIX extended regular expression"},
           {"a+?", "--colsep 'a+?': +? is Perl syntax; write a POSIX extended regular expression"},
           {"a++", "--colsep 'a++': ++ is Perl syntax; write a POSIX extended regular expression"},
           {"(((((a)))))",
            "--colsep '(((((a)))))': has too many nested groups, or more than one {N}; write a "
            "simpler one"},
           {"a{3}b{4}",
            "--colsep 'a{3}b{4}': has too many nested groups, or more than one {N}; write a "
            "simpler one"},
           {"[\\S]",
            "--colsep '[\\S]': \\S is not supported in brackets; write a POSIX extended regular "
            "expression"},
           {std::string_view("\0", 1),
            "--colsep '\\x00': holds a NUL byte; use -0 for NUL-separated values"}}) {
    auto splitter = ColumnSplitter::Make(c.separator);
    ASSERT_FALSE(splitter) << c.separator;
    EXPECT_EQ(splitter.error().message, c.message);
  }
}

TEST(ColumnSplitter, AnyText) {
  EXPECT_TRUE(rc::check("columns of a literal put together are the value", [] {
    auto separator =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element(',', ' ', 'a', ':')));
    auto value = *rc::gen::container<std::string>(rc::gen::element(',', ' ', 'a', ':', 'b'));
    std::string joined;
    for (const std::string& column : Split(separator, value)) {
      joined += column + separator;
    }
    joined.resize(joined.size() - separator.size());
    RC_ASSERT(joined == value);
  }));
  EXPECT_TRUE(rc::check("no separator breaks it", [] {
    auto separator = *rc::gen::container<std::string>(
        rc::gen::element('a', '[', ']', '\\', 's', '^', '-', ':', '(', ')', '*', '|', '?', '{'));
    Split(separator, "ab[]a\\s");
  }));
}

}  // namespace
}  // namespace spate::format
