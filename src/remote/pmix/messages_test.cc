#include "remote/pmix/messages.h"

#include <gtest/gtest.h>

namespace spate::remote {
namespace {

TEST(PmixMessages, AMessageIsWordsAndABody) {
  const std::string text = FormatPmix("fence 0-3", "a\nb");
  EXPECT_EQ(text, "fence 0-3 3\na\nb");
  EXPECT_EQ(SizeOfPmix(text + "next").value_or(0), text.size());
  EXPECT_EQ(SizeOfPmix("fence 0-3 3\n").value_or(0), text.size());
  EXPECT_EQ(SizeOfPmix("fence 0-3 3").value_or(1), 0u);
  const PmixMessage message = ReadPmix(text);
  EXPECT_EQ(message.words, (std::vector<std::string_view>{"fence", "0-3"}));
  EXPECT_EQ(message.body, "a\nb");
}

TEST(PmixMessages, WhatIsNoMessageIsFound) {
  for (const char* text : {"\n", "fence\n", "fence x\n", "fence 1 -1\n", "fence 1 268435457\n",
                           "fence 1 99999999999999999999\n", "3\n"}) {
    EXPECT_FALSE(SizeOfPmix(text)) << text;
  }
  EXPECT_FALSE(SizeOfPmix(std::string(1 << 20, 'x')));
  EXPECT_TRUE(SizeOfPmix(std::string((1 << 20) - 1, 'x')));
}

TEST(PmixMessages, SetsOfRanks) {
  const struct {
    std::vector<uint32_t> ranks;
    const char* text;
  } sets[] = {{{0}, "0"}, {{0, 1, 2, 3}, "0-3"}, {{0, 2, 3, 7}, "0,2-3,7"}};
  for (const auto& set : sets) {
    EXPECT_EQ(FormatRanks(set.ranks), set.text);
    auto ranges = ParseRanks(set.text, 8);
    ASSERT_TRUE(ranges) << set.text;
    std::vector<uint32_t> ranks;
    for (const RankRange& range : *ranges) {
      for (uint32_t rank = range.first; rank <= range.last; ++rank) ranks.push_back(rank);
    }
    EXPECT_EQ(ranks, set.ranks);
  }
  for (const char* text : {"", "x", "8", "0-8", "3-2", "1,1", "2,1", "0-1,1", "1-", "-1", "1,,2"}) {
    EXPECT_FALSE(ParseRanks(text, 8)) << text;
  }
}

}  // namespace
}  // namespace spate::remote
