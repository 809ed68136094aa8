#include "present/table/table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "present/table/page.h"
#include "present/table/text_width.h"
#include "present/table/time_text.h"

namespace spate::present {
namespace {

std::string Print(std::vector<Column> columns, std::vector<std::vector<Cell>> rows, uint32_t width,
                  bool colour = false) {
  std::string text;
  Table table(std::move(columns), width, colour, [&](std::string_view line) { text += line; });
  for (auto& row : rows) table.Add(std::move(row));
  table.Finish();
  return text;
}

TEST(Table, NamesHaveAnEnd) {
  const std::string name(1000, 'n'), text(1000, 't');
  const std::vector<Column> columns = {
      {"NAME", Align::kLeft, 8}, {"N", Align::kRight}, {"NOTE", Align::kLeft, 8}};
  const std::string shown =
      Print(columns, {{{name}, {"1"}, {text}}, {{"a"}, {"2"}, {"b"}}}, kWholeWidth);
  const std::string cut = std::string(197, 'n') + "...", blanks(199, ' ');
  EXPECT_NE(shown.find("\n" + cut + "  1  " + text + "\n"), std::string::npos);
  EXPECT_NE(shown.find("\na" + blanks + "  2  b\n"), std::string::npos);
  // A name that comes after the widths are set is cut as well.
  std::vector<std::vector<Cell>> rows(600, {{"a"}, {"2"}, {"b"}});
  rows.push_back({{name}, {"1"}, {text}});
  EXPECT_NE(Print(columns, rows, kWholeWidth).find("\n" + cut + "  1  "), std::string::npos);
}

TEST(TextWidth, CountsColumns) {
  const std::pair<const char*, size_t> kCases[] = {
      {"", 0},       {"abc", 3},      {"äöü", 3}, {"日本語", 6},   {"e\xcc\x81", 1},
      {"한국어", 6}, {"\u200bab", 2}, {"😀", 2},  {"\u202eab", 2}, {"𝕏", 1}};
  for (const auto& [text, width] : kCases) EXPECT_EQ(DisplayWidth(text), width) << text;
}

TEST(TextWidth, Cuts) {
  EXPECT_EQ(CutToWidth("abc", 3), "abc");
  EXPECT_EQ(CutToWidth("abcdef", 5), "ab...");
  EXPECT_EQ(CutToWidth("日本語日本語", 8), "日本...");
  EXPECT_EQ(CutToWidth("日本語日本語", 3), "日");
  EXPECT_EQ(CutToWidth("abc", 0), "");
}

TEST(TextWidth, Wraps) {
  EXPECT_EQ(WrapToWidth("aa bb cc", 80, 2), "aa bb cc");
  EXPECT_EQ(WrapToWidth("aa bb cc dd", 5, 2), "aa bb\n  cc\n  dd");
  EXPECT_EQ(WrapToWidth("aaaaaaaaa b", 4, 1), "aaaa\n aaa\n aa\n b");
  EXPECT_EQ(WrapToWidth("日本語", 4, 0), "日本\n語");
  EXPECT_EQ(WrapToWidth("", 4, 0), "");
  EXPECT_EQ(WrapToWidth("日", 1, 0), "日");
}

TEST(TextWidth, WrapsMessages) {
  EXPECT_EQ(WrapMessage("spate: no such job; try another", 20), "spate: no such job;\ntry another");
  EXPECT_EQ(WrapMessage("a line of 20 columns\nand the next line\n", 20),
            "a line of 20 columns\nand the next line\n");
  EXPECT_EQ(WrapMessage("a word/that/has/no/blanks/in/it is whole", 20),
            "a\nword/that/has/no/blanks/in/it\nis whole");
  EXPECT_EQ(WrapMessage("to retry: spate job retry --state /s 12; or wait for it", 20),
            "to retry:\nspate job retry --state /s 12;\nor wait for it");
  EXPECT_EQ(WrapMessage("use a pool (spate pool add) or a node", 20),
            "use a pool\n(spate pool add) or\na node");
  EXPECT_EQ(WrapMessage("  task 1: failed", 20), "  task 1: failed");
  EXPECT_EQ(WrapMessage("a narrow place is left alone", 19), "a narrow place is left alone");
}

TEST(Table, TakesRowsOfAnyLength) {
  const std::vector<Column> columns = {{"ID", Align::kRight}, {"NAME"}, {"STATE"}};
  EXPECT_EQ(Print(columns, {{{"1"}, {"a"}}, {}, {{"3"}, {"c"}, {"ok"}, {"more"}}}, 80),
            "ID  NAME  STATE\n"
            " 1  a\n"
            "\n"
            " 3  c     ok\n");
}

TEST(Table, AlignsAndFits) {
  std::vector<Column> columns = {
      {"ID", Align::kRight}, {"NAME", Align::kLeft, 6}, {"STATE"}, {"COMMAND", Align::kLeft, 4}};
  EXPECT_EQ(
      Print(columns, {{{"1"}, {"one"}, {"ok"}, {"true"}}, {{"12"}, {"two"}, {""}, {"a"}}}, 80),
      "ID  NAME  STATE  COMMAND\n"
      " 1  one   ok     true\n"
      "12  two          a\n");
  EXPECT_EQ(Print(columns, {{{"1"}, {"a long name it is"}, {"running"}, {"sleep 1000000000"}}}, 36),
            "ID  NAME        STATE    COMMAND\n"
            " 1  a long ...  running  sleep 10...\n");
  EXPECT_EQ(Print(columns, {}, 36), "");
}

TEST(Table, NoLineIsWiderWhateverIsInIt) {
  std::vector<Column> columns = {{"ID", Align::kRight},
                                 {"NAME", Align::kLeft, 3},
                                 {"N", Align::kRight},
                                 {"C", Align::kLeft, 3}};
  std::vector<std::vector<Cell>> rows;
  for (int i = 0; i < 700; ++i) {
    rows.push_back(
        {{std::to_string(i)},
         {i % 3 ? "日本語の名前はとても長い" : "x\x1b[31m\x01\xff" + std::string(90, 'y')},
         {std::string(i == 600 ? 40 : 1, '9')},
         {std::string(static_cast<size_t>(i), 'c')}});
  }
  std::string text = Print(columns, rows, 40);
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    EXPECT_LE(DisplayWidth(line), 40u) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    at = end + 1;
  }
  EXPECT_EQ(lines, 701u);
}

TEST(Table, WithoutAWidthOnlyNamesAreCut) {
  std::vector<Column> columns = {{"NAME", Align::kLeft, 3}, {"N", Align::kRight}, {"C"}};
  std::string first(200, 'n'), later(20'000, 'm');
  std::vector<std::vector<Cell>> rows(600, {{first}, {"1"}, {"c"}});
  rows.push_back({{later}, {"2"}, {later}});
  std::string text = Print(columns, rows, kWholeWidth);
  EXPECT_TRUE(text.starts_with("NAME" + std::string(first.size() - 4, ' ') + "  N  C\n" + first +
                               "  1  c\n"));
  const std::string cut = std::string(197, 'm') + "...";
  EXPECT_TRUE(text.ends_with("\n" + cut + "  2  " + later + "\n"));
}

TEST(Table, ColoursOnlyWhereAsked) {
  std::vector<Column> columns = {{"STATE"}, {"X"}};
  std::vector<std::vector<Cell>> rows = {{{"failed", Tone::kBad}, {"1"}}};
  EXPECT_EQ(Print(columns, rows, 80), "STATE   X\nfailed  1\n");
  EXPECT_EQ(Print(columns, rows, 80, true), "STATE   X\n\x1b[31mfailed\x1b[0m  1\n");
}

TEST(Page, WrapsAndEscapes) {
  std::string text;
  Page page(30, [&](std::string_view line) { text += line; });
  page.Title("job 1 with a name that is\x1blong");
  page.Field("folder", "/home");
  page.Field("nothing", "");
  page.Field("command", "spate run a list of things.txt");
  page.Field("path", "/a/very/long/path/without/blanks");
  page.Command("next", "spate run --resume 'not broken'");
  EXPECT_EQ(text,
            "job 1 with a name that\n"
            "  is\\x1blong\n"
            "  folder     /home\n"
            "  command    spate run a list\n"
            "             of things.txt\n"
            "  path       /a/very/long/path\n"
            "             /without/blanks\n"
            "  next       spate run --resume 'not broken'\n");
}

TEST(TimeText, Forms) {
  setenv("TZ", "UTC0", 1);
  tzset();
  Instant when{1'600'000'000'123'456'789};
  EXPECT_EQ(DateAndTime(when), "2020-09-13 12:26:40");
  EXPECT_EQ(DateAndMinute(when), "2020-09-13 12:26");
  const std::pair<int64_t, const char*> kCases[] = {
      {0, "0s ago"},     {59, "59s ago"},      {60, "1m ago"},     {7199, "1h ago"},
      {86400, "1d ago"}, {2591999, "29d ago"}, {-5, "2020-09-13"}, {2592000, "2020-09-13"}};
  for (const auto& [seconds, text] : kCases) {
    EXPECT_EQ(TimeAgo(when, when + Duration::Seconds(seconds)), text) << seconds;
  }
}

}  // namespace
}  // namespace spate::present
