#include "cli/options/retry_options.h"

#include <gtest/gtest.h>

#include "cli/options/run_options.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

TEST(RetryOptions, CausesGoRoundTrip) {
  struct Case {
    const char* typed;
    CauseSet causes;
    std::vector<ExitRange> exits;
    const char* text;
  };
  const CauseSet exit = CauseBit(Cause::kExit) | CauseBit(Cause::kStart);
  const Case cases[] = {
      {"all", kAllCauses, {}, "all"},
      {"exit,signal", static_cast<CauseSet>(exit | CauseBit(Cause::kSignal)), {}, "exit,signal"},
      {"exit:3", 0, {{3, 3}}, "exit:3"},
      {"exit:3,75,137-140", 0, {{3, 3}, {75, 75}, {137, 140}}, "exit:3,75,137-140"},
      {"exit:75,3,4-6,signal", CauseBit(Cause::kSignal), {{3, 6}, {75, 75}}, "signal,exit:3-6,75"},
      {"signal,exit:9,node",
       static_cast<CauseSet>(CauseBit(Cause::kSignal) | CauseBit(Cause::kNode)),
       {{9, 9}},
       "signal,node,exit:9"},
      {"exit:1,exit:2", 0, {{1, 2}}, "exit:1-2"},
  };
  for (const Case& each : cases) {
    auto wanted = ParseRetryCauses(each.typed);
    ASSERT_TRUE(wanted) << each.typed;
    EXPECT_EQ(wanted->causes, each.causes) << each.typed;
    EXPECT_EQ(wanted->exits, each.exits) << each.typed;
    RetryPolicy policy{.retry_on = wanted->causes, .exits = wanted->exits};
    EXPECT_EQ(RetryOnText(policy), each.text);
    auto again = ParseRetryCauses(RetryOnText(policy));
    ASSERT_TRUE(again) << each.text;
    EXPECT_EQ(again->exits, each.exits);
    EXPECT_EQ(again->causes, each.causes);
  }
}

TEST(RetryOptions, BadOnesAreRefused) {
  struct Case {
    Argv argv;
    const char* message;
  };
  const Case cases[] = {
      {{"--retry-on", "exit:0", "l"},
       "--retry-on: 'exit:0' is not an exit code; write codes and ranges from 1 to 255, as in "
       "exit:3,75,137-140"},
      {{"--retry-on", "exit:3,256", "l"},
       "--retry-on: '256' is not an exit code; write codes and ranges from 1 to 255, as in "
       "exit:3,75,137-140"},
      {{"--retry-on", "exit,exit:3", "l"},
       "--retry-on: 'exit,exit:3' names every exit code (exit, all) and some of them (exit:CODES); "
       "write one of the two"},
      {{"--retry-on", "7", "l"},
       "--retry-on: '7' is not a cause; write one or more of exit, exit:CODES, signal, time, "
       "memory, excess, check, node, separated by commas"},
      {{"--retry-memory", "x2", "l"},
       "--retry-memory multiplies the tasks' memory; add --memory SIZE"},
      {{"--memory", "1G", "--max-memory", "2G", "l"},
       "--max-memory limits --retry-memory; add --retry-memory x2, or leave it out"},
      {{"--memory", "2G", "--retry-memory", "x2", "--max-memory", "1G", "l"},
       "--max-memory: 1.0 GB is less than --memory 2.0 GB; write a larger size"},
      {{"--memory", "2G", "--retry-memory", "2", "l"},
       "--retry-memory: '2' is not a factor; write x and a number from 1.1 to 100, as in x2 or "
       "x1.5"},
      {{"--memory", "2G", "--retry-memory", "x2", "--retry-on", "signal", "l"},
       "--retry-memory is for tasks that ran out of memory, but --retry-on does not name memory; "
       "add it there"},
  };
  for (const Case& each : cases) {
    auto words = ParseWords(kRunWords, each.argv);
    ASSERT_TRUE(words);
    auto options = MakeRunOptions(*words);
    ASSERT_FALSE(options) << each.message;
    EXPECT_EQ(options.error().message, each.message);
  }
}

TEST(RetryOptions, MemoryGrowsAndTriesGoElsewhere) {
  auto words = ParseWords(kRunWords, Argv{"--memory", "2G", "--retry-memory", "x1.5",
                                          "--max-memory", "8G", "--retry-elsewhere", "2", "l"});
  ASSERT_TRUE(words);
  auto options = MakeRunOptions(*words);
  ASSERT_TRUE(options) << options.error().message;
  const RetryPolicy& retry = options->policy.retry;
  EXPECT_EQ(retry.memory_growth, 150u);
  EXPECT_EQ(retry.max_memory, 8ull << 30);
  EXPECT_EQ(retry.elsewhere, 2u);
  EXPECT_EQ(GrowthText(retry.memory_growth), "x1.5");
}

}  // namespace
}  // namespace spate::cli
