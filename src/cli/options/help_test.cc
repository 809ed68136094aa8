#include "cli/options/help.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/options/hub_options.h"
#include "cli/options/run_options.h"
#include "cli/options/submit_options.h"
#include "cli/options/words.h"

namespace spate::cli {
namespace {

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(HelpTest, EverythingFits80Columns) {
  ExpectNarrow(ShortHelp());
  for (const CommandDef& def : Commands()) {
    ExpectNarrow(CommandHelp(def.id, false));
    ExpectNarrow(CommandHelp(def.id, true));
  }
}

// What a shell gives to spate for a line.
std::vector<std::string> TypedWords(std::string_view line) {
  std::string dir = testing::TempDir() + "spate-example-XXXXXX";
  EXPECT_NE(::mkdtemp(dir.data()), nullptr);
  std::ofstream(dir + "/script") << "cd " << dir << "\nspate() { printf '%s\\n' \"$@\" > words; }\n"
                                 << line << "\n";
  (void)std::system(("sh " + dir + "/script 2>/dev/null </dev/null").c_str());
  std::ifstream file(dir + "/words");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word);) words.push_back(word);
  std::filesystem::remove_all(dir);
  return words;
}

// As far as a command line is understood without a hub or a file.
Status Understand(const Words& words) {
  auto status = [](const auto& made) { return made ? Status() : std::unexpected(made.error()); };
  switch (words.command) {
    case Command::kRun:
    case Command::kJobRetry:
      return status(MakeRunOptions(words));
    case Command::kSubmit:
    case Command::kJobAdd:
      return status(MakeSubmitOptions(words));
    case Command::kJobSet:
      return status(MakeJobChanges(words));
    case Command::kHubStart:
      return status(MakeHubOptions(words));
    case Command::kHubAccess:
      return status(MakeAccessOptions(words));
    case Command::kHubSet:
      return status(MakeHubChange(words));
    case Command::kHubUser:
      return status(MakeUserOptions(words));
    case Command::kNodeStart:
      return status(MakeNodeOptions(words));
    default:
      return status(OutputFormOf(words));
  }
}

TEST(HelpTest, EveryCommandHasExamplesThatAreUnderstood) {
  for (const CommandDef& def : Commands()) {
    auto examples = ExamplesOf(def);
    EXPECT_GE(examples.size(), 2u) << def.name;
    for (const Example& example : examples) {
      EXPECT_FALSE(example.text.empty()) << example.command;
      auto typed = TypedWords(example.command);
      ASSERT_FALSE(typed.empty()) << example.command;
      if (typed[0] == "--version") continue;
      auto found = FindCommand(typed);
      ASSERT_TRUE(found) << example.command;
      EXPECT_TRUE(example.command.contains(fmt::format("spate {}", def.name)));
      auto words = ParseWords(def.id, std::span(typed).subspan(found->words));
      ASSERT_TRUE(words) << example.command << ": " << words.error().message;
      auto understood = Understand(*words);
      EXPECT_TRUE(understood) << example.command << ": " << understood.error().message;
    }
  }
}

TEST(HelpTest, ExamplesComeFirst) {
  EXPECT_TRUE(CommandHelp(Command::kJobHold, false)
                  .starts_with("Usage: spate job hold [OPTIONS] JOB...\n\n"
                               "Start nothing more of jobs for now.\n\nExamples\n"
                               "  spate job hold 12   # until spate job release 12\n"
                               "  spate job hold all  # all that have not ended\n\n"));
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
