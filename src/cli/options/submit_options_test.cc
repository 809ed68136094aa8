#include "cli/options/submit_options.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

template <typename Make>
auto Made(const Command& command, const Argv& argv, Make make) {
  auto words = ParseWords(command, argv);
  EXPECT_TRUE(words) << words.error().message;
  return make(*words);
}

TEST(SubmitOptions, ArraysAreRanges) {
  EXPECT_EQ(ParseArray("1-10").value(), (ArrayNumbers{{{1, 10, 1}}, 0}));
  EXPECT_EQ(ParseArray("0-100:5%7").value(), (ArrayNumbers{{{0, 100, 5}}, 7}));
  EXPECT_EQ(ParseArray("7").value(), (ArrayNumbers{{{7, 7, 1}}, 0}));
  EXPECT_EQ(ParseArray("1,3,7-9%10").value(),
            (ArrayNumbers{{{1, 1, 1}, {3, 3, 1}, {7, 9, 1}}, 10}));
  EXPECT_EQ(ParseArray("1-9:2,2-8:2").value().count(), 9u);
  EXPECT_EQ(ParseArray("0-100:7").value().count(), 15u);
  for (const char* wrong : {"", "a", "3-1", "1-2:0", "1-2%0", "1-2x", "1-", "1-200000000", "-1",
                            "1,", ",1", "1,1", "1-9,5", "1-9:2,4-9:3", "1%2,3"}) {
    EXPECT_FALSE(ParseArray(wrong)) << wrong;
  }
}

TEST(SubmitOptions, AfterNamesAJob) {
  EXPECT_EQ(ParseAfter("12").value().how, AfterHow::kOk);
  EXPECT_EQ(ParseAfter("each:12").value().how, AfterHow::kEach);
  EXPECT_EQ(ParseAfter("any:last").value().job, "last");
  EXPECT_FALSE(ParseAfter("soon:12"));
  EXPECT_FALSE(ParseAfter("ok:"));
}

// A pilot's node has an end that is known.
TEST(SubmitOptions, ASignalNeedsNoTimeLimit) {
  EXPECT_TRUE(Made(kSubmitWords, {"--signal", "USR1@60s", "--", "true"}, MakeSubmitOptions));
  EXPECT_TRUE(Made(kRunWords, {"--hub", "--signal", "USR1@60s", "--", "true"}, MakeRunOptions));
  EXPECT_FALSE(Made(kRunWords, {"--signal", "USR1@60s", "--", "true"}, MakeRunOptions));
}

TEST(SubmitOptions, TakesTheOptionsOfRun) {
  auto made = Made(
      kSubmitWords,
      {"--array",   "1-9%3", "--after", "4",        "--priority", "-2",      "--memory", "1G",
       "--retries", "2",     "--wait",  "--time",   "10m",        "--label", "fast",     "--label",
       "big",       "--on",  "n1",      "--not-on", "n2",         "--",      "echo",     "{}"},
      MakeSubmitOptions);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->array->count(), 9u);
  EXPECT_EQ(made->max_running, 3u);
  EXPECT_EQ(made->after.at(0).job, "4");
  EXPECT_EQ(made->priority, -2);
  EXPECT_EQ(made->run.needs.memory, 1u << 30);
  EXPECT_EQ(made->run.policy.retry.retries, 2u);
  EXPECT_TRUE(made->wait);
  EXPECT_EQ(made->run.needs.time, Duration::Seconds(600));
  EXPECT_EQ(made->run.needs.labels, (Argv{"big", "fast"}));
  EXPECT_EQ(made->run.needs.on_node, "n1");
  EXPECT_EQ(made->run.needs.not_on, Argv{"n2"});
  auto list = Made(kSubmitWords, {"-j", "4", "jobs.lst"}, MakeSubmitOptions);
  EXPECT_EQ(list->run.sources.files, Argv{"jobs.lst"});
  EXPECT_EQ(list->max_running, 4u);
  EXPECT_FALSE(Made(kSubmitWords, {"--array", "1-3", "jobs.lst"}, MakeSubmitOptions));
}

TEST(SubmitOptions, APoolIsALabel) {
  auto made =
      Made(kSubmitWords, {"--pool", "lab", "--label", "zoo", "jobs.lst"}, MakeSubmitOptions);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pool, "lab");
  EXPECT_EQ(made->run.needs.labels, (Argv{"pool:lab", "zoo"}));
  EXPECT_FALSE(Made(kSubmitWords, {"--pool", "", "jobs.lst"}, MakeSubmitOptions));
}

TEST(SubmitOptions, JobAddHasTheJobFirst) {
  auto made = Made(kAddWords, {"12", "more.lst"}, MakeSubmitOptions);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->job, "12");
  EXPECT_EQ(made->run.sources.files, Argv{"more.lst"});
}

TEST(SubmitOptions, CapturesTheEnvironment) {
  const Argv all = {"A=1", "PATH=/bin"};
  EXPECT_EQ(CaptureEnvironment({}, all).value(), all);
  EXPECT_EQ(CaptureEnvironment({"none"}, all).value(), Argv{});
  EXPECT_EQ(CaptureEnvironment({"none", "A"}, all).value(), Argv{"A=1"});
  EXPECT_EQ(CaptureEnvironment({"A=2", "all"}, all).value(), (Argv{"PATH=/bin", "A=2"}));
  EXPECT_FALSE(CaptureEnvironment({"B"}, all));
}

}  // namespace
}  // namespace spate::cli
