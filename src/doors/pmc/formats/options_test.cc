#include "doors/pmc/formats/options.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/lines.h"

namespace spate::pmc {
namespace {

using Words = std::vector<std::string>;
using Set = std::map<std::string, std::string, std::less<>>;

std::expected<Options, Ending> Read(const Words& args, const Set& set = {}) {
  auto variables = [&](std::string_view name) {
    auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
  return ReadOptions(args, variables, "Version: 1\n");
}

// Options of a run of "d"; other arguments come before.
Options Good(Words args, const Set& set = {}) {
  args.emplace_back("d");
  auto read = Read(args, set);
  EXPECT_TRUE(read) << (read ? "" : read.error().text);
  return read.value_or(Options());
}

std::string Refusal(const Words& args, const Set& set = {}) {
  auto read = Read(args, set);
  if (read) return "";
  EXPECT_EQ(read.error().exit_code, 1);
  return read.error().text;
}

TEST(PmcOptionsTest, Defaults) {
  Options o = Good({});
  EXPECT_EQ(o.dag, "d");
  EXPECT_EQ(o.rescue, "d.rescue");
  EXPECT_FALSE(o.skip_rescue || o.per_task_stdio || o.strict_limits || o.keep_affinity ||
               o.set_affinity || o.jobstate_log || o.monitord_hack);
  EXPECT_TRUE(o.lock && o.resource_log && o.sleep_on_recv);
  EXPECT_EQ(o.verbosity, 3);
  EXPECT_FALSE(o.out || o.err);
  EXPECT_EQ(o.max_failures, 0u);
  EXPECT_EQ(o.tries, 1u);
  EXPECT_EQ(o.max_wall_time, Duration());
  EXPECT_EQ(o.host_script, "");
  EXPECT_EQ(o.host_memory_mb, 0u);
  EXPECT_EQ(o.host_cpus, 0u);
  EXPECT_EQ(o.max_fds, 0u);
}

TEST(PmcOptionsTest, EachOption) {
  struct Case {
    Words args;
    bool (*holds)(const Options& o);
  };
  for (const Case& c : std::vector<Case>{
           {{"-v"}, [](const Options& o) { return o.verbosity == 4; }},
           {{"--verbose", "-v", "-v"}, [](const Options& o) { return o.verbosity == 6; }},
           {{"-q", "-v", "-q"}, [](const Options& o) { return o.verbosity == 2; }},
           {{"-q", "-q", "-q", "--quiet"}, [](const Options& o) { return o.verbosity == -1; }},
           {{"-s"}, [](const Options& o) { return o.skip_rescue; }},
           {{"--skip-rescue"}, [](const Options& o) { return o.skip_rescue; }},
           {{"-o", "a b"}, [](const Options& o) { return o.out == "a b" && !o.err; }},
           {{"--stdout", "stderr"}, [](const Options& o) { return o.out == "stderr"; }},
           {{"-o", "-"}, [](const Options& o) { return o.out == "-"; }},
           {{"-e", "./-n"}, [](const Options& o) { return o.err == "./-n" && !o.out; }},
           {{"--max-failures", "5x"}, [](const Options& o) { return o.max_failures == 5; }},
           {{"-t", " 7"}, [](const Options& o) { return o.tries == 7; }},
           {{"-t", "2", "--tries", "3"}, [](const Options& o) { return o.tries == 3; }},
           {{"-n"}, [](const Options& o) { return !o.lock; }},
           {{"--nolock"}, [](const Options& o) { return !o.lock; }},
           {{"-r", "x"}, [](const Options& o) { return o.rescue == "x"; }},
           {{"--rescue", "x"}, [](const Options& o) { return o.rescue == "x"; }},
           {{"--host-script", "/s"}, [](const Options& o) { return o.host_script == "/s"; }},
           {{"--host-memory", "9"}, [](const Options& o) { return o.host_memory_mb == 9; }},
           {{"--host-cpus", "4.9"}, [](const Options& o) { return o.host_cpus == 4; }},
           {{"--host-cpus", "0", "--set-affinity"},
            [](const Options& o) { return o.set_affinity; }},
           {{"--strict-limits"}, [](const Options& o) { return o.strict_limits; }},
           {{"--max-wall-time", "1.5"},
            [](const Options& o) { return o.max_wall_time == Duration::Seconds(90); }},
           {{"--max-wall-time", "inf"},
            [](const Options& o) { return o.max_wall_time == Duration::Seconds(6'000'000'000); }},
           {{"--per-task-stdio"},
            [](const Options& o) { return o.per_task_stdio && !o.monitord_hack; }},
           {{"--jobstate-log"}, [](const Options& o) { return o.jobstate_log; }},
           {{"--monitord-hack"},
            [](const Options& o) { return o.monitord_hack && o.per_task_stdio; }},
           {{"--no-resource-log"}, [](const Options& o) { return !o.resource_log; }},
           {{"--no-sleep-on-recv"}, [](const Options& o) { return !o.sleep_on_recv; }},
           {{"--maxfds", "1"}, [](const Options& o) { return o.max_fds == 1; }},
           {{"--keep-affinity"}, [](const Options& o) { return o.keep_affinity; }},
       }) {
    EXPECT_TRUE(c.holds(Good(c.args))) << testing::PrintToString(c.args);
    EXPECT_FALSE(c.holds(Good({}))) << testing::PrintToString(c.args);
  }
}

TEST(PmcOptionsTest, WordsForTheDefaults) {
  EXPECT_EQ(Good({"-o", "x", "-o", "stdout"}).out, std::nullopt);
  EXPECT_EQ(Good({"-e", "x", "--stderr", "stderr"}).err, std::nullopt);
  EXPECT_EQ(Good({"-m", "3", "-m", "0"}).max_failures, 0u);
}

TEST(PmcOptionsTest, TheDagStandsAnywhere) {
  for (const Words& args :
       {Words{"d", "-t", "2", "-s"}, {"-t", "2", "d", "-s"}, {"-s", "-t", "2", "d"}}) {
    auto read = Read(args);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->dag, "d");
    EXPECT_EQ(read->tries, 2u);
    EXPECT_TRUE(read->skip_rescue);
  }
}

TEST(PmcOptionsTest, Refusals) {
  struct Case {
    Words args;
    std::string_view text;
  };
  for (const Case& c : std::vector<Case>{
           {{"-x", "d"}, "Unrecognized argument: -x\n"},
           {{"-", "d"}, "Unrecognized argument: -\n"},
           {{"--", "d"}, "Unrecognized argument: --\n"},
           {{"-nv", "d"}, "Unrecognized argument: -nv\n"},
           {{"d", "--treis", "2"}, "Unrecognized argument: --treis; did you mean --tries?\n"},
           {{"--tries=2", "d"}, "Unrecognized argument: --tries=2; did you mean --tries?\n"},
           {{"d", "e"}, "Invalid argument: 'e', where the DAG file is 'd' already\n"},
           {{"", "e"}, "Invalid argument: the name of the DAG file is empty\n"},
           {{"-s"}, "No DAG file is given\n"},
           {{"-o", "d"}, "No DAG file is given: 'd' is the PATH of -o/--stdout\n"},
           {{"-t", "2"}, "No DAG file is given: '2' is the N of -t/--tries\n"},
           {{"d", "-t"}, "-t/--tries requires N\n"},
           {{"d", "--host-memory"}, "--host-memory requires MB\n"},
           {{"-o", "-s", "d"}, "-o/--stdout requires PATH\n"},
           {{"-t", "d"}, "Invalid value for -t/--tries: 'd' (N is a whole number, at least 1)\n"},
           {{"-t", "0", "d"},
            "Invalid value for -t/--tries: '0' (N is a whole number, at least 1)\n"},
           {{"-m", "-1", "d"},
            "Invalid value for -m/--max-failures: '-1' (N is a whole number, 0 or more)\n"},
           {{"-m", "99999999999", "d"},
            "Invalid value for -m/--max-failures: '99999999999' (N is a whole number, 0 or "
            "more)\n"},
           {{"-o", "", "d"}, "Invalid value for -o/--stdout: '' (PATH is the path of a file)\n"},
           {{"-e", "", "d"}, "Invalid value for -e/--stderr: '' (PATH is the path of a file)\n"},
           {{"-r", "", "d"}, "Invalid value for -r/--rescue: '' (PATH is the path of a file)\n"},
           {{"--host-memory", "0", "d"},
            "Invalid value for --host-memory: '0' (MB is a whole number, at least 1)\n"},
           {{"--host-cpus", "-1", "d"},
            "Invalid value for --host-cpus: '-1' (N is a whole number, 0 or more)\n"},
           {{"--maxfds", "0", "d"},
            "Invalid value for --maxfds: '0' (N is a whole number, at least 1)\n"},
           {{"--max-wall-time", "-0.5", "d"},
            "Invalid value for --max-wall-time: '-0.5' (MIN is a number of minutes, 0 or more)\n"},
           {{"--max-wall-time", "nan", "d"},
            "Invalid value for --max-wall-time: 'nan' (MIN is a number of minutes, 0 or more)\n"},
           {{"--host-cpus", "2", "--set-affinity", "d"},
            "--set-affinity does not go with a number of CPUs (--host-cpus or PMC_HOST_CPUS)\n"},
           {{"-x\n", "d"}, "Unrecognized argument: -x\\n\n"},
       }) {
    EXPECT_EQ(Refusal(c.args), c.text);
  }
}

TEST(PmcOptionsTest, Variables) {
  Options o = Good({}, {{"PMC_HOST_SCRIPT", "/s"},
                        {"PMC_HOST_MEMORY", "10"},
                        {"PMC_HOST_CPUS", "3"},
                        {"PMC_MAX_WALL_TIME", "0.5"},
                        {"PMC_TRIES", "7"}});
  EXPECT_EQ(o.host_script, "/s");
  EXPECT_EQ(o.host_memory_mb, 10u);
  EXPECT_EQ(o.host_cpus, 3u);
  EXPECT_EQ(o.max_wall_time, Duration::Seconds(30));
  EXPECT_EQ(o.tries, 1u);
  // The command line wins, and what it wins over need not even be good.
  o = Good(
      {"--host-script", "/t", "--host-memory", "1", "--host-cpus", "0", "--max-wall-time", "0"},
      {{"PMC_HOST_SCRIPT", "/s"},
       {"PMC_HOST_MEMORY", "x"},
       {"PMC_HOST_CPUS", "3"},
       {"PMC_MAX_WALL_TIME", "5"}});
  EXPECT_EQ(o.host_script, "/t");
  EXPECT_EQ(o.host_memory_mb, 1u);
  EXPECT_EQ(o.host_cpus, 0u);
  EXPECT_EQ(o.max_wall_time, Duration());
  EXPECT_EQ(Good({}, {{"PMC_HOST_SCRIPT", ""}}).host_script, "");
  EXPECT_EQ(Good({}, {{"PMC_HOST_MEMORY", "0"}}).host_memory_mb, 0u) << "the machine's";
  EXPECT_EQ(Good({}, {{"PMC_HOST_CPUS", "0"}}).host_cpus, 0u);
}

TEST(PmcOptionsTest, BadVariables) {
  struct Case {
    Set set;
    std::string_view text;
  };
  for (const Case& c : std::vector<Case>{
           {{{"PMC_HOST_MEMORY", "-1"}},
            "Invalid value for PMC_HOST_MEMORY: '-1' (MB is a whole number, at least 1)\n"},
           {{{"PMC_HOST_MEMORY", ""}},
            "Invalid value for PMC_HOST_MEMORY: '' (MB is a whole number, at least 1)\n"},
           {{{"PMC_HOST_CPUS", "-2"}},
            "Invalid value for PMC_HOST_CPUS: '-2' (N is a whole number, 0 or more)\n"},
           {{{"PMC_MAX_WALL_TIME", "long"}},
            "Invalid value for PMC_MAX_WALL_TIME: 'long' (MIN is a number of minutes, 0 or "
            "more)\n"}}) {
    EXPECT_EQ(Refusal({"d"}, c.set), c.text);
  }
  EXPECT_EQ(Refusal({"--set-affinity", "d"}, {{"PMC_HOST_CPUS", "2"}}),
            "--set-affinity does not go with a number of CPUs (--host-cpus or PMC_HOST_CPUS)\n");
}

TEST(PmcOptionsTest, HelpAndVersion) {
  const Ending help = {.text = HelpText(), .exit_code = 0};
  for (const Words& args : {Words{"-h"}, {"--help"}, {"d", "-h"}, {"--bad", "-h"}, {"-V", "-h"}}) {
    auto read = Read(args, {{"PMC_HOST_CPUS", "x"}});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), help);
  }
  EXPECT_EQ(Read({}).error(), (Ending{.text = HelpText(), .exit_code = 1}));
  const Ending version = {.text = "Version: 1\n", .exit_code = 0};
  EXPECT_EQ(Read({"-V"}).error(), version);
  EXPECT_EQ(Read({"d", "--version", "--bad"}).error(), version);
  EXPECT_EQ(Refusal({"--bad", "-V"}), "Unrecognized argument: --bad\n");
}

TEST(PmcOptionsTest, HelpHasALineForEachOption) {
  const std::string help = HelpText();
  for (std::string_view line : {
           "  -h, --help                 Print this text\n",
           "  -t, --tries N              Try each task up to N times (1)\n",
           "      --max-wall-time MIN    Stop after so many minutes, such as 1.5 (0: no limit); or "
           "set PMC_MAX_WALL_TIME\n",
       }) {
    EXPECT_NE(help.find(line), std::string::npos) << line << help;
  }
  for (std::string_view name :
       {"-h, --help ",         "-V, --version ",     "-v, --verbose ",     "-q, --quiet ",
        "-s, --skip-rescue ",  "-o, --stdout PATH ", "-e, --stderr PATH ", "-m, --max-failures N ",
        "-t, --tries N ",      "-n, --nolock ",      "-r, --rescue PATH ", "--host-script PATH ",
        "--host-memory MB ",   "--host-cpus N ",     "--strict-limits ",   "--max-wall-time MIN ",
        "--per-task-stdio ",   "--jobstate-log ",    "--monitord-hack ",   "--no-resource-log ",
        "--no-sleep-on-recv ", "--maxfds N ",        "--keep-affinity ",   "--set-affinity "}) {
    EXPECT_NE(help.find(name), std::string::npos) << name;
  }
  for (std::string_view rest = help; auto line = format::NextLine(&rest);) {
    EXPECT_LE(line->size(), 110u) << *line;
  }
}

}  // namespace
}  // namespace spate::pmc
