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
  EXPECT_EQ(made->run.sources.array->count(), 9u);
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

TEST(SubmitOptions, AnArrayHasNoOtherValues) {
  for (const Argv& more :
       {Argv{"-a", "f", "--", "echo"}, Argv{"--json-lines", "f", "--", "echo"},
        Argv{"--max-args", "2", "--", "echo"}, Argv{"--header", ":", "--", "echo"},
        Argv{"--pipepart", "-a", "f", "--", "cat"}, Argv{"--", "echo", ":::", "x"}}) {
    Argv typed = {"--array", "1-3"};
    typed.insert(typed.end(), more.begin(), more.end());
    auto made = Made(kSubmitWords, typed, MakeSubmitOptions);
    ASSERT_FALSE(made) << more.front();
    EXPECT_TRUE(
        made.error().message.starts_with("--array already provides the values; leave out "));
  }
  EXPECT_TRUE(
      Made(kSubmitWords, {"--array", "1-3", "-I", ",,", "--", "echo", ",,"}, MakeSubmitOptions));
}

TEST(SubmitOptions, APoolIsALabel) {
  auto made =
      Made(kSubmitWords, {"--pool", "lab", "--label", "zoo", "jobs.lst"}, MakeSubmitOptions);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pool, "lab");
  EXPECT_EQ(made->run.needs.labels, (Argv{"pool:lab", "zoo"}));
  EXPECT_FALSE(Made(kSubmitWords, {"--pool", "", "jobs.lst"}, MakeSubmitOptions));
}

TEST(SubmitOptions, ListsOfNodesAreRefused) {
  auto error = [](const Argv& words) {
    auto made = Made(kSubmitWords, words, MakeSubmitOptions);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(
      error({"--on", "n1,n2", "jobs.lst"}),
      "--on: 'n1,n2' is a list of names; to use any of several nodes, start them with --label "
      "NAME and write --label NAME");
  EXPECT_EQ(error({"--not-on", "n[1-2]", "jobs.lst"}),
            "--not-on: 'n[1-2]' is a list of names; repeat the option for each name");
  EXPECT_EQ(error({"--label", "a b", "jobs.lst"}),
            "--label: 'a b' is a list of names; repeat the option for each name");
  EXPECT_EQ(error({"--on", "n-1.site", "--not-on", "n2", "--label", "pool:a", "jobs.lst"}), "");
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
  // Nodes drop what describes the batch job around the command.
  const Argv in_job = {"SLURM_JOB_ID=9", "SLURM_NTASKS=64", "A=1"};
  EXPECT_EQ(CaptureEnvironment({"A=2"}, in_job).value().back(), "A=2");
  auto refused = CaptureEnvironment({"SLURM_NTASKS=4"}, in_job);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("-- env SLURM_NTASKS=VALUE COMMAND"));
  EXPECT_EQ(CaptureEnvironment({"SLURM_NTASKS=4"}, all).value().back(), "SLURM_NTASKS=4");
}

}  // namespace
}  // namespace spate::cli
