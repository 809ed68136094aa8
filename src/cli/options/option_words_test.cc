#include "cli/options/option_words.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

using Words = std::vector<std::string>;

TEST(OptionWordsTest, SplitsAsAShellDoes) {
  const std::pair<const char*, Words> kCases[] = {
      {"", {}},
      {"-j 4 --tag", {"-j", "4", "--tag"}},
      {"  --name 'a b'\n# a comment\n--env X=\"1 2\" # another\n",
       {"--name", "a b", "--env", "X=1 2"}},
      {"--colsep '\\t' a\\ b ''", {"--colsep", "\\t", "a b", ""}},
      {"x#y '#'", {"x#y", "#"}},
      {"\"a\\\"b\"", {"a\"b"}},
  };
  for (const auto& [text, words] : kCases) EXPECT_EQ(SplitOptionWords(text).value(), words) << text;
  EXPECT_FALSE(SplitOptionWords("--name 'a"));
}

}  // namespace
}  // namespace spate::cli
