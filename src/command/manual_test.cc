#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "cli/manual/man_page.h"
#include "cli/manual/overview.h"
#include "cli/manual/reference.h"
#include "cli/manual/shell_scripts.h"
#include "command/all_commands.h"
#include "doors/parasol/programs/programs.h"

namespace spate::cli::command {
namespace {

const std::vector<Programs> kDoors = {parasol::ParasolPrograms()};

// Output of `command`, with `script` in the file $1.
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
  for (auto name :
       {"spate", "spate-run", "spate-submit", "spate-job", "spate-task", "spate-hub", "spate-node",
        "spate-pool", "spate-top", "spate-overseer", "spate-report", "spate-sem", "spate-simulate",
        "spate-state", "spate-ps", "spate-exec", "spate-ghost", "spate-shell"}) {
    auto page = ManPage(name, AllCommands(), kDoors);
    ASSERT_TRUE(page) << name;
    pages += *page;
  }
  std::set<const Option*> all;
  for (const Command* command : AllCommands()) {
    for (const Option* option : OptionsOf(*command)) all.insert(option);
  }
  for (const Option* option : all) {
    const Option& def = *option;
    std::string name;
    for (char c : def.name()) name += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(pages.find("\\fB\\-\\-" + name + "\\fR"), std::string::npos) << def.name();
  }
  EXPECT_FALSE(ManPage("spate-x", AllCommands(), kDoors));
}

TEST(ManPageTest, RoffHasNoComplaints) {
  if (!HasProgram("groff")) GTEST_SKIP() << "needs groff";
  for (auto name : {"spate", "spate-run", "spate-submit", "spate-job", "spate-task", "spate-hub",
                    "spate-node", "spate-pool", "spate-top", "spate-overseer", "spate-report",
                    "spate-sem", "spate-simulate", "spate-state", "gensub2", "paraTestJob"}) {
    EXPECT_EQ(Shell(*ManPage(name, AllCommands(), kDoors), "groff -man -Tascii -ww -z $1 2>&1"), "")
        << name;
  }
}

TEST(ManPageTest, ExamplesComeBeforeTheDescription) {
  for (auto name : {"spate", "spate-run", "spate-submit", "spate-top"}) {
    std::string page = ManPage(name, AllCommands(), kDoors).value();
    EXPECT_LT(page.find(".SH EXAMPLES"), page.find(".SH DESCRIPTION")) << name;
  }
  EXPECT_NE(ManPage("spate-job", AllCommands(), kDoors)->find("spate job hold 12 "),
            std::string::npos);
}

TEST(OverviewTest, NamesAllCommandsInGroups) {
  std::string help = GeneralHelp(AllCommands(), kDoors);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  for (const Command* command : AllCommands()) {
    const Command& def = *command;
    size_t title = help.find(std::string("\n") + std::string(TitleOf(def.group)) + "\n");
    EXPECT_LT(title, help.find(std::string("\n  ") + std::string(def.name) + " ")) << def.name;
  }
  EXPECT_LT(help.find("Programs of Parasol"), help.find("  paraNodeStart "));
}

TEST(ReferenceTest, ThePageIsOfNow) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (!source) GTEST_SKIP() << "needs SPATE_SOURCE";
  std::ifstream file(std::string(source) + "/docs/user/reference.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), ReferencePage(AllCommands()))
      << "run: spate __reference > docs/user/reference.md";
}

TEST(ShellScriptTest, ShellsReadTheirs) {
  bool any = false;
  for (std::string shell : {"bash", "zsh", "fish"}) {
    auto script = ShellScript(shell, kDoors);
    ASSERT_TRUE(script);
    EXPECT_NE(script->find("__complete"), std::string::npos);
    EXPECT_NE(script->find(" paraNodeStart"), std::string::npos);
    if (!HasProgram(shell)) continue;
    any = true;
    EXPECT_EQ(Shell(*script, shell + " -n $1 2>&1"), "");
  }
  EXPECT_FALSE(ShellScript("tcsh", kDoors));
  if (!any) GTEST_SKIP() << "needs a shell to read the scripts";
}

}  // namespace
}  // namespace spate::cli::command
