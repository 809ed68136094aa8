// Compares with the real GNU parallel: the same words give the same arguments. What differs on
// purpose is in docs/formats/placeholders.md and has its own tests.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/units.h"
#include "format/expand.h"
#include "format/sources/sources.h"

namespace spate::format {
namespace {

using Words = std::vector<std::string>;

struct Case {
  Words options;   // of parallel
  RowRules rules;  // the same for us
  bool repeat = false;
  Words words;  // command, sources, values
};

class RealParallel : public testing::Test {
 protected:
  void SetUp() override {
    if (system("parallel --version 2>/dev/null | grep -q '^GNU parallel 20'") != 0) {
      GTEST_SKIP() << "GNU parallel is not installed";
    }
    folder_ = testing::TempDir() + "spate-parallel-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream(folder_ + "/show")
        << "#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done; echo\n";
    ASSERT_EQ(system(("chmod +x '" + folder_ + "/show'").c_str()), 0);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_EQ(system(("rm -rf '" + folder_ + "'").c_str()), 0);
  }

  // Output of the script, run with our `show` in the PATH and a home of its own.
  std::string Output(const std::string& script) {
    std::ofstream(folder_ + "/script", std::ios::binary) << script;
    std::string command = "cd '" + folder_ + "' && HOME='" + folder_ + "' PATH='" + folder_ +
                          "':\"$PATH\" /bin/sh script > out 2> err < /dev/null";
    EXPECT_EQ(system(command.c_str()), 0) << script;
    return Read("err") + Read("out");
  }
  std::string Read(const std::string& name) {
    std::ifstream in(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string Theirs(const Case& c) {
    std::string script = "parallel -k -j1";
    for (const std::string& word : c.options) script += " " + ShellQuote(word);
    for (const std::string& word : c.words) script += " " + ShellQuote(word);
    return Output(script + "\n");
  }

  std::string Ours(const Case& c) {
    auto words = ParseCommandWords(c.words);
    if (!words) return words.error().message;
    std::vector<SourceValues> sources;
    for (const SourceWords& source : words->sources) {
      sources.push_back({{source.values.begin(), source.values.end()}, source.linked});
    }
    auto rows = RowGenerator::Make(sources, c.rules);
    if (!rows) return rows.error().message;
    JobSettings settings;
    settings.row_kind = RowKind::kValues;
    settings.command = words->command;
    settings.value_names = rows->names();
    settings.repeat_context = c.repeat;
    auto job = CompileJob(settings, JobId(1));
    if (!job) return job.error().message;
    std::string script;
    std::string row;
    for (TaskIndex index = 0; rows->Next(&row).value(); ++index) {
      auto body = Expand(*job, row, index, 1);
      if (!body) return body.error().message;
      std::string line;
      for (const std::string& word : body->steps.at(0).commands.at(0).argv) {
        line += ShellQuote(word) + " ";
      }
      script += line + "\n";
    }
    return Output(script);
  }

  void Compare(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      std::string theirs = Theirs(c);
      EXPECT_NE(theirs, "");
      EXPECT_EQ(Ours(c), theirs) << testing::PrintToString(c.words);
    }
  }

  std::string folder_;
};

const Words kValues = {
    "",       "/",  "//",      "a",     "a/",  "a/b",  "a/b/", "/a",  "//a",           "a//b",
    "../x.y", ".h", "a.b.c/d", ".",     "..",  "a.b/", "a./b", "x.",  "x.tar.gz",      "a b.c",
    " ",      "'",  "\"q\"",   "$HOME", "`x`", "\\",   "*",    "a;b", "caf\xc3\xa9.x", "-n",
    "~",      "#",  "{}",      "{1}",   "a\tb"};

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// With -q, parallel keeps the boundaries of the words as we always do.
TEST_F(RealParallel, WordsOfAnArgv) {
  Compare({
      {{"-q"}, {}, false, Words{"show", "{}", "{.}", "{/}", "{//}", "{/.}", ":::"} + kValues},
      {{"-q"}, {}, false, Words{"show", "x{}y{.}z", "-o={/}", "{//}/{/.}.o", ":::"} + kValues},
      {{"-q"}, {}, false, Words{"show", "a b", "", "$x", "*", ":::"} + kValues},
      {{"-q"},
       {},
       false,
       {"show", "{1}", "{2}", "{-1}", "{-2/}", "{1/.}-{2//}", "{1 .}", "{0}", "{3}", "{}", "p{}s",
        ":::", "a/b.c", "d e", ":::", "x.y", "/z/w"}},
      {{"-q"},
       {},
       false,
       {"show", "{#}", "{%}", "x{#}y", "{", "}", "{{}}", "{ }", "{ 1 }", "{.{}", "{x}",
        "{print $1}", "{job}", "{}}", ":::", "v.w", "u"}},
      {{"-q"}, {}, false, {"show", "{#}", ":::", "a", "b"}},
      {{"-q", "--plus"},
       {},
       false,
       Words{"show", "{..}", "{...}", "{/..}", "{/...}", ":::"} + kValues},
      {{"-q", "--plus"},
       {},
       false,
       {"show", "{%.gz}", "{%.tar.gz}", "{1%.gz}", "{2..}", ":::", "x.tar.gz", "d.y/z.gz",
        ":::", "a.b.c"}},
  });
}

TEST_F(RealParallel, Combinations) {
  Compare({
      {{"-q"}, {}, false, {"show", ":::", "a", "b", ":::", "1", "2", ":::", "x", "y"}},
      {{"-q"}, {}, false, {"show", ":::", "a", "b", "c", ":::+", "1", "2", ":::", "x", "y"}},
      {{"-q"}, {}, false, {"show", ":::", "x", "y", ":::", "a", "b", ":::+", "1", "2", "3"}},
      {{"-q"}, {}, false, {"show", ":::+", "a", "b", ":::+", "1", "2", ":::+", "x", "y"}},
      {{"-q", "--colsep", ","},
       {.colsep = ","},
       false,
       {"show", "{1}", "{2}", "{3}", "{-1}", "{}", ":::", " a , b ", "c", "", ",,", "1,2,3",
        ":::", "x,y", "z"}},
      {{"-q", "--colsep", "\\s+", "--trim", "n"},
       {.colsep = "\\s+", .trim = Trim::kNone},
       false,
       {"show", "{1}-{2}-{3}", ":::", "a  b\tc", " x", "y "}},
      {{"-q", "--trim", "l"}, {.trim = Trim::kLeft}, false, {"show", "{}{.}", ":::", " a.b ", " "}},
      {{"-q", "--trim", "r"}, {.trim = Trim::kRight}, false, {"show", "{}{.}", ":::", " a.b "}},
      {{"-q", "--trim", "rl"}, {.trim = Trim::kBoth}, false, {"show", "{}{.}", ":::", " a.b "}},
      {{"-q", "--header", ":"},
       {.header = true},
       false,
       {"show", "{x}", "{y y.}", "{1}", "{x/.}{x//}{x/}", "{X}", ":::", "x", "1/2.3", "2",
        ":::", "y y", "3.e", "4"}},
      {{"-q", "--header", ":", "--colsep", ","},
       {.colsep = ",", .header = true},
       false,
       {"show", "{b}{a}{c}", ":::", "a,b", "1,2", "3,4", ":::", "c", "5", "6"}},
  });
}

TEST_F(RealParallel, SeveralValuesInARow) {
  const Words context = {"show",  "{}",     "x{}y",  "{.}", "{1}",
                         "<{2}>", "{}-{1}", "{#}{}", "{#}", "z"};
  const Words values = {":::", "a.b", "c d", "e", "", "f.g"};
  auto fill = [](uint32_t most) { return RowRules{.max_records = most, .fill = true, .slots = 1}; };
  Compare({
      {{"-q", "-n2"}, {.max_records = 2}, false, context + values},
      {{"-q", "-n3"}, {.max_records = 3}, false, context + values + Words{":::", "1", "2"}},
      {{"-q", "-N2"}, {.max_records = 2}, true, context + values},
      {{"-q", "-X"}, fill(0), true, context + values},
      {{"-q", "-X"}, fill(0), true, Words{"show"} + values + Words{":::", "1", "2"}},
      {{"-q", "-X", "-n3"}, fill(3), true, context + values},
      {{"-q", "-X", "-j4"},
       {.fill = true, .slots = 4},
       true,
       {"show", ":::", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
  });
}

TEST_F(RealParallel, ShellText) {
  Compare({
      {{}, {}, false, Words{"show {} x{.}y", ":::"} + kValues},
      {{}, {}, false, Words{"show {/} {//} | cat; show '$x' {/.}", ":::"} + kValues},
      {{}, {}, false, Words{"show a  b", ":::"} + kValues},
      {{}, {}, false, {"show {2} {1} {3} > f{#}; cat f{#}", ":::", "a b", "c", ":::", "1", "$2"}},
      {{"-n2"}, {.max_records = 2}, false, {"show x{}y {1}", ":::", "a b", "c", "d"}},
      {{"-X"},
       {.fill = true, .slots = 1},
       true,
       {"show x{}y {1} {#}; show z{.}", ":::", "a b", "c.d", "e"}},
  });
}

}  // namespace
}  // namespace spate::format
