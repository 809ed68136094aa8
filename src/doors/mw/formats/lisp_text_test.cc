#include "doors/mw/formats/lisp_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace spate::mw {
namespace {

// Tokens as "(", ")", "s:TEXT" and "a:TEXT", one blank between them; or the error.
std::string Tokens(std::string_view text) {
  LispTokens tokens(text, "f");
  std::string all;
  while (true) {
    auto token = tokens.Next();
    if (!token) return token.error().message;
    switch (token->kind) {
      case LispToken::Kind::kOpen:
        all += " (";
        break;
      case LispToken::Kind::kClose:
        all += " )";
        break;
      case LispToken::Kind::kString:
        all += " s:" + token->text;
        break;
      case LispToken::Kind::kAtom:
        all += " a:" + token->text;
        break;
      case LispToken::Kind::kEnd:
        return all;
    }
  }
}

TEST(LispTextTest, Tokens) {
  struct Case {
    std::string_view text, tokens;
  };
  for (const Case& c : std::vector<Case>{
           {"", ""},
           {" \t\r\n\f\v", ""},
           {"; (", ""},
           {"; (\na", " a:a"},
           {"a;b", " a:a"},
           {"#| ( #| \" |# ; |# a", " a:a"},
           {"#||#a#|b",
            "f:1: the symbol in | | that begins here has no end; the file is cut off or "
            "damaged: copy it again, or let its master write the next one"},
           {"(a\"b\"c(d)e)", " ( a:a s:b a:c ( a:d ) a:e )"},
           {R"("a\"b\\c\d;(")", R"( s:a"b\cd;()"},
           {"\"a\nb\"", " s:a\nb"},
           {"'(a `(b ,c ,@d))", " ( a:a ( a:b a:c a:@d ) )"},
           {R"(#\( #\" #\; a\ b |c d)|e f)", R"( a:#\( a:#\" a:#\; a:a\ b a:|c d)|e a:f)"},
           {"#(1 2) #.(run) 1.5e3 :K", " a:# ( a:1 a:2 ) a:#. ( a:run ) a:1.5e3 a::K"},
           {"a\\", " a:a\\"},
       }) {
    EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
  }
}

TEST(LispTextTest, Errors) {
  std::string rest =
      "; the file is cut off or damaged: copy it again, or let its master write the next one";
  EXPECT_EQ(Tokens("a\n(b\n(c)\n"), "f:2: the list that begins here has no end" + rest);
  EXPECT_EQ(Tokens("a\n\n\"b\n\n"), "f:3: the string that begins here has no end" + rest);
  EXPECT_EQ(Tokens("\"b\\"), "f:1: the string that begins here has no end" + rest);
  EXPECT_EQ(Tokens("\n#| #| |#\n"), "f:2: the comment that begins here has no |#" + rest);
  EXPECT_EQ(Tokens("#|"), "f:1: the comment that begins here has no |#" + rest);
  EXPECT_EQ(Tokens("#|#"), "f:1: the comment that begins here has no |#" + rest);
  EXPECT_EQ(Tokens("(a)\n)"), "f:2: this ) has no ( before it: take it out");
  EXPECT_EQ(LispTokens("", "a\nb").Wrong(3, "x").error().message, "a\\nb:3: x");
}

TEST(LispTextTest, DepthIsBounded) {
  auto repeated = [](std::string_view text, size_t times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
  };
  EXPECT_EQ(Tokens(repeated("(", 64) + repeated(")", 64)).size(), 256u);
  EXPECT_TRUE(Tokens(repeated("(", 65) + repeated(")", 65))
                  .starts_with("f:1: lists are nested more than 64 deep: "));
  EXPECT_EQ(Tokens(repeated("#|", 64) + repeated("|#", 64)), "");
  EXPECT_TRUE(Tokens(repeated("#|", 65)).starts_with("f:1: more than 64 comments lie within"));
  // Closed lists no longer count.
  EXPECT_EQ(Tokens(repeated("()", 100000)).size(), 400000u);
}

TEST(LispTextTest, SkipTo) {
  LispTokens tokens("(a (b (c) d) e) f", "f");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(tokens.Next());
  EXPECT_EQ(tokens.depth(), 2u);
  ASSERT_TRUE(tokens.SkipTo(1));
  EXPECT_EQ(tokens.Next()->text, "e");
  ASSERT_TRUE(tokens.SkipTo(1));
  ASSERT_TRUE(tokens.SkipTo(0));
  EXPECT_EQ(tokens.Next()->text, "f");
  EXPECT_FALSE(LispTokens("", "f").depth());
}

TEST(LispTextTest, StringsAreReadAsTheyWereWritten) {
  EXPECT_EQ(LispString(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(LispString("a\nb\t"), "\"a\nb\t\"");
  EXPECT_TRUE(rc::check("any bytes", [](const std::string& bytes) {
    std::string text = LispString(bytes);
    LispTokens tokens(text, "f");
    auto token = tokens.Next();
    RC_ASSERT(token.has_value());
    RC_ASSERT(token->kind == LispToken::Kind::kString);
    RC_ASSERT(token->text == bytes);
    RC_ASSERT(tokens.Next()->kind == LispToken::Kind::kEnd);
  }));
}

TEST(LispTextTest, SymbolsHaveNoCase) {
  EXPECT_TRUE(SameSymbol(":Finished", ":FINISHED"));
  EXPECT_FALSE(SameSymbol(":finished", ":finishe"));
  EXPECT_FALSE(SameSymbol("[", "{"));
}

}  // namespace
}  // namespace spate::mw
