#include "format/template.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace spate::format {
namespace {

using Words = std::vector<std::string>;

struct Row {
  std::vector<std::string> values;
  bool repeat = false;
  bool quote = false;
  std::vector<std::string> names = {};
};

Words Fill(std::string_view word, const Row& row) {
  std::vector<std::string_view> values(row.values.begin(), row.values.end());
  Words words;
  AppendWords(Template::Parse(word, {.names = row.names}),
              {.values = values, .number = 7, .slot = 3, .repeat = row.repeat}, words);
  return words;
}

std::string FillText(std::string_view text, const Row& row, bool job = false) {
  std::vector<std::string_view> values(row.values.begin(), row.values.end());
  std::string out;
  AppendText(Template::Parse(text, {.names = row.names, .job = job}),
             {.values = values,
              .number = 7,
              .slot = 3,
              .job = 12,
              .quote = row.quote,
              .repeat = row.repeat},
             out);
  return out;
}

// The expected columns are what GNU parallel 20221122 makes (parallel_test.cc asks it).
TEST(AppendPart, PartsOfPaths) {
  struct Case {
    std::string_view value, folder, name, name_no_suffix, no_suffix;
  };
  for (const Case& c : std::vector<Case>{{"", ".", "", "", ""},
                                         {"/", "/", "", "", "/"},
                                         {"//", "/", "", "", "//"},
                                         {"a", ".", "a", "a", "a"},
                                         {"a/", ".", "", "", "a/"},
                                         {"a/b", "a", "b", "b", "a/b"},
                                         {"a/b/", "a", "", "", "a/b/"},
                                         {"/a", "/", "a", "a", "/a"},
                                         {"//a", "/", "a", "a", "//a"},
                                         {"a//b", "a", "b", "b", "a//b"},
                                         {"../x.y", "..", "x.y", "x", "../x"},
                                         {".h", ".", ".h", "", ""},
                                         {"a.b.c/d", "a.b.c", "d", "d", "a.b.c/d"},
                                         {".", ".", ".", "", ""},
                                         {"..", ".", "..", ".", "."},
                                         {"a.b/", ".", "", "", "a.b/"},
                                         {"a./b", "a.", "b", "b", "a./b"},
                                         {"x.tar.gz", ".", "x.tar.gz", "x.tar", "x.tar"},
                                         {"x.", ".", "x.", "x", "x"}}) {
    auto form = [&](ValueForm f) {
      std::string out;
      AppendPart(c.value, {f}, out);
      return out;
    };
    EXPECT_EQ(form(ValueForm::kWhole), c.value);
    EXPECT_EQ(form(ValueForm::kFolder), c.folder) << c.value;
    EXPECT_EQ(form(ValueForm::kName), c.name) << c.value;
    EXPECT_EQ(form(ValueForm::kNameNoSuffix), c.name_no_suffix) << c.value;
    EXPECT_EQ(form(ValueForm::kNoSuffix), c.no_suffix) << c.value;
  }
}

// GNU parallel's --plus parts, except that the text after % is no regular expression here.
TEST(AppendPart, SuffixesAndTexts) {
  const Row row{{"d.x/a.b.tar.gz", "plain"}};
  struct Case {
    std::string_view text, out;
  };
  for (const Case& c : std::vector<Case>{
           {"{1..}", "d.x/a.b"},
           {"{1...}", "d.x/a"},
           {"{1/..}", "a.b"},
           {"{1/...}", "a"},
           {"{1%.gz}", "d.x/a.b.tar"},
           {"{1%.tar.gz}", "d.x/a.b"},
           {"{1%.tar}", "d.x/a.b.tar.gz"},
           {"{2..}{2/..}{2%.gz}", "plainplainplain"},
           {"{-2..}", "d.x/a.b"},
           {"{1....}{%x}{%.}{1%gz}", "{1....}{%x}{%.}{1%gz}"},
           {"{%}", "3"},
       }) {
    EXPECT_EQ(FillText(c.text, row), c.out) << c.text;
  }
}

TEST(Template, AnotherTextForTheValue) {
  std::vector<std::string_view> values = {"a.b"};
  auto fill = [&](std::string_view text, std::string_view replace) {
    std::string out;
    AppendText(Template::Parse(text, {.names = {}, .replace = replace}), {.values = values}, out);
    return out;
  };
  EXPECT_EQ(fill("x ,, {} {.} {1}", ",,"), "x a.b {} a a.b");
  EXPECT_EQ(fill("%%", "%"), "a.ba.b");
  EXPECT_EQ(fill("{V}{.}", "{V}"), "a.ba");
}

TEST(Template, WordsOfAnArgv) {
  const Row one{{"d/a.x"}};
  const Row two{{"a.x", "b y"}};
  const Row repeat{{"a.x", "b y"}, true};
  struct Case {
    std::string_view word;
    Row row;
    Words words;
  };
  for (const Case& c : std::vector<Case>{
           {"", one, {""}},
           {"{}", one, {"d/a.x"}},
           {"-o={.}.gz", one, {"-o=d/a.gz"}},
           {"{/}{//}{/.}{.}", one, {"a.xdad/a"}},
           {"{#}-{%}", one, {"7-3"}},
           {"{1}{2}{-1}{-2}", one, {"d/a.xd/a.x"}},
           {"{1/}{1 //}{-1/.}{0}", one, {"a.xdad/a.x"}},
           {"{}", {{""}}, {""}},
           // No placeholders.
           {"{", one, {"{"}},
           {"}{", one, {"}{"}},
           {"{ }{ 1 }{....}{1#}{job}{index}{+1}", one, {"{ }{ 1 }{....}{1#}{job}{index}{+1}"}},
           {"{{}}", one, {"{d/a.x}"}},
           {"{print $1}{.{}", one, {"{print $1}{.d/a.x"}},
           {"{123456789}", one, {"{123456789}"}},
           // Several values.
           {"{}", two, {"a.x", "b y"}},
           {"<{}>", two, {"<a.x", "b y>"}},
           {"{}{.}", two, {"a.x", "b ya", "b y"}},
           {"{2}{1}", two, {"b ya.x"}},
           {"<{}>", repeat, {"<a.x>", "<b y>"}},
           {"{}{.}", repeat, {"a.xa", "b yb y"}},
           {"{}{1}{#}", repeat, {"a.xa.x7", "b ya.x7"}},
           {"{1}{#}", repeat, {"a.x7"}},
           // A word with blanks is text of its own.
           {"x <{}> y", two, {"x <a.x b y> y"}},
           {"x <{}> y", repeat, {"x <a.x> <b y> y"}}}) {
    EXPECT_EQ(Fill(c.word, c.row), c.words) << c.word;
  }
}

TEST(Template, ShellText) {
  struct Case {
    std::string_view text;
    Row row;
    std::string filled;
  };
  for (const Case& c : std::vector<Case>{
           {"gzip {} > {/.}.gz", {{"a b/c d.x"}, false, true}, "gzip 'a b/c d.x' > 'c d'.gz"},
           {"x {}", {{""}, false, true}, "x ''"},
           {"x {3}.", {{"a"}, false, true}, "x ."},
           {"x <{}>\ty", {{"a b", "c"}, false, true}, "x <'a b' c>\ty"},
           {"x <{}>\ty", {{"a b", "c"}, true, true}, "x <'a b'> <c>\ty"}}) {
    EXPECT_EQ(FillText(c.text, c.row), c.filled) << c.text;
  }
  EXPECT_EQ(FillText("out/{job}/{index}-{}", {{"a b"}}, true), "out/12/7-a b");
}

TEST(Template, Names) {
  const Row row{{"p/a.x", "2", "3"}, false, false, {"file", "", "a b"}};
  struct Case {
    std::string_view word;
    std::string filled;
  };
  for (const Case& c : std::vector<Case>{{"{file}", "p/a.x"},
                                         {"{file.}{file/}{file//}{file/.}", "p/aa.xpa"},
                                         {"{a b}{3}", "33"},
                                         {"{files}{File}{ file}", "{files}{File}{ file}"},
                                         {"{1}{}", "p/a.xp/a.x 2 3"}}) {
    EXPECT_EQ(FillText(c.word, row), c.filled) << c.word;
  }
}

TEST(Template, AnyText) {
  EXPECT_TRUE(rc::check("pieces put together are the text", [] {
    auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
        rc::gen::element<std::string>("{", "}", "{}", "{.}", "{1", "-2", "/", ".}", "//", " ", "x"),
        rc::gen::arbitrary<std::string>()));
    std::string text;
    for (const std::string& part : parts) text += part;
    std::vector<std::string> names = {"x", "1"};
    std::string joined;
    Template parsed = Template::Parse(text, {.names = names});
    for (const Piece& piece : parsed.pieces()) {
      RC_ASSERT(!piece.text.empty());
      joined += piece.text;
    }
    RC_ASSERT(joined == text);
    RC_ASSERT(FillText(text, {{"a"}, true}) == FillText(text, {{"a"}, false}));
  }));
}

}  // namespace
}  // namespace spate::format
