#include "cli/options/run_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "cli/options/needs_change.h"
#include "cli/options/shared.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

Result<RunOptions> Make(const Argv& argv) {
  auto words = ParseWords(kRunWords, argv);
  if (!words) return std::unexpected(words.error());
  return MakeRunOptions(*words);
}

RunOptions Good(const Argv& argv) {
  auto options = Make(argv);
  EXPECT_TRUE(options) << argv.front() << ": " << options.error().message;
  return options ? *options : RunOptions{};
}

std::string Wrong(const Argv& argv) {
  auto options = Make(argv);
  if (options) {
    auto ok = CheckSources(*options);
    return ok ? "" : ok.error().message.substr(0, ok.error().message.find('\n'));
  }
  return options.error().message.substr(0, options.error().message.find('\n'));
}

TEST(RunOptionsTest, Defaults) {
  RunOptions options = Good({"jobs.lst"});
  EXPECT_EQ(options.sources.files, Argv{"jobs.lst"});
  EXPECT_EQ(SlotCount(options.slots, 6), 6u);
  EXPECT_EQ(options.needs, Needs{});
  EXPECT_EQ(options.policy.retry.retries, 0u);
  EXPECT_EQ(options.policy.retry.retry_on, kAllCauses);
  EXPECT_EQ(options.policy.halt.when, HaltRule::When::kNever);
  EXPECT_EQ(options.settings.kill_grace, Duration::Seconds(10));
  EXPECT_EQ(options.keep_output, uint64_t{1} << 30);
  EXPECT_EQ(options.keep, HistoryBound{});
  EXPECT_EQ(OfferedMilliCpus(options, 6), 6000u);
}

using See = std::function<bool(const RunOptions&)>;
using Cases = std::map<std::string_view, std::pair<Argv, See>>;

// Options that came late from GNU parallel.
Cases LateCases() {
  return {
      {"retry-elsewhere",
       {{"--retry-elsewhere", "2"}, [](auto& o) { return o.policy.retry.elsewhere == 2; }}},
      {"retry-memory",
       {{"--memory", "1G", "--retry-memory", "x2"},
        [](auto& o) { return o.policy.retry.memory_growth == 200; }}},
      {"max-memory",
       {{"--memory", "1G", "--retry-memory", "x2", "--max-memory", "3G"},
        [](auto& o) { return o.policy.retry.max_memory == 3ull << 30; }}},
      {"delimiter", {{"-d", "\\t"}, [](auto& o) { return o.sources.delimiter == "\t"; }}},
      {"format",
       {{"--format", "dag"}, [](auto& o) { return o.sources.format == ListFormat::kDag; }}},
      {"csv", {{"--csv"}, [](auto& o) { return o.sources.csv; }}},
      {"literal-braces", {{"--literal-braces"}, [](auto& o) { return o.literal_braces; }}},
      {"replace-str", {{"-I", ",,"}, [](auto& o) { return o.settings.replace == ",,"; }}},
      {"pipefail",
       {{"--pipefail"}, [](auto& o) { return o.settings.shell == "bash -o pipefail"; }}},
      {"pipe",
       {{"--pipe", "--", "wc"},
        [](auto& o) { return o.sources.input.from == InputOptions::From::kPipe; }}},
      {"pipepart",
       {{"--pipe-part", "-a", "f", "--", "wc"},
        [](auto& o) { return o.sources.input.from == InputOptions::From::kParts; }}},
      {"block",
       {{"--pipe", "--blocksize", "2K", "--", "wc"},
        [](auto& o) { return o.sources.input.block == 2048; }}},
      {"recstart",
       {{"--pipe", "--recstart", ">", "--", "wc"},
        [](auto& o) { return o.sources.input.recstart == ">" && o.sources.input.recend.empty(); }}},
      {"recend",
       {{"--pipe", "--recend", ";\\n", "--", "wc"},
        [](auto& o) { return o.sources.input.recend == ";\n"; }}},
      {"round-robin",
       {{"--pipe", "--roundrobin", "--", "wc"},
        [](auto& o) { return o.sources.input.round_robin; }}},
      {"shell", {{"--shell", "bash"}, [](auto& o) { return o.settings.shell == "bash"; }}},
      {"tagstring",
       {{"--tagstring", "{#}"}, [](auto& o) { return o.show.tag && o.show.tag_text == "{#}"; }}},
      {"json", {{"--json"}, [](auto& o) { return o.show.form == OutputForm::kJson; }}},
      {"procs", {{"--procs", "4"}, [](auto& o) { return o.gang.procs == 4; }}},
      {"nodes", {{"--nodes", "2"}, [](auto& o) { return o.gang.nodes == 2; }}},
      {"procs-per-node",
       {{"--nodes", "2", "--procs-per-node", "3"}, [](auto& o) { return o.gang.procs == 6; }}},
      {"whole-nodes", {{"--nodes", "1", "--whole-nodes"}, [](auto& o) { return o.gang.whole; }}},
      {"start",
       {{"--procs", "2", "--start", "first"},
        [](auto& o) { return o.gang.start == GangShape::Start::kFirst; }}},
      {"bound", {{"--bound", "memory"}, [](auto& o) { return o.bound == BoundBy::kMemory; }}},
      {"deadline", {{"--deadline", "+2h"}, [](auto& o) { return o.deadline_text == "+2h"; }}},
      {"time", {{"--time", "1h"}, [](auto& o) { return o.needs.time == Duration::Seconds(3600); }}},
      {"signal",
       {{"--signal", "USR1@60s", "--time-limit", "1h"},
        [](auto& o) {
          return o.settings.warn_signal == 10 && o.settings.warn_before == Duration::Seconds(60);
        }}},
      {"leftovers",
       {{"--leftovers", "fail"},
        [](auto& o) {
          return o.settings.leftovers == Leftovers::kFail && o.settings.leftovers_wait.ns == 0;
        }}},
      {"append",
       {{"--append", "--stdout", "log"},
        [](auto& o) { return o.settings.append_output && o.show.append_results; }}},
      {"state", {{"--state", "s"}, [](auto& o) { return o.state_dir == "s"; }}},
      {"keep",
       {{"--keep", "5G", "--keep", "7d"},
        [](auto& o) {
          return o.keep == HistoryBound{Duration::Seconds(7 * 86400), uint64_t{5} << 30};
        }}},
      {"array",
       {{"--array", "1-9%3", "--", "x"},
        [](auto& o) { return o.sources.array && o.policy.max_running == 3; }}},
      {"max-running", {{"--max-running", "3"}, [](auto& o) { return o.slots.value == 3; }}},
      {"profile", {{"-J", "big"}, [](auto& o) { return o.profiles == Argv{"big"}; }}},
  };
}

Cases LimitCases() {
  return {
      {"max-processes",
       {{"--max-processes", "50"}, [](auto& o) { return o.settings.max_processes == 50; }}},
      {"max-open-files",
       {{"--max-open-files", "64"},
        [](auto& o) {
          return o.settings.limits == std::vector<ProcessLimit>{{LimitKind::kOpenFiles, 64}};
        }}},
      {"max-core",
       {{"--max-core", "0"},
        [](auto& o) {
          return o.settings.limits == std::vector<ProcessLimit>{{LimitKind::kCoreBytes, 0}};
        }}},
      {"on-excess",
       {{"--on-excess", "cpu=kill", "--on-excess", "stop,memory=warn"},
        [](auto& o) {
          return o.settings.on_excess_cpu == OnExcess::kKill &&
                 o.settings.on_excess_memory == OnExcess::kWarn &&
                 o.settings.on_excess_processes == OnExcess::kStop;
        }}},
  };
}

// Every option of `run` in the table is understood and changes something that can be seen.
TEST(RunOptionsTest, EveryOptionOfRunChangesSomething) {
  Cases cases = {
      {"arg-file", {{"-a", "f"}, [](auto& o) { return o.sources.arg_files == Argv{"f"}; }}},
      {"json-lines",
       {{"--json-lines", "f"}, [](auto& o) { return o.sources.json_files == Argv{"f"}; }}},
      {"null", {{"-0"}, [](auto& o) { return o.sources.null_separated; }}},
      {"colsep", {{"--colsep", ","}, [](auto& o) { return o.sources.colsep == ","; }}},
      {"header", {{"--header", ":"}, [](auto& o) { return o.sources.header; }}},
      {"max-args", {{"-n2"}, [](auto& o) { return o.sources.max_args == 2; }}},
      {"fill", {{"-X"}, [](auto& o) { return o.sources.fill; }}},
      {"trim", {{"--trim", "lr"}, [](auto& o) { return o.sources.trim == TrimRule::kBoth; }}},
      {"follow", {{"--follow"}, [](auto& o) { return o.sources.follow; }}},
      {"follow-until",
       {{"--follow-until", "END"}, [](auto& o) { return o.sources.follow_until == "END"; }}},
      {"target",
       {{"--target", "a,b"},
        [](auto& o) { return o.sources.targets == std::vector<std::string>{"a,b"}; }}},
      {"resume", {{"--resume"}, [](auto& o) { return o.resume; }}},
      {"dry-run", {{"--dry-run"}, [](auto& o) { return o.dry_run; }}},
      {"cpus",
       {{"--cpus", "0.5"}, [](auto& o) { return o.needs.milli_cpus == 500 && o.cpus_given; }}},
      {"memory", {{"--memory", "2G"}, [](auto& o) { return o.needs.memory == 2ull << 30; }}},
      {"gpus",
       {{"--gpus", "1"},
        [](auto& o) { return o.needs.named == std::vector{NamedNeed{"gpus", 1}}; }}},
      {"resource",
       {{"--resource", "b=2", "--resource", "a=1", "--resource", "b=3"},
        [](auto& o) {
          return o.needs.named == std::vector{NamedNeed{"a", 1}, NamedNeed{"b", 3}};
        }}},
      {"offer",
       {{"--offer", "b=x,y", "--offer", "a=2"},
        [](auto& o) {
          return o.offers == std::vector{NamedOffer{"a", {"0", "1"}}, NamedOffer{"b", {"x", "y"}}};
        }}},
      {"jobs", {{"-j3"}, [](auto& o) { return SlotCount(o.slots, 8) == 3 && o.slots_given; }}},
      {"delay",
       {{"--delay", "0.5"},
        [](auto& o) { return o.settings.start_delay == Duration::Millis(500); }}},
      {"min-free-memory",
       {{"--min-free-memory", "1K"}, [](auto& o) { return o.settings.min_free_memory == 1024; }}},
      {"max-load", {{"--max-load", "150%"}, [](auto& o) { return MaxLoad(o, 4) == 6; }}},
      {"nice", {{"--nice", "-5"}, [](auto& o) { return o.settings.nice == -5; }}},
      {"order", {{"--order", "longest"}, [](auto& o) { return o.order == TaskOrder::kLongest; }}},
      {"shuf", {{"--shuf"}, [](auto& o) { return o.order == TaskOrder::kShuffle; }}},
      {"time-limit",
       {{"--timeout", "300%"}, [](auto& o) { return o.settings.time_limit_percent == 300; }}},
      {"warn-time",
       {{"--warn-time", "1m"},
        [](auto& o) { return o.settings.warn_time == Duration::Seconds(60); }}},
      {"kill-grace",
       {{"--kill-grace", "0"}, [](auto& o) { return o.settings.kill_grace.ns == 0; }}},
      {"retries", {{"--retries", "3"}, [](auto& o) { return o.policy.retry.retries == 3; }}},
      {"retry-on",
       {{"--retry-on", "signal", "--retry-on", "time"},
        [](auto& o) {
          return o.policy.retry.retry_on ==
                 (CauseBit(Cause::kSignal) | CauseBit(Cause::kTimeLimit));
        }}},
      {"retry-delay",
       {{"--retry-delay", "2s"},
        [](auto& o) { return o.policy.retry.delay == Duration::Seconds(2); }}},
      {"max-failures",
       {{"--max-failures", "7"}, [](auto& o) { return o.policy.max_failures == 7; }}},
      {"halt",
       {{"--halt", "2"}, [](auto& o) { return o.policy.halt.when == HaltRule::When::kNow; }}},
      {"once", {{"--once"}, [](auto& o) { return o.policy.retry.once; }}},
      {"env",
       {{"--env", "A=1", "--env", "B=2", "--env", "A=3"},
        [](auto& o) { return o.settings.environment == Argv{"B=2", "A=3"}; }}},
      {"cwd", {{"--wd", "x"}, [](auto& o) { return o.cwd == "x"; }}},
      {"stdin", {{"--stdin", "{}"}, [](auto& o) { return o.settings.stdin_pattern == "{}"; }}},
      {"stdout", {{"--stdout", "o"}, [](auto& o) { return o.settings.stdout_pattern == "o"; }}},
      {"stderr", {{"--stderr", "e"}, [](auto& o) { return o.settings.stderr_pattern == "e"; }}},
      {"put",
       {{"--hub", "--put", "a", "--put", "{}"},
        [](auto& o) { return o.settings.put_patterns == Argv{"a", "{}"}; }}},
      {"get",
       {{"--hub", "--get", "b/{#}"},
        [](auto& o) { return o.settings.get_patterns == Argv{"b/{#}"}; }}},
      {"forward",
       {{"--forward", "OUT=all"},
        [](auto& o) { return o.settings.forward_patterns == Argv{"OUT=all"}; }}},
      {"forward-file",
       {{"--forward-file", "p{}=all"},
        [](auto& o) { return o.settings.forward_file_patterns == Argv{"p{}=all"}; }}},
      {"resident", {{"--resident", "--", "x"}, [](auto& o) { return o.sources.resident; }}},
      {"measure-io", {{"--measure-io"}, [](auto& o) { return o.settings.measure_io; }}},
      {"keep-order", {{"-k"}, [](auto& o) { return o.show.keep_order; }}},
      {"tag", {{"--tag"}, [](auto& o) { return o.show.tag; }}},
      {"line-buffer",
       {{"--lb"}, [](auto& o) { return o.show.line_buffer && o.settings.live_output; }}},
      {"output", {{"--output=json"}, [](auto& o) { return o.show.form == OutputForm::kJson; }}},
      {"quiet", {{"-q"}, [](auto& o) { return o.show.form == OutputForm::kQuiet; }}},
      {"no-bar", {{"--no-bar"}, [](auto& o) { return !o.show.bar; }}},
      {"joblog", {{"--joblog", "l"}, [](auto& o) { return o.show.joblog == "l"; }}},
      {"results", {{"--results", "d"}, [](auto& o) { return o.show.results_dir == "d"; }}},
      {"keep-output", {{"--keep-output", "0"}, [](auto& o) { return o.keep_output == 0; }}},
      {"comment", {{"--comment", "c"}, [](auto& o) { return o.settings.comment == "c"; }}},
      {"name", {{"--name", "n"}, [](auto& o) { return o.settings.name == "n"; }}},
      {"hub", {{"--hub"}, [](auto& o) { return o.hub; }}},
      {"no-ulimits", {{"--hub", "--no-ulimits"}, [](auto& o) { return o.no_ulimits; }}},
      {"access", {{"--access", "a"}, [](auto& o) { return o.hub && o.access == "a"; }}},
  };
  cases.merge(LateCases());
  cases.merge(LimitCases());
  const std::set<std::string_view> kWhereAndWhich = {
      "pool", "key", "after", "like", "priority", "weight", "label", "on", "not-on"};
  for (const Option* option : OptionsOf(kRunWords)) {
    const Option& def = *option;
    if (def.heading == Heading::kGeneral || kWhereAndWhich.contains(def.name())) continue;
    auto found = cases.find(def.name());
    ASSERT_NE(found, cases.end()) << "no case for --" << def.name();
    EXPECT_TRUE(found->second.second(Good(found->second.first))) << "--" << def.name();
    EXPECT_FALSE(found->second.second(Good({"x"}))) << "--" << def.name();
  }
}

TEST(RunOptionsTest, WrongValuesNameTheFix) {
  const std::pair<Argv, std::string> kCases[] = {
      {{"-j", "x"},
       "--jobs: 'x' is not a number of tasks; write for example 8, 50%, +2, -1 or 0 (as many as "
       "possible), at most 4096"},
      {{"-j", "5000"},
       "--jobs: '5000' is not a number of tasks; write for example 8, 50%, +2, -1 or 0 (as many "
       "as possible), at most 4096"},
      {{"-j", "1.5"},
       "--jobs: '1.5' is not a number of tasks; write for example 8, 50%, +2, -1 or 0 (as many as "
       "possible), at most 4096"},
      {{"--put", "a"},
       "--put and --get are only for nodes of a hub (spate run --hub, spate submit); tasks on this "
       "machine have your files already"},
      {{"--hub", "--get", "../a"},
       "--get: '../a' leads out of the folder: files go to and from a task's own folder, so name "
       "them by a relative path without '..'"},
      {{"--comment", std::string(1025, 'x')},
       "--comment: a comment has at most 1,024 bytes, and this one has 1,025"},
      {{"--memory", "2Q"}, "--memory: '2Q' is not a size; write for example 64K, 1.5G or 2GiB"},
      {{"--time-limit", "soon"},
       "--time-limit: 'soon' is not a duration; write for example 90, 1.5s, 200ms, 10m, 1h30m, "
       "HH:MM:SS or DAYS-HH:MM:SS, or 300% of the median"},
      {{"--timeout", "50%"},
       "--time-limit: '50%' is not a valid percentage of the median time; write more than 100%, "
       "such as 300%"},
      {{"--time-limit", "0"},
       "--time-limit: '0' would terminate every task at once; write a time above 0"},
      {{"--signal", "USR1"},
       "--signal: 'USR1' is not a signal and a time before the time limit; write for example "
       "USR1@60s"},
      {{"--signal", "FOO@60s"},
       "--signal: 'FOO@60s' is not a signal and a time before the time limit; write for example "
       "USR1@60s"},
      {{"--signal", "KILL@60s"},
       "--signal: 'KILL@60s' is a signal that no program can catch; write for example USR1@60s"},
      {{"--signal", "USR1@0"},
       "--signal: 'USR1@0' is not before the time limit; write a time above 0"},
      {{"--signal", "USR1@60s", "--", "true"},
       "--signal needs a time limit; add one, as in --time-limit 1h"},
      {{"--signal", "USR1@60s", "--time-limit", "300%", "--", "true"},
       "--signal needs a --time-limit in time units, because a percentage of the median is not "
       "known in advance"},
      {{"--signal", "USR1@1m", "--time-limit", "60s", "--", "true"},
       "--signal: 1m00s before the time limit of 1m00s, the task has not started yet; write a "
       "shorter time"},
      {{"--leftovers", "kill"},
       "--leftovers: 'kill' is not supported; write wait, wait=T (such as wait=5m), end or fail"},
      {{"--leftovers", "wait=0"},
       "--leftovers: 'wait=0' does not wait at all; write a time above 0, or fail"},
      {{"--resident", "--leftovers", "wait", "--", "w"},
       "--resident without --leftovers: its process outlives each of its tasks"},
      {{"--retries", "-1"}, "--retries: '-1' is not a whole number from 0 to 10,000"},
      {{"--retry-on", "exit,sig"},
       "--retry-on: 'sig' is not a cause; write one or more of exit, exit:CODES, signal, time, "
       "memory, excess, check, node, separated by commas"},
      {{"--halt", "now"},
       "--halt: 'now' is not supported; write never, or WHEN,WHAT=N or N% with WHEN soon or now "
       "and WHAT fail, success or done, such as now,fail=1 or soon,done=50%"},
      {{"--cpus", "-1"}, "--cpus: '-1' is not a number of cores; write for example 2 or 0.5"},
      {{"--cpus", "1e3"}, "--cpus: '1e3' is not a number of cores; write for example 2 or 0.5"},
      {{"--resource", "a"},
       "--resource: 'a' is not NAME=N; write for example licence=1 (letters, digits, _ . -)"},
      {{"--offer", "a="},
       "--offer: 'a=' is not an offer; write NAME=N, such as gpus=2, or NAME=A,B, such as "
       "gpus=0,3"},
      {{"--offer", "a=x,x"}, "--offer: 'a=x,x' offers 'x' twice; give each piece its own name"},
      {{"--order", "best"}, "--order: 'best' is not one of: given shuffle longest"},
      {{"--output", "xml"}, "--output: 'xml' is not one of: human json quiet"},
      {{"--env", "1A=x"},
       "--env: '1A=x' does not begin with the name of a variable (letters, digits and _)"},
      {{"--nice", "20"}, "--nice: '20' is not a whole number from -20 to 19"},
      {{"--header", "x"},
       "--header: 'x' is not supported; write --header :, which uses the first value of each "
       "source as its name"},
      {{"-n0"},
       "--max-args: a task cannot have '0' values; write 1 or more. To run a command once per "
       "value without using the value: -- ': {}; COMMAND' ::: ..."},
      {{"--keep", "90"},
       "--keep: '90' is neither a time nor a size; write for example 90d, 10G or 90d,10G"},
      {{"--keep", ""},
       "--keep: '' is neither a time nor a size; write for example 90d, 10G or 90d,10G"},
      {{"--keep", ","},
       "--keep: ',' is neither a time nor a size; write for example 90d, 10G or 90d,10G"},
      {{"--keep", "1m"}, "--keep: '1m' could mean minutes or megabytes; write 1min or 1M"},
      {{"--keep", "10G,1.5m"},
       "--keep: '1.5m' could mean minutes or megabytes; write 1.5min or 1.5M"},
      {{"--time", "1:99"},
       "--time: '1:99' is not a duration; write for example 90, 1.5s, 200ms, 10m, 1h30m, HH:MM:SS "
       "or DAYS-HH:MM:SS"},
      {{"--name", ""}, "--name: the value is empty"},
      {{"--max-load", "0"},
       "--max-load: '0' is not a load; write for example 4, 1.5 or 80% (of the cores)"},
      {{"--output", "json", "--lb"},
       "--output json prints a task's output together with its end; leave out --line-buffer"},
      {{"jobs.lst", "--", "echo"},
       "there is both a job list ('jobs.lst') and a command after --; leave one of them out (for "
       "values from a file, write -a FILE)"},
      {{"--"}, "there is no command after --; write for example: spate run -- gzip {} ::: *.txt"},
      {{}, "nothing to run: name a job list (- for standard input), or write a command after --"},
      {{"--pipe", "a.lst"}, "--pipe needs a command that reads standard input: --pipe -- wc -l"},
      {{"--pipe", "-a", "f", "--", "wc"},
       "--pipe reads standard input; write < FILE, or use --pipepart -a FILE"},
      {{"--pipe", "--block", "-2", "--", "wc"},
       "--block -N needs the size of the input: write --block SIZE, or --pipepart"},
      {{"--pipepart", "--", "wc"}, "--pipepart needs the file to split: --pipepart -a FILE"},
      {{"--pipepart", "-a", "f", "-n2", "--", "wc"},
       "--pipepart splits by size; leave out -n, or use --pipe"},
      {{"--pipe", "--stdin", "f", "--", "wc"},
       "--pipe: the block is the standard input; leave out --stdin"},
      {{"--pipe", "--csv", "--", "wc"},
       "--pipe: tasks have no values; leave out options for values"},
      {{"--hub", "--pipe", "--", "wc"},
       "--pipe reads standard input on this machine; with a hub, use --pipepart with a file that "
       "its nodes can read"},
  };
  for (const auto& [argv, message] : kCases) EXPECT_EQ(Wrong(argv), message);
}

TEST(RunOptionsTest, OptionsOfAHubOrWithoutACommandNameTheFix) {
  const std::pair<Argv, std::string> kCases[] = {
      {{"--key", "k"}, "--key: only jobs of a hub have keys (spate run --hub, spate submit)"},
      {{"--on", "n1"}, "--on: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--not-on", "n1"}, "--not-on: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--label", "l"}, "--label: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--after", "1"}, "--after: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--like", "1"}, "--like: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--weight", "3"}, "--weight: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--priority", "3"},
       "--priority: only jobs of a hub have it (spate run --hub, spate submit)"},
      {{"--array", "1-3"},
       "--array provides values for a command; write the command after --, as in spate run --array "
       "1-100 -- ./step {}"},
  };
  for (const auto& [argv, message] : kCases) {
    auto options = ParseRun({}, argv);
    ASSERT_FALSE(options) << argv.front();
    EXPECT_EQ(options.error().message, message);
    Argv on_hub = argv;
    on_hub.insert(on_hub.begin(), "--hub");
    EXPECT_EQ(ParseRun({}, on_hub).has_value(), argv.front() != "--array") << argv.front();
  }
}

TEST(RunOptionsTest, WrongValuesOfInputNameTheFix) {
  const std::pair<Argv, std::string> kCases[] = {
      {{"--block", "1M", "--", "wc"},
       "--block, --recstart, --recend and --round-robin are for input that is split into blocks; "
       "add --pipe (standard input) or --pipepart (files of -a)"},
      {{"--recend", "\\n", "--", "wc"},
       "--block, --recstart, --recend and --round-robin are for input that is split into blocks; "
       "add --pipe (standard input) or --pipepart (files of -a)"},
      {{"--block", "0", "--", "wc"},
       "--block: '0' splits nothing; write for example 1M, or with --pipepart -10"},
      {{"--pipepart", "-a", "f", "--block=-0", "--", "wc"},
       "--block: '-0' splits nothing; write for example 1M, or with --pipepart -10"},
      {{"--follow-until", "", "jobs.lst"}, "--follow-until: the value is empty"},
      {{"--follow", "--shuf", "jobs.lst"},
       "--follow starts tasks as their lines arrive; leave out --order"},
      {{"--csv", "--colsep", "ab", "--", "echo"},
       "--csv --colsep 'ab': the separator must be one character, as in --colsep ';'"},
      {{"-0", "-d", ",", "--", "echo"},
       "--null and --delimiter both define the end of a value; leave one out"},
      {{"--tagstring", "{%}", "--", "echo"},
       "--tagstring: {%}, the slot, is not known when output is printed; use {#}, the task's "
       "number"},
      {{"-n2", "jobs.lst"},
       "--max-args is for the values of a command; write the command after --, as in spate run "
       "--max-args ... -- gzip {}"},
  };
  for (const auto& [argv, message] : kCases) EXPECT_EQ(Wrong(argv), message);
}

TEST(RunOptionsTest, ValuesBehindAList) {
  EXPECT_EQ(Wrong({"echo", ":::", "a b"}),
            "':::': values are for a command, and a command stands behind --; write: spate run -- "
            "echo ::: 'a b'. The commands of a list take no values: write them into it");
}

TEST(RunOptionsTest, ValuesAreNotFollowed) {
  for (const Argv& argv :
       {Argv{"--follow", "--", "echo", "{}", ":::", "a", "b"}, Argv{"--follow", "--", "echo", "{}"},
        Argv{"--follow", "-a", "f", "--", "echo"}, Argv{"--follow-until", "x", "--", "echo"}}) {
    EXPECT_EQ(Wrong(argv),
              "--follow is for job lists: the values of a command are read to their end before "
              "anything starts; leave out --follow, or follow a list of whole commands: PRODUCER | "
              "spate run --follow -");
  }
}

TEST(RunOptionsTest, HistoryBounds) {
  const std::pair<Argv, HistoryBound> kCases[] = {
      {{"--keep", "1min"}, {.age = Duration::Seconds(60)}},
      {{"--keep", "1h30m"}, {.age = Duration::Seconds(5400)}},
      {{"--keep", "1M"}, {.bytes = uint64_t{1} << 20}}};
  for (const auto& [argv, bound] : kCases) EXPECT_EQ(Good(argv).keep, bound) << argv.back();
}

TEST(RunOptionsTest, LeftoversAreWaitedFor) {
  const std::tuple<Argv, Leftovers, Duration> kCases[] = {
      {{"--", "true"}, Leftovers::kWait, Duration::Seconds(30)},
      {{"--leftovers", "wait", "--", "true"}, Leftovers::kWait, Duration::Seconds(30)},
      {{"--leftovers", "wait=5m", "--", "true"}, Leftovers::kWait, Duration::Seconds(300)},
      {{"--leftovers", "end", "--", "true"}, Leftovers::kEnd, {}},
      {{"--leftovers", "fail", "--", "true"}, Leftovers::kFail, {}},
      {{"--resident", "--", "worker"}, Leftovers::kEnd, {}},
  };
  for (const auto& [argv, what, wait] : kCases) {
    EXPECT_EQ(Good(argv).settings.leftovers, what);
    EXPECT_EQ(Good(argv).settings.leftovers_wait, wait);
  }
}

TEST(RunOptionsTest, ActionsAtAnExcess) {
  for (const auto& [value, error] : std::map<std::string, std::string>{
           {"pause", "is not supported; write warn, stop or kill, or memory=stop,cpu=warn"},
           {"disk=stop",
            "does not name a resource; write cpu, memory or processes, as in cpu=stop"},
       }) {
    EXPECT_EQ(Wrong({"--on-excess", value, "l"}), "--on-excess: '" + value + "' " + error);
  }
}

TEST(RunOptionsTest, SlotRules) {
  const std::tuple<std::string, uint32_t, uint32_t> kCases[] = {
      {"1", 4, 1},  {"9", 4, 9},    {"0", 4, 4096},    {"50%", 4, 2}, {"50%", 1, 1},
      {"0%", 4, 1}, {"200%", 4, 8}, {"+0", 4, 4},      {"+3", 4, 7},  {"-1", 4, 3},
      {"-9", 4, 1}, {"100%", 6, 6}, {"1_000", 1, 1000}};
  for (const auto& [text, cores, slots] : kCases) {
    auto rule = ParseSlotRule(text);
    ASSERT_TRUE(rule) << text;
    EXPECT_EQ(SlotCount(*rule, cores), slots) << text;
  }
  EXPECT_EQ(OfferedMilliCpus(Good({"-j8"}), 2), 8000u);
  EXPECT_EQ(OfferedMilliCpus(Good({"-j1"}), 2), 2000u);
  EXPECT_EQ(OfferedMilliCpus(Good({"-j8", "--cpus", "1"}), 2), 2000u);
}

TEST(RunOptionsTest, HaltForms) {
  auto show = [](std::string_view text) -> std::string {
    auto rule = ParseHalt(text);
    if (!rule) return "?";
    const char* whens[] = {"never", "soon", "now"};
    const char* whats[] = {"fail", "success", "done"};
    return std::string(whens[static_cast<int>(rule->when)]) + " " +
           whats[static_cast<int>(rule->what)] + " " + std::to_string(rule->count) + " " +
           std::to_string(rule->percent);
  };
  const std::pair<std::string, std::string> kCases[] = {{"never", "never fail 0 0"},
                                                        {"0", "never fail 0 0"},
                                                        {"1", "soon fail 1 0"},
                                                        {"2", "now fail 1 0"},
                                                        {"-1", "soon success 1 0"},
                                                        {"-2", "now success 1 0"},
                                                        {"5%", "soon fail 0 5"},
                                                        {"now,fail=3", "now fail 3 0"},
                                                        {"soon,done=50%", "soon done 0 50"},
                                                        {"now,success=1", "now success 1 0"},
                                                        {"3", "?"},
                                                        {"", "?"},
                                                        {"now,fail", "?"},
                                                        {"now,fail=", "?"},
                                                        {"now,fail=0", "?"},
                                                        {"now,fail=101%", "?"},
                                                        {"now=1,fail", "?"},
                                                        {"later,fail=1", "?"},
                                                        {"%", "?"}};
  for (const auto& [text, meaning] : kCases) EXPECT_EQ(show(text), meaning) << text;
}

TEST(RunOptionsTest, SettingsGetAnAbsoluteFolder) {
  EXPECT_EQ(SettingsOf(Good({"x"}), "/home/u", 2).cwd, "/home/u");
  EXPECT_EQ(SettingsOf(Good({"x", "--cwd", "a/../b"}), "/home/u", 2).cwd, "/home/u/b");
  EXPECT_EQ(SettingsOf(Good({"x", "--cwd", "/tmp/"}), "/home/u", 2).cwd, "/tmp");
  EXPECT_EQ(SettingsOf(Good({"x", "--cwd", "/"}), "/home/u", 2).cwd, "/");
}

TEST(RunOptionsTest, AJobHasAName) {
  EXPECT_EQ(NameOf(Good({"--name", "n", "a.lst"})), "n");
  EXPECT_EQ(NameOf(Good({"dir/a.lst", "b.lst"})), "a.lst b.lst");
  EXPECT_EQ(NameOf(Good({"-"})), "-");
  EXPECT_EQ(NameOf(Good({"--", "gzip", "{}", ":::", "a b"})), "gzip '{}' ::: 'a b'");
  EXPECT_EQ(NameOf(Good({"--", "sort {} | head"})), "sort {} | head");
  const std::string most(76, 'x');
  EXPECT_EQ(NameOf(Good({"--", most + "\u00e4\u00e4\u00e4"})), most + "...");
}

TEST(ParseRunTest, GivenComesOnTop) {
  Argv stored = {"-j4",   "--retries",  "2",    "--env",   "A=1",
                 "--tag", "--retry-on", "exit", "jobs.lst"};
  Argv given = {"--resume", "--retries=5", "--env", "B=2", "--tag=false", "--retry-on", "time"};
  auto options = ParseRun(stored, given);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->resume);
  EXPECT_EQ(options->sources.files, Argv{"jobs.lst"});
  EXPECT_EQ(SlotCount(options->slots, 8), 4u);
  EXPECT_EQ(options->policy.retry.retries, 5u);
  EXPECT_EQ(options->policy.retry.retry_on, CauseBit(Cause::kTimeLimit));
  EXPECT_EQ(options->settings.environment, (Argv{"A=1", "B=2"}));
  EXPECT_FALSE(options->show.tag);
}

TEST(RunOptionsTest, MemoryHasAUnit) {
  for (const char* option : {"--memory", "--max-memory", "--min-free-memory"}) {
    auto words =
        ParseWords(kRunWords, Argv{"--memory", "1G", "--retry-memory", "x2", option, "4000"});
    ASSERT_TRUE(words);
    auto options = MakeRunOptions(*words);
    ASSERT_FALSE(options) << option;
    EXPECT_EQ(options.error().message,
              std::string(option) +
                  ": '4000' has no unit and would be 4,000 bytes; write 4000M (megabytes) or 4000G "
                  "(gigabytes); for bytes: 4000B");
  }
}

// A job of an earlier version may have asked for them.
TEST(ParseRunTest, WordsOfAStoredRunKeepTheirMeaning) {
  const Argv stored = {"--memory", "8000000", "--min-free-memory=4000", "--keep", "30m,500M",
                       "--",       "true"};
  auto options = ParseRun(stored, Argv{});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->needs.memory, 8'000'000u);
  EXPECT_EQ(options->settings.min_free_memory, 4000u);
  EXPECT_EQ(options->keep.age, Duration::Seconds(1800));
  EXPECT_TRUE(ParseAgain(stored, Argv{}, Argv{"--resume"}, kRunWords));
  EXPECT_FALSE(ParseAgain(stored, Argv{}, Argv{"--resume", "--memory", "400"}, kRunWords));
  // $SPATE_OPTIONS, beside what is typed.
  EXPECT_FALSE(ParseRun(Argv{"--memory=400"}, Argv{"--", "true"}));
}

// Forms that are refused when they are typed now.
TEST(ParseRunTest, TimesAndEmptyValuesOfAStoredRunAreAccepted) {
  const Argv stored = {"--time-limit", "0:90",       "--delay",  "1:75:90", "--time",  "1-0:90",
                       "--signal",     "USR1@0:61",  "--keep",   "",        "--block", "0",
                       "--leftovers",  "wait=0:120", "--stdout", "0:90",    "a.lst"};
  auto options = ParseRun(stored, Argv{});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->settings.time_limit, Duration::Seconds(90));
  EXPECT_EQ(options->settings.start_delay, Duration::Seconds(3600 + 75 * 60 + 90));
  EXPECT_EQ(options->needs.time, Duration::Seconds(86400 + 90 * 60));
  EXPECT_EQ(options->settings.warn_before, Duration::Seconds(61));
  EXPECT_EQ(options->settings.leftovers_wait, Duration::Seconds(120));
  EXPECT_EQ(options->settings.stdout_pattern, "0:90");
  EXPECT_TRUE(ParseAgain(stored, Argv{}, Argv{"--resume"}, kRunWords));
  EXPECT_FALSE(ParseAgain(stored, Argv{}, Argv{"--resume", "--time-limit", "0:90"}, kRunWords));
}

TEST(ParseRunTest, FilesGivenNowTakeThePlaceOfStoredOnes) {
  auto options = ParseRun(Argv{"a.lst", "b.lst"}, Argv{"--resume", "c.lst"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->sources.files, Argv{"c.lst"});
}

TEST(ParseRunTest, ARetryKeepsTheCommandAndDropsResume) {
  auto options =
      ParseRun(Argv{"--resume", "--", "echo", ":::", "a"}, Argv{"12", "-j1"}, kRetryWords);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_FALSE(options->resume);
  EXPECT_EQ(options->sources.command, (Argv{"echo", ":::", "a"}));
  EXPECT_TRUE(options->sources.files.empty());
  EXPECT_EQ(SlotCount(options->slots, 8), 1u);
}

TEST(ParseRunTest, ErrorsSayWhoseOptionsAreWrong) {
  auto options = ParseRun(Argv{"--gone"}, Argv{});
  ASSERT_FALSE(options);
  EXPECT_TRUE(options.error().message.starts_with("options of the first run: --gone"));
  EXPECT_FALSE(ParseRun(Argv{"x"}, Argv{"-j", "none"}));
}

TEST(NeedsChangeTest, OnlyWhatIsTypedChanges) {
  auto made = [](Argv argv) {
    auto words = ParseWords(kRetryWords, argv);
    EXPECT_TRUE(words) << words.error().message;
    return MakeNeedsChange(*words);
  };
  EXPECT_TRUE(made({"last"})->empty());
  EXPECT_TRUE(made({"last", "--retries", "3"})->empty());
  NeedsChange all;
  all.values = {.milli_cpus = 500,
                .memory = uint64_t{8} << 30,
                .named = {{"disk", 2}, {"gpus", 0}},
                .time = Duration::Seconds(3600),
                .labels = {"a", "b"},
                .on_node = "n1",
                .not_on = {"n2"}};
  all.Set(all.values, all.values);
  EXPECT_EQ(*made({"--cpus=0.5", "--memory=8G", "--gpus=0", "--resource=disk=2", "--time=1h",
                   "--label=b", "--label=a", "--on=n1", "--not-on=n2"}),
            all);
  EXPECT_FALSE(made({"--memory", "much"}));
  EXPECT_FALSE(made({"--memory", "400"}));
}

}  // namespace
}  // namespace spate::cli
