#include "doors/parasol/formats/gensub.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

using Items = std::vector<std::string_view>;

std::string Made(std::string_view text, const Items& first, const Items& second,
                 GensubOrder order = GensubOrder::kDiagonal) {
  auto made_of = GensubTemplate::Parse(text, "template");
  if (!made_of) return made_of.error().message;
  std::string out;
  auto status = WriteGensub(*made_of, first, second, order, [&](std::string_view piece) {
    out += piece;
    return Status();
  });
  EXPECT_TRUE(status);
  return out;
}

// One line of a body for one item.
std::string Line(std::string_view line, std::string_view item) {
  std::string out = Made("#LOOP\n" + std::string(line) + "\n#ENDLOOP\n", {item}, {"single"});
  return out.substr(0, out.size() - 1);
}

TEST(GensubTest, Variables) {
  std::string deep, first;
  for (int i = 1; i <= 33; ++i) {
    deep += "d" + std::to_string(i) + "/";
    if (i == 30) first = deep.substr(0, deep.size() - 1) + "|d33";
  }
  deep += "f";
  const std::string_view kDeep = deep, kFirst30 = first;
  struct Case {
    std::string_view line, item, made;
  };
  for (const Case& c : std::vector<Case>{
           {"$(path1)", "/a/b/c/f.x", "/a/b/c/f.x"},
           {"$(dir1)", "/a/b/c/f.x", "/a/b/c"},
           {"$(dir1)", "rel/x", "rel"},
           {"$(dir1)", "plain", ""},
           {"$(dir1)", "/x", "/"},
           {"$(dir1)", "a/b/", "a/b"},
           {"$(root1)|$(ext1)|$(file1)", "/a/b.c/f.tar.gz", "f.tar|.gz|f.tar.gz"},
           {"$(root1)|$(ext1)|$(file1)", "a.b/f", "f||f"},
           {"$(root1)|$(ext1)|$(file1)", ".hidden", "|.hidden|.hidden"},
           {"$(root1)|$(ext1)|$(file1)", "a/b/", "||"},
           {"$(root1)|$(ext1)|$(file1)", "f.", "f|.|f."},
           {"$(lastDir1)", "/a/b/c/f.x", "c"},
           {"$(lastDir1)", "rel/x", "rel"},
           {"$(lastDir1)", "plain", ""},
           {"$(lastDir1)", "/x", ""},
           {"$(lastDirs1=1)", "/a/b/c/f.x", "c"},
           {"$(lastDirs1=2)", "/a/b/c/f.x", "b/c"},
           {"$(lastDirs1=3)", "/a/b/c/f.x", "a/b/c"},
           {"$(lastDirs1=4)", "/a/b/c/f.x", "/a/b/c"},
           {"$(lastDirs1=5)", "/a/b/c/f.x", "$(lastDirs1=5)"},
           {"$(lastDirs1=2)", "a/b/f", "a/b"},
           {"$(lastDirs1=3)", "a/b/f", "$(lastDirs1=3)"},
           {"$(lastDirs1=1)", "plain", "$(lastDirs1=1)"},
           {"$(lastDirs1=0)$(lastDirs1=31)$(lastDirs1=)$(lastDirs1)$(lastDirs3=1)", "a/b",
            "$(lastDirs1=0)$(lastDirs1=31)$(lastDirs1=)$(lastDirs1)$(lastDirs3=1)"},
           {"$(lastDirs1=02)", "/a/b/c", "$(lastDirs1=02)"},
           // A path of more than 30 folders counts its first 30.
           {"$(lastDirs1=2)", kDeep, "d29/d30"},
           {"$(lastDirs1=30)|$(lastDir1)", kDeep, kFirst30},
           {"$(num1) $(num2)", "x", "0 0"},
           // The second list is the word `single`.
           {"$(path2)|$(root2)|$(dir2)|$(ext2)|$(lastDirs2=1)", "x",
            "single|single|||$(lastDirs2=1)"},
           // One pass; what is unknown stays.
           {"$(path1)", "$(path2)", "$(path2)"},
           {"$(foo) $(path3) $(path) $path1 $(path1 $( )", "x",
            "$(foo) $(path3) $(path) $path1 $(path1 $( )"},
           {"$(foo$(root1))$$(root1)$", "x.y", "$(foox)$x$"},
           {"{check out line+ $(root1).out}", "x.y", "{check out line+ x.out}"},
           {"  a\t ", "x", "  a\t "},
           {"\"$(path1)\" 'a b' \\", "x y", "\"x y\" 'a b' \\"}}) {
    EXPECT_EQ(Line(c.line, c.item), c.made) << c.line << " of " << c.item;
  }
}

TEST(GensubTest, LongLinesHaveNoLimit) {
  std::string item(100'000, 'x');
  EXPECT_EQ(Line("$(file1)", "d/" + item), item);
}

TEST(GensubTest, Templates) {
  struct Case {
    std::string_view text, made;
  };
  for (const Case& c :
       std::vector<Case>{{"#LOOP\n#ENDLOOP\n", ""},
                         {"#LOOP\nx\n#ENDLOOP", "x\nx\n"},
                         {"a $(path1)\n\n#LOOP x\n$(path1)\n\n#ENDLOOPS\nb $(path1)\n#LOOP\nc",
                          "a $(path1)\n\nA\n\nB\n\nb $(path1)\n#LOOP\nc\n"},
                         {"\r\n#LOOP\r\n$(path1)\r\n#ENDLOOP\r\nend\r\n", "\nA\nB\nend\n"},
                         {"", "No #LOOP statement in template"},
                         {" #LOOP\nx\n#ENDLOOP\n", "No #LOOP statement in template"},
                         {"#LOOP\n #ENDLOOP\n", "No #ENDLOOP statement in template"},
                         {"#ENDLOOP\n#LOOP\n", "No #ENDLOOP statement in template"}}) {
    EXPECT_EQ(Made(c.text, {"A", "B"}, {"a"}), c.made) << c.text;
  }
}

TEST(GensubTest, Orders) {
  struct Case {
    GensubOrder order;
    Items first, second;
    std::string made;
  };
  for (const Case& c : std::vector<Case>{
           {GensubOrder::kDiagonal,
            {"A", "B", "C"},
            {"a", "b", "c"},
            "Aa Ba Ab Ca Bb Ac Cb Bc Cc "},
           {GensubOrder::kDiagonal, {"A", "B"}, {"a", "b", "c"}, "Aa Ba Ab Bb Ac Bc "},
           {GensubOrder::kDiagonal, {"A"}, {"a", "b", "c"}, "Aa Ab Ac "},
           {GensubOrder::kDiagonal, {"A", "B", "C"}, {"a"}, "Aa Ba Ca "},
           {GensubOrder::kGroup1, {"A", "B"}, {"a", "b"}, "Aa Ab Ba Bb "},
           {GensubOrder::kGroup2, {"A", "B"}, {"a", "b"}, "Aa Ba Ab Bb "},
           {GensubOrder::kSelfPair, {"A", "B", "C"}, {}, "AB AC BC "},
           {GensubOrder::kSelfPair, {"A"}, {}, ""}}) {
    std::string made = Made("#LOOP\n$(path1)$(path2)\n#ENDLOOP\n", c.first, c.second, c.order);
    for (char& byte : made) byte = byte == '\n' ? ' ' : byte;
    EXPECT_EQ(made, c.made);
  }
  EXPECT_EQ(Made("#LOOP\n$(num1) $(num2)\n#ENDLOOP\n", {"A", "B", "C"}, {}, GensubOrder::kSelfPair),
            "0 1\n0 2\n1 2\n");
}

TEST(GensubTest, BoysAndGirls) {
  EXPECT_EQ(Made("#LOOP\n$(root1) loves $(root2)\n#ENDLOOP\n", {"Bob", "Tom", "Jerry", "Harry"},
                 {"Mary", "Susie", "Druzilla.com"}),
            "Bob loves Mary\nTom loves Mary\nBob loves Susie\nJerry loves Mary\nTom loves Susie\n"
            "Bob loves Druzilla\nHarry loves Mary\nJerry loves Susie\nTom loves Druzilla\n"
            "Harry loves Susie\nJerry loves Druzilla\nHarry loves Druzilla\n");
}

TEST(GensubTest, Items) {
  EXPECT_EQ(GensubItems("a\n\n # b \nc d\t\r\n"), (Items{"a", "", "# b", "c d"}));
  EXPECT_EQ(GensubItems("\n"), (Items{""}));
  EXPECT_EQ(GensubItems(""), (Items{}));
}

// A million pairs go through a small buffer, and the first error of the sink ends all.
TEST(GensubTest, PassesOnInPieces) {
  auto made_of = GensubTemplate::Parse("#LOOP\n$(path1) $(path2)\n#ENDLOOP\n", "template");
  ASSERT_TRUE(made_of);
  Items items(1000, "item");
  size_t bytes = 0, most = 0;
  ASSERT_TRUE(
      WriteGensub(*made_of, items, items, GensubOrder::kDiagonal, [&](std::string_view piece) {
        bytes += piece.size();
        most = std::max(most, piece.size());
        return Status();
      }));
  EXPECT_EQ(bytes, 10'000'000u);
  EXPECT_LT(most, 100'000u);

  int calls = 0;
  auto status = WriteGensub(*made_of, items, items, GensubOrder::kGroup2, [&](std::string_view) {
    ++calls;
    return Status(Fail(ErrorKind::kExhausted, "full"));
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "full");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace spate::parasol
