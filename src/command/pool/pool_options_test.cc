#include "cli/options/pool_options.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "command/testing_world.h"
#include "wire/question_checks.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

Result<NewPool> Made(const Argv& argv) {
  auto words = ParseWords(Named("pool add"), argv);
  EXPECT_TRUE(words) << words.error().message;
  return MakeNewPool(*words);
}

TEST(PoolOptions, SayWhatIsWished) {
  auto made = Made({"slurm",
                    "lab",
                    "--time-limit",
                    "1h",
                    "--max-pilots=20",
                    "--min-pilots=2",
                    "--backlog=3",
                    "--nodes-per-pilot=4",
                    "--idle-exit",
                    "never",
                    "--lifetime",
                    "50m",
                    "--slots=8",
                    "--cpus=7.5",
                    "--memory",
                    "16G",
                    "--gpus=2",
                    "--resource",
                    "disk=3",
                    "--resource=disk=4",
                    "--label=fast",
                    "--label=big",
                    "--label=fast",
                    "--prologue",
                    "module load x",
                    "--wrapper=apptainer exec x.sif",
                    "--chain",
                    "--spread",
                    "--submit-rate=10/m",
                    "--submit-command=/opt/sbatch",
                    "--command-word=-M",
                    "--command-word=big",
                    "--address",
                    "login1:18150",
                    "--folder=/scratch/p",
                    "--no-shared-files",
                    "--user=*",
                    "--node-option=--tmp",
                    "--node-option=/tmp",
                    "--watch-unknown=1h",
                    "--watch-suspended=10m-2h",
                    "--watch-silent=never",
                    "--no-test",
                    "--",
                    "-p",
                    "short"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->system, "slurm");
  EXPECT_EQ(made->name, "lab");
  EXPECT_FALSE(made->test);
  EXPECT_FALSE(made->dry_run);
  const PoolPolicy& wish = made->wish.values;
  const PoolSettings& settings = wish.settings;
  EXPECT_EQ(wish.time_limit, Duration::Seconds(3600));
  EXPECT_EQ(wish.max_pilots, 20u);
  EXPECT_EQ(wish.min_pilots, 2u);
  EXPECT_EQ(wish.backlog, 3u);
  EXPECT_EQ(wish.nodes_per_pilot, 4u);
  EXPECT_EQ(wish.idle_exit, Duration::Max());
  EXPECT_EQ(wish.lifetime, Duration::Seconds(3000));
  EXPECT_EQ(wish.shape.slots, 8u);
  EXPECT_EQ(wish.shape.milli_cpus, 7500u);
  EXPECT_EQ(wish.shape.memory, uint64_t{16} << 30);
  EXPECT_EQ(wish.shape.named, (std::vector<NamedNeed>{{"disk", 4}, {"gpus", 2}}));
  EXPECT_EQ(wish.shape.labels, (Argv{"big", "fast"}));
  EXPECT_EQ(settings.prologue, "module load x");
  EXPECT_EQ(settings.wrapper, "apptainer exec x.sif");
  EXPECT_EQ(wish.chain, true);
  EXPECT_EQ(wish.spread, true);
  EXPECT_EQ(wish.submit_interval, Duration::Seconds(6));
  EXPECT_EQ(settings.submit_command, "/opt/sbatch");
  EXPECT_EQ(settings.everywhere, (Argv{"-M", "big"}));
  EXPECT_EQ(settings.addresses, Argv{"login1:18150"});
  EXPECT_EQ(settings.folder, "/scratch/p");
  EXPECT_EQ(settings.shared_files, false);
  EXPECT_EQ(wish.user, "*");
  EXPECT_EQ(settings.node_options, (Argv{"--tmp", "/tmp"}));
  EXPECT_EQ(wish.watch.init, Duration::Seconds(3600));
  EXPECT_EQ(wish.watch.suspended_from, Duration::Seconds(600));
  EXPECT_EQ(wish.watch.suspended_until, Duration::Seconds(7200));
  EXPECT_EQ(wish.watch.silent, Duration::Max());
  EXPECT_EQ(settings.options, (Argv{"-p", "short"}));
  EXPECT_TRUE(
      wire::CheckBeforeSending(wire::AddPool{made->name, made->system, made->wish, true, false}));
}

TEST(PoolOptions, WhatIsNotTypedIsTheHubs) {
  auto made = Made({"pbs", "lab"});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->wish.empty());
  EXPECT_TRUE(made->test);
}

TEST(PoolOptions, ThoseOfABatchSystemBelongAfterTheDashes) {
  auto message = [](const Argv& argv) {
    auto words = ParseWords(Named("pool add"), argv, AllCommands());
    return words ? "" : words.error().message;
  };
  for (const char* typed : {"-p", "-c4", "--partition=short", "-t"}) {
    EXPECT_TRUE(message({"slurm", "lab", typed}).contains("write those at the end, after --"))
        << message({"slurm", "lab", typed});
  }
  EXPECT_TRUE(message({"slurm", "lab", "-slots"}).contains("did you mean --slots?"));
  EXPECT_TRUE(message({"slurm", "lab", "-cpus=4"}).contains("did you mean --cpus"));
  EXPECT_TRUE(message({"slurm", "lab", "-Z"}).starts_with("-Z: unknown option"));
}

TEST(PoolOptions, NodesOfHostsStay) {
  auto made = Made({"ssh", "lab", "--hosts", "pc1,pc2:4"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->wish.values.min_pilots, 1u);
  EXPECT_EQ(made->wish.values.max_pilots, 1u);
  EXPECT_EQ(made->wish.values.idle_exit, Duration::Max());
  EXPECT_EQ(made->hosts.size(), 2u);
  made = Made({"local", "here", "--min-pilots=0", "--idle-exit=10m"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->wish.values.min_pilots, 0u);
  EXPECT_EQ(made->wish.values.max_pilots, 1u);
  EXPECT_EQ(made->wish.values.idle_exit, Duration::Seconds(600));
}

TEST(PoolOptions, TheTimeLimitMayStandAmongTheOwnOptions) {
  auto made = Made({"slurm", "lab", "--", "-p", "short", "-t", "1h"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->wish.values.time_limit, Duration::Seconds(3600));
  EXPECT_EQ(made->wish.values.settings.options, (Argv{"-p", "short", "-t", "1:00:00"}));
  EXPECT_TRUE(Made({"slurm", "lab", "--time-limit=1h", "--", "-t", "60"}));
  made = Made({"slurm", "lab", "--time-limit", "2h", "--", "-t", "60"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "--time-limit is 2h00m, but '-t 60' after -- is 1h00m; write only one of them");
}

TEST(PoolOptions, WhatIsWrongIsTold) {
  struct Case {
    Argv argv;
    std::string_view message;
  };
  const Case kCases[] = {
      {{"lsf", "lab"}, "'lsf' is not a batch system"},
      {{"lab", "slurm"}, "'lab' is not a batch system"},
      {{"slurm", "2lab"}, "'2lab' is not a valid name for a pool"},
      {{"ssh", "lab"}, "the hosts are missing"},
      {{"ssh", "lab", "--hosts", "a b"}, "--hosts: 'a b' is not a host"},
      {{"ssh", "averyveryveryverylongname", "--hosts", "a"}, "'averyveryveryverylongname' is too"},
      {{"pbs", "lab", "--hosts", "pc1"}, "--hosts is only for ssh pools"},
      {{"pbs", "lab", "--max-pilots", "0"}, "--max-pilots: write 1 or more"},
      {{"pbs", "lab", "--max-pilots", "2", "--min-pilots", "3"}, "--min-pilots 3 is above"},
      {{"pbs", "lab", "--time-limit", "0"}, "--time-limit: write a time above 0"},
      {{"pbs", "lab", "--idle-exit", "soon"}, "--idle-exit: 'soon' is not a duration"},
      {{"pbs", "lab", "--folder", "p"}, "--folder: 'p' does not begin with a /"},
      {{"pbs", "lab", "--label", "pool:x"}, "--label: 'pool:x' is not a label"},
      {{"pbs", "lab", "--submit-rate", "1/d"}, "--submit-rate: '1/d' is not a rate"},
      {{"pbs", "lab", "--watch-suspended", "2h-1h"}, "--watch-suspended: '2h-1h' is not FROM-TO"},
  };
  for (const Case& each : kCases) {
    auto made = Made(each.argv);
    ASSERT_FALSE(made) << each.message;
    EXPECT_EQ(made.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(made.error().message.starts_with(each.message)) << made.error().message;
  }
}

TEST(PoolOptions, ARateIsATimeBetweenSubmits) {
  struct Case {
    const char* text;
    int64_t millis;
  };
  for (const Case& each : {Case{"1", 1000}, Case{"0.5", 2000}, Case{"4/s", 250}, Case{"10/m", 6000},
                           Case{"10/min", 6000}, Case{"1/h", 3'600'000}}) {
    auto rate = ParseSubmitRate(each.text);
    ASSERT_TRUE(rate) << each.text;
    EXPECT_EQ(*rate, Duration::Millis(each.millis)) << each.text;
  }
  for (const char* wrong : {"", "0", "-1", "1/", "1/d", "x", "/s", "1e3", "5000", "0.000001"}) {
    EXPECT_FALSE(ParseSubmitRate(wrong)) << wrong;
  }
}

TEST(PoolOptions, AChangeChangesSomething) {
  auto change = [](const Argv& argv) {
    auto words = ParseWords(Named("pool set"), argv);
    EXPECT_TRUE(words) << words.error().message;
    return MakePoolChange(*words, "slurm");
  };
  EXPECT_TRUE(change({"lab"}).error().message.starts_with("nothing to change"));
  EXPECT_FALSE(change({"lab", "--json"}));
  auto wish = change({"lab", "--max-pilots", "50", "--chain=false", "--no-shared-files=false"});
  ASSERT_TRUE(wish) << wish.error().message;
  PoolChange expected;
  expected.Set(expected.values.max_pilots, 50);
  expected.Set(expected.values.chain, false);
  expected.Set(expected.values.settings.shared_files, true);
  EXPECT_EQ(*wish, expected);
  wish = change({"lab", "--", "-t", "2h"});
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->values.settings.options, (Argv{"-t", "2:00:00"}));
  EXPECT_EQ(wish->Get(wish->values.time_limit), Duration::Seconds(7200));
  wish = change({"lab", "--"});
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->Get(wish->values.settings.options), Argv());
}

}  // namespace
}  // namespace spate::cli::command
