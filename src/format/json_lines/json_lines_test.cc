#include "format/json_lines/json_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace spate::format {
namespace {

// Names, then rows with | between values; or the error's message.
std::string Shown(std::string_view text) {
  auto lines = ParseJsonLines(text);
  if (!lines) return lines.error().message;
  std::string shown;
  for (const std::string& name : lines->names) shown += name + " ";
  for (std::string row : lines->rows) {
    std::ranges::replace(row, '\0', '|');
    shown += "[" + row + "]";
  }
  return shown;
}

TEST(JsonLines, Rows) {
  struct {
    const char* text;
    const char* shown;
  } const kTable[] = {
      {"", ""},
      {"\n \r\n", ""},
      {R"({"name":"a b","size":3})", "name size [a b|3]"},
      {"\xEF\xBB\xBF{\"a\":\"x\"}\r\n\n{\"a\":\"y\"}\n", "a [x][y]"},
      {"{\"a\":1,\"b\":2}\n{\"b\":\"B\",\"a\":\"A\"}", "a b [1|2][A|B]"},
      {R"({"a":"\u00e9\n'\"","b":""})", "a b [\xc3\xa9\n'\"|]"},
      {R"({"a":true,"b":false,"c":null})", "a b c [true|false|]"},
      {R"({"a":-7,"b":1.50,"c":1E5,"d":-0,"e":123456789012345678901234567890})",
       "a b c d e [-7|1.50|1E5|-0|123456789012345678901234567890]"},
  };
  for (const auto& row : kTable) EXPECT_EQ(Shown(row.text), row.shown) << row.text;
}

TEST(JsonLines, WhatIsRefused) {
  struct {
    const char* text;
    const char* error;
  } const kTable[] = {
      {"{\"a\":1}\n\n{\"a\":", "line 3: it is not valid JSON at column"},
      {"{\"a\":1} x", "line 1: it is not valid JSON at column"},
      {"{\"a\":\"\xff\"}", "line 1: it is not valid JSON at column"},
      {"name,size\n", "line 1: it is not valid JSON at column"},
      {"3", "line 1: it is not an object"},
      {"[1]", "line 1: it is not an object"},
      {"{}", "line 1: it has no keys"},
      {R"({"a":{"b":1}})", "line 1: the value of 'a' is nested; make it a text"},
      {R"({"a":[[[[]]]]})", "line 1: the value of 'a' is nested"},
      {R"({"a":1,"a":2})", "line 1: the key 'a' occurs twice"},
      {R"({"":1})", "line 1: a key is empty"},
      {R"({"a":"\u0000"})", "line 1: the text of 'a' contains a NUL character"},
      {"{\"a\":1,\"b\":2}\n{\"a\":1}", "line 2: the key 'b' is missing, which the first line has"},
      {"{\"a\":1}\n{\"a\":1,\"b\":2}", "line 2: the key 'b' is not in the first line"},
  };
  for (const auto& row : kTable) {
    std::string shown = Shown(row.text);
    EXPECT_TRUE(shown.starts_with(row.error)) << row.text << "\n" << shown;
  }
}

}  // namespace
}  // namespace spate::format
