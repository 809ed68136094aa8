#include "cli/options/help.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/options/hub_options.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "cli/options/words.h"
#include "command/testing_world.h"

namespace spate::cli::command {
namespace {

void ExpectNarrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(HelpTest, EverythingFits80Columns) {
  ExpectNarrow(ShortHelp());
  for (const Command* command : AllCommands()) {
    ExpectNarrow(CommandHelp(*command, false));
    ExpectNarrow(CommandHelp(*command, true));
  }
}

// The words that a shell passes to spate for a line.
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

// Parses a command line as far as that needs neither a hub nor a file.
Status Understand(const Words& words) {
  auto status = [](const auto& made) { return made ? Status() : std::unexpected(made.error()); };
  const std::string_view name = words.command->name;
  switch (words.command->makes) {
    case Makes::kRun:
    case Makes::kRetry:
      return status(MakeRunOptions(words));
    case Makes::kSubmission:
    case Makes::kAddition:
      return status(MakeSubmitOptions(words));
    case Makes::kNoJob:
      break;
  }
  // Needs are a question of their own (command/job/set.cc).
  const bool has_needs =
      words.Has(opt::kMemory) || words.Has(opt::kCpus) || words.Has(opt::kTimeLimit);
  if (name == "job set" && !has_needs) {
    return status(MakeJobChange(words, Instant() + Duration::Seconds(1)));
  }
  if (name == "hub start") return status(MakeHubOptions(words));
  if (name == "node start") return status(MakeNodeOptions(words));
  return status(OutputFormOf(words));
}

TEST(HelpTest, EveryCommandHasExamplesThatAreUnderstood) {
  for (const Command* command : AllCommands()) {
    const Command& def = *command;
    auto examples = ExamplesOf(def);
    EXPECT_GE(examples.size(), 2u) << def.name;
    for (const Example& example : examples) {
      EXPECT_FALSE(example.text.empty()) << example.command;
      auto typed = TypedWords(example.command);
      ASSERT_FALSE(typed.empty()) << example.command;
      if (typed[0] == "--version") continue;
      auto found = FindCommand(typed, AllCommands());
      ASSERT_TRUE(found) << example.command;
      EXPECT_TRUE(example.command.contains(fmt::format("spate {}", def.name)));
      auto words = ParseWords(MeantBy(def), std::span(typed).subspan(found->words));
      ASSERT_TRUE(words) << example.command << ": " << words.error().message;
      auto understood = Understand(*words);
      EXPECT_TRUE(understood) << example.command << ": " << understood.error().message;
    }
  }
}

TEST(HelpTest, ExamplesComeFirst) {
  EXPECT_TRUE(
      CommandHelp(Named("job hold"), false)
          .starts_with("Usage: spate job hold [OPTIONS] JOB... | --user NAME\n\n"
                       "Hold jobs: start no more of their tasks for now.\n\nExamples\n"
                       "  spate job hold 12          # until spate job release 12\n"
                       "  spate job hold all         # all unfinished jobs\n"
                       "  spate job hold --user ann  # all of a user's, as an administrator\n"
                       "\n"));
}

TEST(HelpTest, EveryOptionOfRunIsThere) {
  std::string help = CommandHelp(Named("run"), false);
  for (const Option* option : OptionsOf(Named("run"))) {
    EXPECT_NE(help.find(OptionSynopsis(*option)), std::string::npos) << option->name();
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
  std::string help = CommandHelp(Named("job retry"), true);
  EXPECT_NE(help.find("Usage: spate job retry [OPTIONS] [JOB...]"), std::string::npos);
  EXPECT_EQ(help.find("--colsep"), std::string::npos);
}

}  // namespace
}  // namespace spate::cli::command
