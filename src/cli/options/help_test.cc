#include "cli/options/help.h"

#include <gtest/gtest.h>

#include <sstream>

namespace spate::cli {
namespace {

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(HelpTest, EverythingFits80Columns) {
  ExpectNarrow(GeneralHelp());
  ExpectNarrow(ShortHelp());
  for (const CommandDef& def : Commands()) {
    ExpectNarrow(CommandHelp(def.id, false));
    ExpectNarrow(CommandHelp(def.id, true));
  }
}

TEST(HelpTest, EveryOptionOfRunIsThere) {
  std::string help = CommandHelp(Command::kRun, false);
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(Command::kRun))) continue;
    EXPECT_NE(help.find(OptionSynopsis(def)), std::string::npos) << def.name();
  }
}

TEST(HelpTest, ShortHelpHasTenLines) {
  std::string help = ShortHelp();
  EXPECT_EQ(std::count(help.begin(), help.end(), '\n'), 10);
}

TEST(HelpTest, Wraps) {
  EXPECT_EQ(Wrap("one two three\nfour", 2, 10), "  one two\n  three\n  four\n");
  EXPECT_EQ(Wrap("", 2, 10), "");
  EXPECT_EQ(Wrap("longerthanwidth a", 0, 5), "longerthanwidth\na\n");
}

TEST(HelpTest, JobRetryHelp) {
  std::string help = CommandHelp(Command::kJobRetry, true);
  EXPECT_NE(help.find("Usage: spate job retry [OPTIONS] [JOB]"), std::string::npos);
  EXPECT_EQ(help.find("--colsep"), std::string::npos);
}

}  // namespace
}  // namespace spate::cli
