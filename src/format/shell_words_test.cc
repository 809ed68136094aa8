#include "format/shell_words.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "format/shell_kind.h"

namespace spate::format {
namespace {

TEST(NeedsShell, AsMakeDecidesIt) {
  using namespace std::literals;
  for (std::string_view text :
       {"echo a b", "/bin/true", "true", "false", "echo", "gzip -9 file.txt", "dd if=a of=b",
        "date +%s", "a.out x@y:z,w -1 +2", "  blanks \t around  ", "caf\xc3\xa9 \xff", "cds", "iff",
        "tests a", "a\x01 b\r", "sleep 0.1", "_x ."}) {
    EXPECT_FALSE(NeedsShell(text)) << text;
  }
  for (std::string_view text : std::vector<std::string_view>{"",
                                                             "  ",
                                                             "a;b",
                                                             "a #b",
                                                             "a 'b'",
                                                             "a \"b\"",
                                                             "a*",
                                                             "a?",
                                                             "a [b]",
                                                             "a & b",
                                                             "a|b",
                                                             "a>b",
                                                             "a<b",
                                                             "(a)",
                                                             "{ a",
                                                             "a}",
                                                             "$a",
                                                             "a`b`",
                                                             "a^b",
                                                             "~/a",
                                                             "a!b",
                                                             "a\\b",
                                                             "a\nb",
                                                             "a\0b"sv,
                                                             "A=b c",
                                                             "=x",
                                                             "%1",
                                                             ". a",
                                                             ": a",
                                                             "cd /",
                                                             "exit 3",
                                                             "export A",
                                                             "ulimit -n",
                                                             "umask 0",
                                                             "exec a",
                                                             "set -e",
                                                             "if a",
                                                             "while a",
                                                             "for a",
                                                             "test -f a",
                                                             "printf a",
                                                             "pwd",
                                                             "kill 1",
                                                             "time a",
                                                             "echo -e a",
                                                             "echo a -n",
                                                             "true --version",
                                                             "wait",
                                                             "local"}) {
    EXPECT_TRUE(NeedsShell(text)) << text;
  }
}

TEST(SplitBlanks, Words) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(SplitBlanks("a"), Words({"a"}));
  EXPECT_EQ(SplitBlanks(" \ta  b\tc "), Words({"a", "b", "c"}));
  EXPECT_EQ(SplitBlanks("  "), Words());
  EXPECT_EQ(CommandArgv("a b"), Words({"a", "b"}));
  EXPECT_EQ(CommandArgv("a >b"), Words({"/bin/sh", "-c", "a >b"}));
  EXPECT_EQ(CommandArgv("-a >b"), Words({"/bin/sh", "-c", " -a >b"}));
  EXPECT_EQ(CommandArgv("+a >b"), Words({"/bin/sh", "-c", " +a >b"}));
  EXPECT_EQ(CommandArgv("a >b", "", "/bin/bash"), Words({"/bin/bash", "-c", "a >b"}));
  EXPECT_EQ(CommandArgv("a b", "", "/bin/bash"), Words({"a", "b"}));
  EXPECT_EQ(CommandArgv("a b", "ksh -e", "/bin/bash"), Words({"ksh", "-e", "-c", "a b"}));
}

// Runs many lines through real shells whose PATH has one program under every name that the lines
// use: it writes its argv.
class RealShell : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "spate-shell-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { ASSERT_EQ(system(("rm -rf '" + folder_ + "'").c_str()), 0); }
  std::string folder_;
};

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The shell's reading of each line, with each word in brackets. The first word of the line is
// replaced by a program, so only the rest is compared; first words are a table above.
TEST_F(RealShell, DirectMeansTheSameArguments) {
  const std::string alphabet =
      "ab01-+.,/:@%=_ \t\r\v\f\x01\x7f\x80\x81\x88\xc3\xa9\xff~#'\"*{}[]!^";
  std::string script;
  std::string expected;
  int direct = 0;
  // A fixed seed: the same lines in every run.
  uint64_t seed = 12345;
  for (int i = 0; i < 20000; ++i) {
    std::string line = "say";
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    // Mostly harmless bytes, so that many lines are direct.
    size_t range = (seed >> 40) % 4 == 0 ? alphabet.size() : 26;
    for (size_t n = (seed >> 33) % 14; n > 0; --n) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      line += alphabet[(seed >> 33) % range];
    }
    if (NeedsShell(line)) continue;
    auto words = CommandArgv(line);
    if (words[0] != "say") continue;
    ++direct;
    script += line + "\n";
    for (const std::string& word : words) expected += "<" + word + ">";
    expected += "\n";
  }
  EXPECT_GT(direct, 2000);
  std::ofstream(folder_ + "/script", std::ios::binary)
      << "say() { printf '<say>'; for w in \"$@\"; do printf '<%s>' \"$w\"; done; echo; }\n"
      << script;
  for (const char* shell : {"/bin/sh", "/bin/bash"}) {
    if (access(shell, X_OK) != 0) continue;
    std::string command = "cd '" + folder_ + "' && " + shell + " script > out";
    ASSERT_EQ(system(command.c_str()), 0);
    EXPECT_EQ(ReadAll(folder_ + "/out"), expected) << shell;
  }
}

// Every command that a shell has built in, or that is one of its words, goes to the shell. echo,
// true and false are the exceptions, and say so.
TEST_F(RealShell, KnowsTheBuiltins) {
  std::ofstream(folder_ + "/script")
      << "for w in $(compgen -b) $(compgen -k); do echo \"$w\"; done\n";
  if (access("/bin/bash", X_OK) != 0) GTEST_SKIP() << "no bash to ask";
  ASSERT_EQ(system(("/bin/bash '" + folder_ + "/script' > '" + folder_ + "/out'").c_str()), 0);
  std::ifstream words(folder_ + "/out");
  int count = 0;
  for (std::string word; std::getline(words, word); ++count) {
    bool direct = word == "echo" || word == "true" || word == "false";
    EXPECT_EQ(NeedsShell(word + " a"), !direct) << word;
  }
  EXPECT_GT(count, 60);
}

TEST(KindOfShellTest, ByItsName) {
  struct Case {
    const char* shell;
    ShellKind kind;
  };
  for (const Case& each : {Case{"", ShellKind::kBash},
                           {"/bin/sh", ShellKind::kPosix},
                           {"busybox sh", ShellKind::kPosix},
                           {"/usr/local/bin/bash", ShellKind::kBash},
                           {"bash -euo pipefail", ShellKind::kBash},
                           {"/usr/bin/env -i A=1 bash", ShellKind::kOther},
                           {"env LC_ALL=C /bin/sh", ShellKind::kPosix},
                           {"zsh", ShellKind::kZsh},
                           {"/bin/ksh93 -e", ShellKind::kKsh},
                           {"python3", ShellKind::kOther}}) {
    EXPECT_EQ(KindOfShell(each.shell), each.kind) << each.shell;
  }
}

TEST(NeedsShell, AnyText) {
  EXPECT_TRUE(rc::check("direct words are the text without its blanks", [] {
    auto text = *rc::gen::arbitrary<std::string>();
    if (NeedsShell(text)) return;
    std::string joined;
    for (const std::string& word : SplitBlanks(text)) joined += word;
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
    RC_ASSERT(joined == text);
  }));
}

}  // namespace
}  // namespace spate::format
