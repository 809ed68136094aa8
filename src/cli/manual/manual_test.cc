#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/manual/overview.h"
#include "cli/manual/reference.h"
#include "cli/options/table.h"
#include "doors/parasol/programs/programs.h"

namespace spate::cli {
namespace {

const std::vector<Programs> kDoors = {parasol::ParasolPrograms()};

// What `command` prints, with `script` in the file $1.
std::string Shell(const std::string& script, const std::string& command) {
  std::string file = testing::TempDir() + "spate-manual-XXXXXX";
  int fd = ::mkstemp(file.data());
  ::close(fd);
  std::ofstream(file) << script;
  std::string line = "set -- " + file + "; " + command;
  std::FILE* pipe = ::popen(line.c_str(), "r");
  std::string out;
  for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  ::pclose(pipe);
  std::filesystem::remove(file);
  return out;
}

bool HasProgram(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(ManPageTest, EveryCommandAndOptionIsInOne) {
  std::string pages;
  for (auto name : {"spate", "spate-run", "spate-submit", "spate-job", "spate-task", "spate-hub",
                    "spate-node", "spate-pool", "spate-top", "spate-overseer", "spate-report",
                    "spate-sem", "spate-simulate", "spate-state"}) {
    auto page = ManPage(name, kDoors);
    ASSERT_TRUE(page) << name;
    pages += *page;
  }
  for (const OptionDef& def : Options()) {
    std::string name;
    for (char c : def.name()) name += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(pages.find("\\fB\\-\\-" + name + "\\fR"), std::string::npos) << def.name();
  }
  EXPECT_FALSE(ManPage("spate-x", kDoors));
}

TEST(ManPageTest, RoffHasNoComplaints) {
  if (!HasProgram("groff")) GTEST_SKIP() << "needs groff";
  for (auto name : {"spate", "spate-run", "spate-submit", "spate-job", "spate-task", "spate-hub",
                    "spate-node", "spate-pool", "spate-top", "spate-overseer", "spate-report",
                    "spate-sem", "spate-simulate", "spate-state", "gensub2", "paraTestJob"}) {
    EXPECT_EQ(Shell(*ManPage(name, kDoors), "groff -man -Tascii -ww -z $1 2>&1"), "") << name;
  }
}

TEST(ManPageTest, ExamplesComeBeforeTheDescription) {
  for (auto name : {"spate", "spate-run", "spate-submit", "spate-top"}) {
    std::string page = ManPage(name, kDoors).value();
    EXPECT_LT(page.find(".SH EXAMPLES"), page.find(".SH DESCRIPTION")) << name;
  }
  EXPECT_NE(ManPage("spate-job", kDoors)->find("spate job hold 12   # until"), std::string::npos);
}

TEST(OverviewTest, NamesAllCommandsInGroups) {
  std::string help = GeneralHelp(kDoors);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  for (const CommandDef& def : Commands()) {
    size_t title = help.find(std::string("\n") + std::string(GroupTitle(def.group)) + "\n");
    EXPECT_LT(title, help.find(std::string("\n  ") + std::string(def.name) + " ")) << def.name;
  }
  EXPECT_LT(help.find("Programs of Parasol"), help.find("  paraNodeStart "));
}

TEST(ReferenceTest, ThePageIsOfNow) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (!source) GTEST_SKIP() << "needs SPATE_SOURCE";
  std::ifstream file(std::string(source) + "/docs/reference.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), ReferencePage()) << "run: spate __reference > docs/reference.md";
}

std::string BashCompletes(const std::string& words, int at) {
  std::string out =
      Shell(*Completion("bash", kDoors), "bash -c '. $0; COMP_WORDS=(" + words +
                                             "); COMP_CWORD=" + std::to_string(at) +
                                             "; _spate; echo ${COMPREPLY[*]}' $1 2>&1");
  if (!out.empty()) out.pop_back();
  return out;
}

TEST(CompletionTest, Bash) {
  if (!HasProgram("bash")) GTEST_SKIP() << "needs bash";
  EXPECT_EQ(BashCompletes("spate ru", 1), "run");
  EXPECT_EQ(BashCompletes("spate job ret", 2), "retry");
  EXPECT_EQ(BashCompletes("spate run --keep-or", 2), "--keep-order");
  EXPECT_EQ(BashCompletes("spate run --output j", 3), "json");
  EXPECT_EQ(BashCompletes("spate job cat --st", 3), "--state --stream --stderr");
  EXPECT_EQ(BashCompletes("spate job list --ta", 3), "");
  EXPECT_EQ(BashCompletes("spate task li", 2), "list");
  EXPECT_EQ(BashCompletes("spate task cat --st", 3), "--state --stream --stderr");
  EXPECT_EQ(BashCompletes("spate node start --idl", 3), "--idle-exit");
  EXPECT_EQ(BashCompletes("spate run --retries x", 3), "");
  EXPECT_EQ(BashCompletes("spate run -- /usr/bi", 3), "/usr/bin");
}

TEST(CompletionTest, ZshAndFishReadTheirs) {
  bool any = false;
  for (std::string shell : {"zsh", "fish"}) {
    ASSERT_TRUE(Completion(shell, kDoors));
    EXPECT_NE(Completion(shell, kDoors)->find("keep-order"), std::string::npos);
    if (!HasProgram(shell)) continue;
    any = true;
    EXPECT_EQ(Shell(*Completion(shell, kDoors), shell + " -n $1 2>&1"), "");
  }
  EXPECT_FALSE(Completion("tcsh", kDoors));
  if (!any) GTEST_SKIP() << "needs zsh or fish to read the scripts";
}

}  // namespace
}  // namespace spate::cli
