#include "cli/options/submit_options.h"

#include <gtest/gtest.h>

#include "cli/options/hub_options.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

template <typename Make>
auto Made(Command command, const Argv& argv, Make make) {
  auto words = ParseWords(command, argv);
  EXPECT_TRUE(words) << words.error().message;
  return make(*words);
}

TEST(SubmitOptions, ArraysAreRanges) {
  EXPECT_EQ(ParseArray("1-10").value(), (ArrayRange{1, 10, 1, 0}));
  EXPECT_EQ(ParseArray("0-100:5%7").value(), (ArrayRange{0, 100, 5, 7}));
  EXPECT_EQ(ParseArray("7").value(), (ArrayRange{7, 7, 1, 0}));
  EXPECT_EQ(ParseArray("0-100:7").value().count(), 15u);
  for (const char* wrong : {"", "a", "3-1", "1-2:0", "1-2%0", "1-2x", "1-", "1-200000000", "-1"}) {
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

TEST(SubmitOptions, TakesTheOptionsOfRun) {
  auto made = Made(
      Command::kSubmit,
      {"--array",   "1-9%3", "--after", "4",        "--priority", "-2",      "--memory", "1G",
       "--retries", "2",     "--wait",  "--time",   "10m",        "--label", "fast",     "--label",
       "big",       "--on",  "n1",      "--not-on", "n2",         "--",      "echo",     "{}"},
      MakeSubmitOptions);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->array->last, 9u);
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
  auto list = Made(Command::kSubmit, {"-j", "4", "jobs.lst"}, MakeSubmitOptions);
  EXPECT_EQ(list->run.sources.files, Argv{"jobs.lst"});
  EXPECT_EQ(list->max_running, 4u);
  EXPECT_FALSE(Made(Command::kSubmit, {"--array", "1-3", "jobs.lst"}, MakeSubmitOptions));
}

TEST(SubmitOptions, APoolIsALabel) {
  auto made =
      Made(Command::kSubmit, {"--pool", "lab", "--label", "zoo", "jobs.lst"}, MakeSubmitOptions);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->pool, "lab");
  EXPECT_EQ(made->run.needs.labels, (Argv{"pool:lab", "zoo"}));
  EXPECT_FALSE(Made(Command::kSubmit, {"--pool", "", "jobs.lst"}, MakeSubmitOptions));
}

TEST(SubmitOptions, JobAddHasTheJobFirst) {
  auto made = Made(Command::kJobAdd, {"12", "more.lst"}, MakeSubmitOptions);
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

TEST(HubOptions, ListensByDefault) {
  EXPECT_EQ(Made(Command::kHubStart, {}, MakeHubOptions)->listen, Argv{"*:18150"});
  EXPECT_EQ(Made(Command::kHubStart, {"--listen", "none"}, MakeHubOptions)->listen, Argv{});
  EXPECT_EQ(Made(Command::kHubStart, {"--listen", "a", "--listen", "b:1"}, MakeHubOptions)->listen,
            (Argv{"a", "b:1"}));
}

TEST(HubOptions, SilenceOfNodes) {
  auto hub =
      Made(Command::kHubStart, {"--suspect-after", "5", "--lost-after", "2m"}, MakeHubOptions);
  ASSERT_TRUE(hub) << hub.error().message;
  EXPECT_EQ(hub->suspect_after, Duration::Seconds(5));
  EXPECT_EQ(hub->lost_after, Duration::Seconds(120));
  for (const Argv& wrong : std::vector<Argv>{{"--suspect-after", "0.5"},
                                             {"--suspect-after", "2d", "--lost-after", "3d"},
                                             {"--lost-after", "14s"}}) {
    EXPECT_FALSE(Made(Command::kHubStart, wrong, MakeHubOptions));
  }
}

TEST(HubOptions, AccessIsAddedListedRevoked) {
  auto add =
      Made(Command::kHubAccess, {"add", "--role", "node", "--user", "ada", "--expires", "90d"},
           MakeAccessOptions);
  ASSERT_TRUE(add) << add.error().message;
  EXPECT_EQ(add->role, AccessRole::kNode);
  EXPECT_EQ(add->lifetime, Duration::Seconds(90 * 86400));
  EXPECT_EQ(Made(Command::kHubAccess, {"revoke", "3", "4"}, MakeAccessOptions)->serials,
            (std::vector<uint64_t>{3, 4}));
  for (const Argv& wrong : std::vector<Argv>{{"revoke"}, {"revoke", "x"}, {"list", "3"}, {"new"}}) {
    EXPECT_FALSE(Made(Command::kHubAccess, wrong, MakeAccessOptions));
  }
}

TEST(NodeOptions, OffersAreRead) {
  auto node = Made(
      Command::kNodeStart,
      {"--name",     "n1",  "-j",          "3",      "--cpus",  "2",       "--memory",    "4G",
       "--gpus",     "0,2", "--resource",  "disk=2", "--label", "fast",    "--label",     "big",
       "--lifetime", "2h",  "--idle-exit", "60",     "--users", "ada,bob", "--allow-root"},
      MakeNodeOptions);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->milli_cpus, 2000u);
  EXPECT_EQ(*node->gpus, (Argv{"0", "2"}));
  EXPECT_EQ(node->offers.at(0).indices, (Argv{"0", "1"}));
  EXPECT_EQ(node->labels, (Argv{"big", "fast"}));
  EXPECT_EQ(node->lifetime, Duration::Seconds(7200));
  EXPECT_EQ(node->users, (Argv{"ada", "bob"}));
  EXPECT_TRUE(node->allow_root);
  EXPECT_FALSE(Made(Command::kNodeStart, {"--gpus", "auto"}, MakeNodeOptions)->gpus);
  EXPECT_EQ(Made(Command::kNodeStart, {}, MakeNodeOptions)->gang_port, std::nullopt);
  EXPECT_EQ(Made(Command::kNodeStart, {"--gang-port", "7001"}, MakeNodeOptions)->gang_port, 7001);
  EXPECT_EQ(Made(Command::kNodeStart, {"--gang-port", "none"}, MakeNodeOptions)->gang_port, 0);
  for (const char* port : {"0", "65536", "", "7001x"}) {
    EXPECT_FALSE(Made(Command::kNodeStart, {"--gang-port", port}, MakeNodeOptions)) << port;
  }
  EXPECT_FALSE(Made(Command::kNodeStart, {"--label", "a b"}, MakeNodeOptions));
  EXPECT_EQ(node->bind, BindTo::kNone);
  EXPECT_EQ(Made(Command::kNodeStart, {"--bind", "core"}, MakeNodeOptions)->bind, BindTo::kCore);
  EXPECT_EQ(Made(Command::kNodeStart, {"--bind", "numa"}, MakeNodeOptions)->bind, BindTo::kNuma);
  EXPECT_EQ(Made(Command::kNodeStart, {"--bind", "none"}, MakeNodeOptions)->bind, BindTo::kNone);
  EXPECT_FALSE(Made(Command::kNodeStart, {"--bind", "cpu"}, MakeNodeOptions));
}

}  // namespace
}  // namespace spate::cli
