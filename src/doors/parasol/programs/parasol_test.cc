#include "doors/parasol/programs/parasol.h"

#include <gtest/gtest.h>

namespace spate::parasol {
namespace {

TEST(ParasolTest, CommandsAreFound) {
  struct Row {
    std::vector<std::string> args;
    ParasolVerb verb;
    std::vector<std::string> words;
  };
  const Row kRows[] = {
      {{"add", "machine", "n1", "/tmp"}, ParasolVerb::kAddMachine, {"n1", "/tmp"}},
      {{"add", "machine", "n1", "2", "4096", "/tmp", "/scratch", "100", "sw"},
       ParasolVerb::kAddMachine,
       {"n1", "2", "4096", "/tmp", "/scratch", "100", "sw"}},
      {{"add", "spoke"}, ParasolVerb::kAddSpoke, {}},
      {{"-results=r", "add", "job", "blat", "-out=x", "a=b"},
       ParasolVerb::kAddJob,
       {"blat", "-out=x", "a=b"}},
      {{"remove", "machine", "n1", "it smokes"}, ParasolVerb::kRemoveMachine, {"n1", "it smokes"}},
      {{"remove", "job", "7"}, ParasolVerb::kRemoveJob, {"7"}},
      {{"remove", "job", "7-12"}, ParasolVerb::kRemoveJob, {"7-12"}},
      {{"remove", "jobs", "ann"}, ParasolVerb::kRemoveJobs, {"ann"}},
      {{"remove", "jobs", "ann", "*x"}, ParasolVerb::kRemoveJobs, {"ann", "*x"}},
      {{"ping"}, ParasolVerb::kPing, {}},
      {{"ping", "3"}, ParasolVerb::kPing, {"3"}},
      {{"list", "machine"}, ParasolVerb::kListMachines, {}},
      {{"-extended", "list", "jobs"}, ParasolVerb::kListJobs, {}},
      {{"list", "user"}, ParasolVerb::kListUsers, {}},
      {{"list", "batches"}, ParasolVerb::kListBatches, {}},
      {{"list", "sick"}, ParasolVerb::kListSick, {}},
      {{"status"}, ParasolVerb::kStatus, {}},
      {{"host=hub", "pstat"}, ParasolVerb::kPstat, {}},
      {{"pstat2"}, ParasolVerb::kPstat2, {}},
      {{"plan"}, ParasolVerb::kPlan, {}},
      {{"check", "dead"}, ParasolVerb::kCheckDead, {}},
      {{"clear", "sick"}, ParasolVerb::kClearSick, {}},
      {{"flushResults"}, ParasolVerb::kFlushResults, {}},
  };
  for (const Row& row : kRows) {
    auto ask = ParseParasol(row.args);
    ASSERT_TRUE(ask.has_value()) << row.args.back();
    EXPECT_EQ(ask->verb, row.verb) << row.args.back();
    EXPECT_EQ(ask->words, row.words) << row.args.back();
  }
}

TEST(ParasolTest, TooFewWordsGetTheUsage) {
  const std::vector<std::string> kArgs[] = {
      {},
      {"-printId"},
      {"add"},
      {"add", "job"},
      {"add", "machine", "n1"},
      {"add", "machine", "n1", "2", "4096"},
      {"remove", "machine", "n1"},
      {"remove", "job"},
      {"remove", "job", "abc"},
      {"remove", "job", "7-"},
      {"ping", "x"},
      {"list", "machines", "x"},
      {"check", "dead", "x"},
      {"clear", "sick", "x"},
      {"flushResults", "x"},
      {"remove", "jobs"},
      {"list"},
      {"list", "hats"},
      {"check"},
      {"clear"},
      {"dance"},
  };
  for (const auto& args : kArgs) {
    auto ask = ParseParasol(args);
    ASSERT_FALSE(ask.has_value());
    EXPECT_EQ(ask.error().message, kParasol.usage);
  }
}

TEST(ParasolTest, Wildcards) {
  struct Row {
    std::string_view pattern, text;
    bool matches;
  };
  const Row kRows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "any thing", true},
      {"a?c", "abc", true},
      {"a?c", "ac", false},
      {"?", "", false},
      {"*.fa", "x.fa", true},
      {"*.fa", "x.fab", false},
      {"*a*b", "xaybzb", true},
      {"*a*b", "xaybz", false},
      {"blat *", "blat a b", true},
      {"blat", "blat a", false},
      {"**c", "abc", true},
      {"a*", "A", false},
      {"*ab", "aab", true},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(MatchesWildcards(row.pattern, row.text), row.matches)
        << row.pattern << " on " << row.text;
  }
}

}  // namespace
}  // namespace spate::parasol
