// Each option of `run`, `submit` and `job retry`, where a job goes on or runs elsewhere.
#include "cli/options/option_uses.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

// A value that the parser takes, whatever it means.
Argv Typed(const Option& def) {
  std::string dashed = "--" + std::string(def.name());
  return def.argument.empty() ? Argv{dashed} : Argv{dashed, "1"};
}

// All that one of these commands takes.
std::set<const Option*> AllOptions() {
  std::set<const Option*> all;
  for (Way way : kWays) {
    for (const Option* option : OptionsOf(CommandOf(way))) all.insert(option);
  }
  return all;
}

TEST(OptionUses, EveryOptionHasAUseWhereItIsTaken) {
  for (Way way : kWays) {
    for (const Option* option : OptionsOf(CommandOf(way))) {
      EXPECT_NE(option->job.use[way], Use::kNone) << "--" << option->name() << " is taken by `"
                                                  << WordOf(way) << "`, and its row says nothing";
    }
  }
}

// Refused options come with a reason; obeyed ones are accepted.
TEST(OptionUses, TheTableIsEnforced) {
  for (const Option* typed : AllOptions()) {
    const Option& def = *typed;
    for (Way way : kWays) {
      Argv argv = Typed(def);
      if (way != Way::kRetry && way != Way::kHubRetry) argv.push_back("x.lst");
      auto words = ParseWords(CommandOf(way), argv);
      Use use = UseOf(def, way);
      // Another command may have another option of this name.
      bool taken = words && std::ranges::any_of(words->options, [&](const TypedOption& option) {
                     const bool same =
                         option.opt->name() == def.name() && option.opt->job.fill == def.job.fill;
                     return same || option.opt->name() == def.short_for;
                   });
      EXPECT_EQ(taken, use != Use::kNone) << "--" << def.name() << ' ' << WordOf(way);
      if (!taken) continue;
      auto used = CheckUses(way, *words);
      EXPECT_EQ(used.has_value(), use != Use::kRefused) << "--" << def.name() << ' ' << WordOf(way);
      if (used) continue;
      const std::string& why = used.error().message;
      EXPECT_TRUE(why.starts_with("--" + std::string(def.name()) + ": ")) << why;
      EXPECT_GT(why.size(), def.name().size() + 20) << why;
    }
  }
}

TEST(OptionUses, AResumedRunKeepsWhatItHasOrSaysNo) {
  for (const Option* option : OptionsOf(kRunWords)) {
    const Option& def = *option;
    if (UseOf(def, Way::kResume) != Use::kKept) continue;
    Argv typed = Typed(def);
    Argv resumed = typed;
    resumed.insert(resumed.begin(), "--resume");
    EXPECT_TRUE(CheckKept(typed, resumed)) << def.name();
    auto other = CheckKept(Argv{}, resumed);
    ASSERT_FALSE(other) << def.name();
    EXPECT_NE(other.error().message.find("the first run did not have it"), std::string::npos)
        << other.error().message;
  }
  EXPECT_TRUE(CheckKept(Argv{"--procs", "4"}, Argv{"--resume", "--memory", "2G", "x.lst"}));
  auto procs = CheckKept(Argv{"--procs", "4"}, Argv{"--resume", "--procs", "8"});
  ASSERT_FALSE(procs);
  EXPECT_EQ(procs.error().message,
            "--procs: the first run had --procs 4; the tasks of a resumed run keep their gangs; "
            "start a new run without --resume");
  EXPECT_FALSE(CheckKept(Argv{"--shuf"}, Argv{"--resume", "--order", "longest"}));
  EXPECT_TRUE(CheckKept(Argv{"--shuf"}, Argv{"--resume", "--order", "shuffle"}));
}

TEST(OptionUses, ValuesThatOnlyThisMachineUnderstands) {
  for (const Argv& argv : {Argv{"--order", "longest"}, Argv{"--max-load", "50%"}, Argv{"-j", "50%"},
                           Argv{"-j", "+1"}}) {
    Argv typed = argv;
    typed.push_back("x.lst");
    auto words = ParseWords(kRunWords, typed);
    ASSERT_TRUE(words);
    EXPECT_FALSE(CheckUses(Way::kHub, *words)) << argv[1];
    EXPECT_FALSE(CheckUses(Way::kPool, *words)) << argv[1];
    EXPECT_TRUE(CheckUses(Way::kResume, *words)) << argv[1];
  }
  auto parts = ParseWords(kSubmitWords, Argv{"--pipepart", "-a", "f", "--block", "-4"});
  ASSERT_TRUE(parts);
  EXPECT_FALSE(CheckUses(Way::kSubmit, *parts));
  auto number = ParseWords(kRunWords, Argv{"-j", "4", "--max-load", "3", "x.lst"});
  EXPECT_TRUE(CheckUses(Way::kHub, *number));
}

// -j bounds the tasks at once of a hub's job.
TEST(OptionUses, JobsOfARunOnAHub) {
  for (auto [value, most] : {std::pair{"4", 4u}, {"0", 0u}, {"50%", 0u}}) {
    auto words = ParseWords(kRunWords, Argv{"--hub", "-j", value, "x.lst"});
    auto options = MakeSubmitOptions(*words);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->max_running, most) << value;
  }
}

// All options with their uses, as Markdown: a line for each.
std::string OptionUsesTable() {
  std::string text = "| option |";
  std::string line = "|---|";
  std::vector<const Option*> all;
  for (Way way : kWays) {
    text += fmt::format(" `{}` |", WordOf(way));
    line += "---|";
    for (const Option* option : OptionsOf(CommandOf(way))) {
      auto known = [&](const Option* other) {
        return other->name() == option->name() && other->job.fill == option->job.fill;
      };
      if (option->heading != Heading::kGeneral && std::ranges::none_of(all, known)) {
        all.push_back(option);
      }
    }
  }
  text += '\n' + line + '\n';
  for (const Option* option : all) {
    text += fmt::format("| `{}` |", DashedName(*option));
    for (Way way : kWays) text += fmt::format(" {} |", WordOf(UseOf(*option, way)));
    text += '\n';
  }
  return text;
}

// docs/user/options.md has the table as it is.
TEST(OptionUses, TheDocumentHasTheTable) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SPATE_SOURCE is not set";
  std::ifstream file(std::string(source) + "/docs/user/options.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\n" + OptionUsesTable()), std::string::npos)
      << "docs/user/options.md should have this table:\n"
      << OptionUsesTable();
}

}  // namespace
}  // namespace spate::cli
