#include "format/sources/sources.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace spate::format {
namespace {

using Words = std::vector<std::string>;
using Rows = std::vector<std::string>;

// The rows with | between values; an error's message ends them.
Rows RowsOf(const std::vector<std::pair<Words, bool>>& sources, RowRules rules) {
  std::vector<SourceValues> values;
  for (const auto& [words, linked] : sources) {
    values.push_back({.values = {words.begin(), words.end()}, .linked = linked});
  }
  auto generator = RowGenerator::Make(std::move(values), std::move(rules));
  if (!generator) return {generator.error().message};
  auto expected = generator->row_count();
  Rows rows;
  std::string row;
  while (true) {
    auto more = generator->Next(&row);
    if (!more) {
      rows.push_back(more.error().message);
      return rows;
    }
    if (!*more) break;
    std::ranges::replace(row, '\0', '|');
    rows.push_back(row);
  }
  EXPECT_EQ(expected.value_or(rows.size()), rows.size());
  auto again = generator->Next(&row);
  EXPECT_TRUE(again && !*again);
  return rows;
}

TEST(ParseCommandWords, CommandAndSources) {
  auto parsed = ParseCommandWords(
      Words{"gzip", "{}", ":::", "a", "b", "::::", "f", "-", ":::+", "", "::::+", "g"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->command, Words({"gzip", "{}"}));
  EXPECT_EQ(parsed->sources,
            std::vector<SourceWords>({{.values = {"a", "b"}},
                                      {.is_file = true, .file = "f"},
                                      {.is_file = true, .file = "-"},
                                      {.linked = true, .values = {""}},
                                      {.is_file = true, .linked = true, .file = "g"}}));
  parsed = ParseCommandWords(Words{"echo", "a:::b", ":::::", "::"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->command.size(), 4u);
  EXPECT_TRUE(parsed->sources.empty());
  EXPECT_TRUE(ParseCommandWords({}));
}

TEST(ParseCommandWords, Errors) {
  const std::string values = " without values: write them after it, as in `-- gzip {} ";
  const std::string values_end =
      " a b c`; values in a file come with ::::, values from standard input without any :::";
  struct Case {
    Words words;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {{"a", ":::"}, ":::" + values + ":::" + values_end},
           {{"a", ":::", "::::", "f"}, ":::" + values + ":::" + values_end},
           {{"a", ":::", "x", ":::+"}, ":::+" + values + ":::+" + values_end},
           {{"a", "::::"},
            ":::: without a file: name the files of values after it (- is standard input), as in "
            "`-- gzip {} :::: names.txt`"}}) {
    auto parsed = ParseCommandWords(c.words);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message, c.message);
  }
}

TEST(SplitValues, LinesAndNulBytes) {
  using namespace std::literals;
  struct Case {
    std::string text;
    bool null_separated;
    Words values;
  };
  for (const Case& c : std::vector<Case>{{"", false, {}},
                                         {"\n", false, {""}},
                                         {"a\n b \n\nc", false, {"a", " b ", "", "c"}},
                                         {"a\r\nb\r", false, {"a", "b"}},
                                         {"\xEF\xBB\xBF"
                                          "a\n",
                                          false,
                                          {"a"}},
                                         {"a\0b\nc\0\0"s, true, {"a", "b\nc", ""}},
                                         {"a\r\0b"s, true, {"a\r", "b"}},
                                         {"# a\n", false, {"# a"}}}) {
    auto values = SplitValues(c.text, c.null_separated);
    ASSERT_TRUE(values);
    EXPECT_EQ(Words(values->begin(), values->end()), c.values) << c.text;
  }
  auto values = SplitValues("a\nb\0c"s, false);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().message,
            "line 2 contains a NUL byte, which is not allowed in values; use -0 if the values end "
            "in NUL bytes, as with `find -print0`");
}

TEST(RowGenerator, Combinations) {
  struct Case {
    std::vector<std::pair<Words, bool>> sources;
    Rows rows;
  };
  for (const Case& c :
       std::vector<Case>{{{{{"a", "b"}, false}}, {"a", "b"}},
                         {{{{"a", "b"}, false}, {{"1", "2", "3"}, false}},
                          {"a|1", "a|2", "a|3", "b|1", "b|2", "b|3"}},
                         {{{{"a", "b"}, false}, {{"1"}, false}, {{"x", "y"}, false}},
                          {"a|1|x", "a|1|y", "b|1|x", "b|1|y"}},
                         {{{{"a", "b", "c"}, false}, {{"1", "2"}, true}}, {"a|1", "b|2"}},
                         {{{{"a", "b"}, true}, {{"1", "2", "3"}, true}, {{"x", "y"}, false}},
                          {"a|1|x", "a|1|y", "b|2|x", "b|2|y"}},
                         {{{{"x", "y"}, false}, {{"a", "b"}, false}, {{"1", "2"}, true}},
                          {"x|a|1", "x|b|2", "y|a|1", "y|b|2"}},
                         {{{{"a", "b"}, false}, {{}, false}}, {}},
                         {{{{"a", "b"}, false}, {{}, true}}, {}},
                         {{{{""}, false}}, {""}},
                         {{}, {}}}) {
    EXPECT_EQ(RowsOf(c.sources, {}), c.rows);
  }
}

TEST(RowGenerator, SeveralInARow) {
  const std::vector<std::pair<Words, bool>> five = {{{"1", "2", "3", "4", "5"}, false}};
  EXPECT_EQ(RowsOf(five, {.max_records = 2}), Rows({"1|2", "3|4", "5"}));
  EXPECT_EQ(RowsOf(five, {.max_records = 9}), Rows({"1|2|3|4|5"}));
  EXPECT_EQ(RowsOf({{{"a", "b"}, false}, {{"1", "2"}, false}}, {.max_records = 3}),
            Rows({"a|1|a|2|b|1", "b|2"}));
}

TEST(RowGenerator, FillsAndSpreads) {
  Words ten;
  for (int i = 0; i < 10; ++i) ten.push_back(std::to_string(i));
  struct Case {
    uint32_t max_records, slots;
    size_t bytes;  // what fits
    Rows rows;
  };
  for (const Case& c :
       std::vector<Case>{{0, 4, 100, {"0|1|2", "3|4|5", "6|7|8", "9"}},
                         {0, 1, 100, {"0|1|2|3|4|5|6|7|8|9"}},
                         {0, 2, 15, {"0|1|2|3|4|5|6|7", "8", "9"}},
                         {0, 1, 1, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
                         {4, 2, 100, {"0|1|2|3", "4|5|6|7", "8", "9"}},
                         {5, 4, 100, {"0|1|2|3|4", "5|6", "7|8", "9"}},
                         {0, 20, 100, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}}) {
    EXPECT_EQ(RowsOf({{ten, false}},
                     {.max_records = c.max_records,
                      .fill = true,
                      .slots = c.slots,
                      .fits = [&](std::string_view row) { return row.size() <= c.bytes; }}),
              c.rows);
  }
  EXPECT_EQ(RowsOf({{{"a", "long", "b"}, false}},
                   {.fill = true, .fits = [](std::string_view row) { return row.size() <= 3; }}),
            Rows({"a",
                  "the command is too long to start, even with the single value 'long'; pass the "
                  "value in a file"}));
}

TEST(RowGenerator, ColumnsTrimAndHeader) {
  const Words table = {" a , b ", "c", "", ",,"};
  EXPECT_EQ(RowsOf({{table, false}}, {.colsep = ","}), Rows({"a|b", "c", "", "||"}));
  EXPECT_EQ(RowsOf({{table, false}}, {.colsep = ",", .trim = Trim::kNone})[0], " a | b ");
  EXPECT_EQ(RowsOf({{table, false}}, {.trim = Trim::kLeft})[0], "a , b ");
  EXPECT_EQ(RowsOf({{table, false}}, {.trim = Trim::kRight})[0], " a , b");
  EXPECT_EQ(RowsOf({{{"a,b", "c"}, false}, {{"1,2"}, false}}, {.colsep = ","}),
            Rows({"a|b|1|2", "c|1|2"}));
  EXPECT_EQ(
      RowsOf({{{"x,y", "1,2"}, false}, {{"z", "5", "6"}, false}}, {.colsep = ",", .header = true}),
      Rows({"1|2|5", "1|2|6"}));
  EXPECT_EQ(RowsOf({{{"x"}, false}, {{}, false}}, {.header = true}),
            Rows({"--header : uses the first value of each source as its name, but source 2 has "
                  "none; add a first line, or leave out --header"}));
  EXPECT_EQ(RowsOf({{{"x"}, false}}, {.colsep = "("}).size(), 1u);
  const Words names = {" x, y ", "1"};
  auto generator = RowGenerator::Make({{.values = {names.begin(), names.end()}}},
                                      {.colsep = ",", .header = true});
  ASSERT_TRUE(generator);
  EXPECT_EQ(generator->names(), Words({"x", "y"}));
}

TEST(RowGenerator, ValuesPerRow) {
  auto count = [](size_t sources, RowRules rules) {
    std::vector<SourceValues> values(sources);
    return RowGenerator::Make(std::move(values), std::move(rules))->values_per_row();
  };
  EXPECT_EQ(count(2, {}), 2u);
  EXPECT_EQ(count(2, {.max_records = 3}), 6u);
  EXPECT_EQ(count(2, {.colsep = ","}), std::nullopt);
  EXPECT_EQ(count(2, {.fill = true}), std::nullopt);
}

TEST(RowGenerator, CountsWithoutMaking) {
  std::vector<std::string_view> thousand(1000, "v");
  std::vector<SourceValues> sources(8, SourceValues{.values = thousand});
  auto generator = RowGenerator::Make(sources, {});
  EXPECT_EQ(generator->row_count(), uint64_t{1} << 63) << "10^24, bounded";
  sources.resize(6);
  generator = RowGenerator::Make(sources, {.max_records = 3});
  EXPECT_EQ(generator->row_count(), 333'333'333'333'333'334u);
  std::string row;
  EXPECT_TRUE(generator->Next(&row).value());
}

TEST(RowGenerator, AnyRules) {
  EXPECT_TRUE(rc::check("filled rows hold all values in order and keep the bounds", [] {
    auto words =
        *rc::gen::container<Words>(rc::gen::container<std::string>(rc::gen::element('a', 'b')));
    auto bytes = *rc::gen::inRange<size_t>(1, 40);
    auto slots = *rc::gen::inRange<uint32_t>(1, 9);
    auto most = *rc::gen::inRange<uint32_t>(0, 6);
    std::erase_if(words, [&](const std::string& word) { return word.size() > bytes; });
    Rows rows = RowsOf(
        {{words, false}},
        {.max_records = most, .fill = true, .slots = slots, .fits = [&](std::string_view row) {
           return row.size() <= bytes;
         }});
    std::string all;
    std::string joined;
    for (const std::string& word : words) all += word + "|";
    for (const std::string& row : rows) {
      RC_ASSERT(row.size() <= bytes);
      RC_ASSERT(most == 0 || std::ranges::count(row, '|') < static_cast<ptrdiff_t>(most));
      joined += row + "|";
    }
    RC_ASSERT(joined == all);
  }));
}

TEST(Sources, ColumnsWithNamesStandBeforeOthers) {
  using namespace std::string_view_literals;
  std::vector<SourceValues> sources = {
      {.values = {"a ,\0x"sv, "b\0y"sv}, .names = {"name", "kind"}},
      {.values = {"n,m", "1, 2", "3,4"}}};
  auto generator = RowGenerator::Make(sources, {.colsep = ",", .header = true});
  ASSERT_TRUE(generator) << generator.error().message;
  EXPECT_EQ(generator->names(), (Words{"name", "kind", "n", "m"}));
  EXPECT_EQ(generator->row_count(), 4u);
  std::string row;
  ASSERT_TRUE(*generator->Next(&row));
  std::ranges::replace(row, '\0', '|');
  EXPECT_EQ(row, "a ,|x|1|2");
  sources[1].values = {"1", "2"};
  generator = RowGenerator::Make(sources, {});
  EXPECT_EQ(generator->values_per_record(), 3u);
}

}  // namespace
}  // namespace spate::format
