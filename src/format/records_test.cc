#include "format/records.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spate::format {
namespace {

using Blocks = std::vector<std::string>;

// Feeds in pieces of at most `piece` bytes. '|' in the result stands for a newline.
Blocks Cut(std::string_view text, const RecordRules& rules, size_t piece) {
  BlockCutter cutter(rules);
  Blocks blocks;
  auto take = [&] {
    while (true) {
      auto block = cutter.Next();
      if (!block) {
        blocks.push_back(block.error().message);
        return false;
      }
      if (!*block) return true;
      blocks.push_back(cutter.header() + **block);
      std::ranges::replace(blocks.back(), '\n', '|');
    }
  };
  while (!text.empty()) {
    size_t size = std::min({cutter.Room(), text.size(), piece});
    cutter.Feed(text.substr(0, size));
    text.remove_prefix(size);
    if (!take()) return blocks;
  }
  cutter.Finish();
  take();
  return blocks;
}

struct Case {
  std::string_view text;
  RecordRules rules;
  Blocks blocks;
};

// Blocks as GNU parallel 20221122 cuts them.
TEST(BlockCutterTest, CutsAsParallelDoes) {
  const Case kCases[] = {
      {"", {}, {}},
      {"a\nb\n", {}, {"a|b|"}},
      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n",
       {.block = 20},
       {"1|2|3|4|5|6|7|8|9|", "10|11|12|13|14|15|", "16|"}},
      {"1;2;3;4", {.end = ";", .block = 3}, {"1;", "2;", "3;", "4"}},
      {"1;2;3;4", {.end = ";", .records = 1}, {"1;", "2;", "3;", "4"}},
      {"1;2;3;4;5", {.end = ";", .records = 2}, {"1;2;", "3;4;", "5"}},
      {"ID 1\na\nID 2\nb\nID 3\n",
       {.start = "ID", .end = "", .block = 6},
       {"ID 1|a|", "ID 2|b|", "ID 3|"}},
      {"ID 1\na\nID 2\nb\nID 3\n",
       {.start = "ID", .end = "", .records = 1},
       {"ID 1|a|", "ID 2|b|", "ID 3|"}},
      {"a\nx\nb\nx\n", {.start = "x", .end = "\n", .records = 1}, {"a|", "x|b|", "x|"}},
      {"h\n1\n2\n3\n", {.records = 1, .header = true}, {"h|1|", "h|2|", "h|3|"}},
      {"h\n", {.header = true}, {}},
      {"abcdef", {.end = "", .block = 4}, {"abcd", "ef"}},
      {"no end", {.block = 2}, {"no end"}},
  };
  for (const Case& c : kCases) {
    for (size_t piece : {1000, 3, 1}) {
      EXPECT_EQ(Cut(c.text, c.rules, piece), c.blocks) << c.text << " by " << piece;
    }
  }
}

TEST(BlockCutterTest, ARecordHasABound) {
  Blocks blocks = Cut(std::string(100, 'x'), {.block = 8, .longest = 40}, 1000);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_NE(blocks[0].find("a record is longer than 40 bytes"), std::string::npos);
}

TEST(PartBordersTest, CutsAsParallelDoes) {
  std::string lines;
  for (int i = 1; i <= 30; ++i) lines += std::to_string(i) + "\n";
  auto borders = [](const std::string& text, const RecordRules& rules, uint64_t first) {
    return PartBorders(rules, first, text.size(),
                       [&](uint64_t at, size_t length) {
                         return Result<std::string>(text.substr(at, std::min<size_t>(length, 3)));
                       })
        .value();
  };
  using Borders = std::vector<uint64_t>;
  EXPECT_EQ(borders(lines, {.block = 20}, 0), (Borders{0, 21, 42, 63, 81}));
  EXPECT_EQ(borders(lines, {.block = 100}, 2), (Borders{2, 81}));
  EXPECT_EQ(borders("abcdef", {.end = "", .block = 4}, 0), (Borders{0, 4, 6}));
  EXPECT_EQ(borders("a--b--c", {.end = "--", .block = 2}, 0), (Borders{0, 6, 7}));
}

}  // namespace
}  // namespace spate::format
