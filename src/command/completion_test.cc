#include "cli/manual/completion.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "command/all_commands.h"
#include "doors/parasol/programs/programs.h"
#include "format/lines.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

const std::vector<Programs> kDoors = {parasol::ParasolPrograms()};

// The words that a shell shows: those that fit the typed text, and those of the shell itself.
struct Completion {
  std::string question;  // that spate was asked
  std::string answer = "";

  std::string Offers(const Argv& typed) {
    auto ask = [this](Argv words) {
      question = fmt::format("{}", fmt::join(words, " "));
      return answer;
    };
    std::string lines = Complete(typed, AllCommands(), kDoors, ask);
    std::string offered;
    for (std::string_view rest = lines; auto line = format::NextLine(&rest);) {
      std::string_view word = line->substr(0, line->find('\t'));
      if (!word.starts_with(typed.back()) && !word.starts_with(':')) continue;
      offered += (offered.empty() ? "" : " ") + std::string(word);
    }
    return offered;
  }
};

std::string Offers(const Argv& typed) { return Completion().Offers(typed); }

TEST(CompletionTest, CommandsVerbsAndPrograms) {
  EXPECT_EQ(Offers({"ru"}), "run");
  EXPECT_EQ(
      Offers({"par"}),
      "para paraHub paraHubStop paraNode paraNodeStart paraNodeStatus paraNodeStop paraTestJob "
      "parasol");
  EXPECT_EQ(Offers({"--"}), "--help --version");
  EXPECT_EQ(Offers({"job", "re"}), "retry release");
  EXPECT_EQ(Offers({"task", "li"}), "list");
  EXPECT_EQ(Offers({"help", "ho"}), "");
  EXPECT_EQ(Offers({"help", "jo"}), "job");
  EXPECT_EQ(Offers({"nothing", ""}), "");
}

TEST(CompletionTest, OptionsOfTheCommandAlone) {
  EXPECT_EQ(Offers({"run", "--keep-or"}), "--keep-order");
  EXPECT_EQ(Offers({"job", "cat", "--st"}), "--state --stream --stderr");
  EXPECT_EQ(Offers({"task", "cat", "--st"}), "--state --stream --stderr");
  EXPECT_EQ(Offers({"job", "list", "--ta"}), "");
  EXPECT_EQ(Offers({"node", "start", "--idl"}), "--idle-exit");
  EXPECT_TRUE(Offers({"run", "-"}).starts_with("-j --jobs "));
}

TEST(CompletionTest, ValuesOfOptions) {
  EXPECT_EQ(Offers({"run", "--output", "j"}), "json");
  EXPECT_EQ(Offers({"run", "--output=j"}), "--output=json");
  EXPECT_EQ(Offers({"hub", "start", "--policy", "easy"}), "easy easy-sjbf");
  EXPECT_EQ(Offers({"simulate", "--policy", "f"}), "fcfs fair");
  EXPECT_EQ(Offers({"run", "--retries", "x"}), "");
  EXPECT_EQ(Offers({"run", "--joblog", "x"}), ":files");
  EXPECT_EQ(Offers({"run", "--cwd", "x"}), ":folders");
  EXPECT_EQ(Offers({"run", "-kj", "x"}), "") << "-kj ends with -j, which takes a number";
  EXPECT_EQ(Offers({"run", "-k", "x"}), ":files") << "a switch has no value";
}

TEST(CompletionTest, BehindTwoDashesACommand) {
  EXPECT_EQ(Offers({"run", "--", "gz"}), ":programs");
  EXPECT_EQ(Offers({"run", "--", "gzip", "-"}), ":files");
}

TEST(CompletionTest, JobsAreAskedFor) {
  Completion completion{"", "1\n2\n12\n"};
  EXPECT_EQ(completion.Offers({"job", "info", ""}), "last 1 2 12");
  EXPECT_EQ(completion.question, "job list --limit=1000 --quiet");
  EXPECT_EQ(completion.Offers({"job", "info", "1"}), "1 12");
  EXPECT_EQ(completion.Offers({"task", "info", "1"}), "1. 12.");
  EXPECT_EQ(completion.Offers({"job", "hold", "l"}), "last");
  EXPECT_EQ(completion.question, "job list --limit=1000 --filter=running,queued,held --quiet");
  completion.Offers({"job", "close", ""});
  EXPECT_EQ(completion.question,
            "job list --limit=1000 --filter=running,queued,held --hub --quiet");
  completion.Offers({"state", "check", ""});
  EXPECT_EQ(completion.question, "job list --limit=1000 --quiet");
}

TEST(CompletionTest, WhoseJobsIsWhatWasTyped) {
  Completion completion;
  for (const Argv& typed : {Argv{"--local", "--state", "d"}, Argv{"--local", "--state", "=", "d"},
                            Argv{"--local", "--json", "--state=d"}}) {
    Argv words = {"job", "info"};
    words.insert(words.end(), typed.begin(), typed.end());
    words.emplace_back();
    completion.Offers(words);
    EXPECT_EQ(completion.question, "job list --limit=1000 --quiet --local --state=d");
  }
}

TEST(CompletionTest, NodesAndPools) {
  Completion completion{"", "n1\nn2\n"};
  EXPECT_EQ(completion.Offers({"node", "drain", ""}), "n1 n2");
  EXPECT_EQ(completion.question, "node list --quiet");
  completion.Offers({"pool", "info", "--access=a", ""});
  EXPECT_EQ(completion.question, "pool list --quiet --access=a");
  EXPECT_EQ(Offers({"pool", "add", "s"}), "slurm ssh");
}

TEST(CompletionTest, ProgramsOfDoors) {
  EXPECT_EQ(Offers({"para", "s"}), "shove stop slow status showSickNodes");
  EXPECT_EQ(Offers({"parasol", "list", "m"}), "machines");
  EXPECT_EQ(Offers({"parasol", "list", "machines", "x"}), ":files");
  EXPECT_NE(Offers({"para", "-"}).find("-batch="), std::string::npos);
  EXPECT_EQ(Offers({"para", "-batch", "=", "dir"}), ":files");
}

}  // namespace
}  // namespace spate::cli::command
