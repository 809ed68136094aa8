#include "store/sqlite/json_words.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace spate::store {
namespace {

using Words = std::vector<std::string>;

TEST(JsonWords, Forms) {
  const std::pair<Words, std::string> cases[] = {
      {{}, "[]"},
      {{""}, R"([""])"},
      {{"a", "b c"}, R"(["a","b c"])"},
      {{"\"\\\n\t\x7f"}, R"(["\"\\\u000a\u0009\u007f"])"},
      {{"h\xc3\xa9"}, "[\"h\xc3\xa9\"]"},
      {{"\xff\xc3"}, R"(["\udcff\udcc3"])"},
      {{"\xed\xb3\xbf"}, R"(["\udced\udcb3\udcbf"])"},  // a surrogate as bytes is not UTF-8
  };
  for (const auto& [words, json] : cases) {
    EXPECT_EQ(ToJson(words), json);
    EXPECT_EQ(WordsFromJson(json), words) << json;
  }
  for (const Words& words : {Words(), Words{"a"}, Words{"null]"}}) {
    EXPECT_EQ(WordsFromJson(ToJson(words, /*cut=*/true)), words);
    EXPECT_TRUE(IsCut(ToJson(words, /*cut=*/true)));
    EXPECT_FALSE(IsCut(ToJson(words)));
  }
  EXPECT_EQ(WordsFromJson("[ \"a\" ,\n\"\\u00e9\\n\\/\" ]"), (Words{"a", "\xc3\xa9\n/"}));
}

TEST(JsonWords, WhatIsNoListOfStrings) {
  for (const char* json :
       {"", "[", "[1]", "[\"a\"", "[\"a\",]", "[\"\\x\"]", "[\"\\u12\"]", "[\"\\ud800\"]", "{}",
        "[]x", "null]", "[null", "[null,\"a\"]", "[null,null]"}) {
    EXPECT_EQ(WordsFromJson(json), std::nullopt) << json;
  }
}

TEST(JsonWords, AnyBytesComeBack) {
  EXPECT_TRUE(rc::check([](const Words& words) {
    auto back = WordsFromJson(ToJson(words));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == words);
  }));
  EXPECT_TRUE(rc::check([](const std::string& json) { (void)WordsFromJson(json); }));
}

}  // namespace
}  // namespace spate::store
