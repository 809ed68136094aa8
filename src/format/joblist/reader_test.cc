#include "format/joblist/reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace spate::format {
namespace {

struct Seen {
  uint64_t number;
  std::string text;
  bool cut;
  friend bool operator==(const Seen&, const Seen&) = default;
};

void Take(LineSplitter& splitter, std::vector<Seen>& seen) {
  while (auto line = splitter.Next()) {
    seen.push_back({line->number, std::string(line->text), line->cut});
  }
}

// The text fed whole, or cut before each of `cuts` (ascending).
std::vector<Seen> Split(std::string_view text, size_t limit, const std::vector<size_t>& cuts = {}) {
  LineSplitter splitter(limit);
  std::vector<Seen> seen;
  size_t from = 0;
  for (size_t cut : cuts) {
    // A piece of its own, gone when the next one comes: nothing may look into it later.
    std::string piece(text.substr(from, cut - from));
    splitter.Feed(piece);
    Take(splitter, seen);
    from = cut;
  }
  std::string piece(text.substr(from));
  splitter.Feed(piece);
  Take(splitter, seen);
  splitter.Finish();
  Take(splitter, seen);
  return seen;
}

TEST(LineSplitter, Lines) {
  struct Case {
    std::string_view text;
    std::vector<Seen> lines;
  };
  for (const Case& c :
       std::vector<Case>{{"", {}},
                         {"\n", {{1, "", false}}},
                         {"a", {{1, "a", false}}},
                         {"a\nb", {{1, "a", false}, {2, "b", false}}},
                         {"a\r\n\r\nb\r", {{1, "a", false}, {2, "", false}, {3, "b", false}}},
                         {"a\rb\n", {{1, "a\rb", false}}},
                         {"\xEF\xBB\xBF"
                          "a\n\xEF\xBB\xBF"
                          "b",
                          {{1, "a", false},
                           {2,
                            "\xEF\xBB\xBF"
                            "b",
                            false}}},
                         {"\xEF\xBB\xBF", {{1, "", false}}},
                         {"12345678\n123456789\nx",
                          {{1, "12345678", false}, {2, "12345678", true}, {3, "x", false}}},
                         {"\xEF\xBB\xBF"
                          "12345678",
                          {{1, "12345678", false}}},
                         {"\xEF\xBB\xBF"
                          "123456789",
                          {{1, "12345678", true}}},
                         {"1234567890123", {{1, "12345678", true}}}}) {
    EXPECT_EQ(Split(c.text, 8), c.lines) << c.text;
    for (size_t cut = 0; cut <= c.text.size(); ++cut) {
      EXPECT_EQ(Split(c.text, 8, {cut}), c.lines) << c.text << " cut at " << cut;
    }
    std::vector<size_t> all;
    for (size_t cut = 0; cut <= c.text.size(); ++cut) all.push_back(cut);
    EXPECT_EQ(Split(c.text, 8, all), c.lines) << c.text << " byte by byte";
  }
}

TEST(LineSplitter, CutsDoNotMatter) {
  EXPECT_TRUE(rc::check("any text cut anywhere gives the same lines", [] {
    auto text = *rc::gen::container<std::string>(
        rc::gen::element('a', 'b', '\r', '\n', '\n', '\xEF', '\xBB', '\xBF', ' '));
    auto cuts =
        *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, text.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    RC_ASSERT(Split(text, 5, cuts) == Split(text, 5));
  }));
}

TEST(JobListReader, SkipsCommentsAndBlankLinesAndCountsThem) {
  JobListReader reader;
  reader.Feed("# jobs\n\n  # more\n a {use cpu 2} \r\nb {check\n\t\nc # d");
  reader.Finish();
  auto entry = reader.Next();
  ASSERT_TRUE(entry && entry->parsed);
  EXPECT_EQ(entry->line, 4u);
  EXPECT_EQ(entry->row, "a {use cpu 2}");
  EXPECT_EQ(*entry->parsed, (ListLine{.command = "a", .milli_cpus = 2000}));
  entry = reader.Next();
  ASSERT_TRUE(entry && !entry->parsed);
  EXPECT_EQ(entry->line, 5u);
  entry = reader.Next();
  ASSERT_TRUE(entry && entry->parsed);
  EXPECT_EQ(entry->line, 7u);
  EXPECT_EQ(entry->parsed->command, "c # d");
  EXPECT_FALSE(reader.Next());
}

TEST(JobListReader, RefusesAnEndlessLineAndGoesOn) {
  JobListReader reader;
  std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) {
    reader.Feed(megabyte);
    EXPECT_FALSE(reader.Next());
  }
  reader.Feed("\nlast");
  auto entry = reader.Next();
  ASSERT_TRUE(entry && !entry->parsed);
  EXPECT_EQ(entry->line, 1u);
  EXPECT_EQ(entry->parsed.error().message,
            "the line is longer than 1,631,071 bytes, which is too long for a command; put the "
            "command into a script and call that (or is this not a list of commands?)");
  EXPECT_FALSE(reader.Next());
  reader.Finish();
  entry = reader.Next();
  ASSERT_TRUE(entry && entry->parsed);
  EXPECT_EQ(entry->parsed->command, "last");
}

}  // namespace
}  // namespace spate::format
