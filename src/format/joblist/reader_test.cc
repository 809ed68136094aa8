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

TEST(JobListReader, EndsAtTheLineThatItsCallerNames) {
  const std::string_view text = "a\n# END\nb END\n END \r\nc \\\n{check\nEND\n#!x \\";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    JobListReader reader("END ");
    std::vector<std::string> rows;
    auto take = [&] {
      while (auto entry = reader.Next()) rows.emplace_back(entry->row);
    };
    reader.Feed(text.substr(0, cut));
    take();
    EXPECT_EQ(reader.ended(), cut >= 21) << cut;
    reader.Feed(text.substr(cut));
    take();
    reader.Finish();
    take();
    EXPECT_EQ(rows, (std::vector<std::string>{"a", "b END"})) << cut;
    EXPECT_TRUE(reader.ended());
  }
  // A comment may be that line, and so may a last one without its newline.
  JobListReader reader("# done");
  reader.Feed("a\n# done");
  EXPECT_EQ(reader.Next()->row, "a");
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.ended());
  reader.Finish();
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ended());
}

TEST(JobListReader, TellsThatItMayHaveEnded) {
  for (auto [text, may] : {std::pair{"a\nEND", true},
                           {"END", true},
                           {"a\n", false},
                           {"", false},
                           {"a\nEN", false},
                           {"a\nEND of b", false},
                           {"a \\\nEND", false}}) {
    for (size_t cut = 0; cut <= std::string_view(text).size(); ++cut) {
      JobListReader reader("END");
      for (std::string_view piece :
           {std::string_view(text).substr(0, cut), std::string_view(text).substr(cut)}) {
        reader.Feed(piece);
        while (reader.Next()) {
        }
      }
      EXPECT_EQ(reader.may_have_ended(), may) << text << " cut at " << cut;
    }
  }
  JobListReader endless;
  EXPECT_FALSE(endless.may_have_ended());
}

// The entries, each as "LINE:ROW" or "LINE!ERROR", of the text cut before each of `cuts`.
std::vector<std::string> Entries(std::string_view text, const std::vector<size_t>& cuts = {}) {
  JobListReader reader;
  std::vector<std::string> seen;
  auto take = [&] {
    while (auto entry = reader.Next()) {
      seen.push_back(std::to_string(entry->line) + (entry->parsed
                                                        ? ":" + std::string(entry->row)
                                                        : "!" + entry->parsed.error().message));
    }
  };
  size_t from = 0;
  for (size_t cut : cuts) {
    std::string piece(text.substr(from, cut - from));
    reader.Feed(piece);
    take();
    from = cut;
  }
  std::string piece(text.substr(from));
  reader.Feed(piece);
  take();
  reader.Finish();
  take();
  take();
  return seen;
}

TEST(JobListReader, JoinsALineThatContinues) {
  constexpr std::string_view kNoMore =
      "the command ends in a backslash, but the list has no line after it; write the rest of the "
      "command, or remove the backslash";
  struct Case {
    std::string_view text;
    std::vector<std::string> entries;
  };
  for (const Case& c :
       std::vector<Case>{{"sort in \\\n  > out\nb\n", {"1:sort in   > out", "3:b"}},
                         {"rm -r \\\r\n  build\r\nb", {"1:rm -r   build", "3:b"}},
                         {"a\\\nb\\\nc\nd", {"1:abc", "4:d"}},
                         {"# c\n\na \\\n\nb", {"3:a", "5:b"}},
                         {"\\\n\\\na\nb", {"1:a", "4:b"}},
                         {"\\\n\nb", {"3:b"}},
                         // An even number is as many halves, and a blank behind one is no end.
                         {"a \\\\\nb", {"1:a \\\\", "2:b"}},
                         {"a \\\\\\\nb", {"1:a \\\\b"}},
                         {"a \\ \nb", {"1:a \\ ", "2:b"}},
                         // Comments do not continue, text with a # does.
                         {"# a \\\nb", {"2:b"}},
                         {"\\\n# a \\\nb", {"3:b"}},
                         {"a # b \\\nc", {"1:a # b \\", "2:c"}},
                         {"a \\\n# b \\\nc", {"1:a # b \\", "3:c"}},
                         {"a '#' \\\nb#c \\\nd", {"1:a '#' b#c d"}},
                         {"echo 'a \\\n# b'", {"1:echo 'a # b'"}},
                         {"a {check in \\\nexists f} {use \\\ncpu 2}\nb",
                          {"1:a {check in exists f} {use cpu 2}", "4:b"}},
                         {"a \\", {"1!" + std::string(kNoMore)}},
                         {"a\nb \\\nc \\\n", {"1:a", "2!" + std::string(kNoMore)}},
                         {"\\\n", {"1!" + std::string(kNoMore)}}}) {
    EXPECT_EQ(Entries(c.text), c.entries) << c.text;
    std::vector<size_t> all;
    for (size_t cut = 0; cut <= c.text.size(); ++cut) {
      EXPECT_EQ(Entries(c.text, {cut}), c.entries) << c.text << " cut at " << cut;
      all.push_back(cut);
    }
    EXPECT_EQ(Entries(c.text, all), c.entries) << c.text << " byte by byte";
  }
}

TEST(JobListReader, RefusesACommandThatContinuesForEver) {
  std::string text;
  const std::string line(1000, 'x');
  for (int i = 0; i < 1632; ++i) text += line + "\\\n";
  auto entries = Entries(text + "last");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].starts_with("1!the line is longer than 1,63")) << entries[0];
  EXPECT_EQ(entries[1], "1633:last");
}

TEST(JobListReader, RefusesInstructionsOfDisBatch) {
  for (const char* text : {"#DISBATCH PREFIX cd x;", "#DISBATCH SUFFIX", "#DISBATCH REPEAT 5 a",
                           "#DISBATCH BARRIER"}) {
    const std::string line = text;
    JobListReader reader;
    const std::string list = "# DISBATCH, #DISBATCH\n#DISBATCHES\n" + line + "\nb\n";
    reader.Feed(list);
    reader.Finish();
    auto entry = reader.Next();
    ASSERT_TRUE(entry && !entry->parsed) << line;
    EXPECT_EQ(entry->line, 3u);
    const std::string named = "'" + line.substr(0, line.find(' ', 10)) + "' is an instruction";
    EXPECT_TRUE(entry->parsed.error().message.starts_with(named)) << entry->parsed.error().message;
    EXPECT_TRUE(reader.Next()->parsed);
  }
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
