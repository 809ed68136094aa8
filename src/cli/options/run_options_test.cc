#include "cli/options/run_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "cli/options/needs_change.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

Result<RunOptions> Make(const Argv& argv) {
  auto words = ParseWords(Command::kRun, argv);
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
using Cases = std::map<Opt, std::pair<Argv, See>>;

// Of options that came from GNU parallel late.
Cases LateCases() {
  return {
      {Opt::kRetryElsewhere,
       {{"--retry-elsewhere", "2"}, [](auto& o) { return o.policy.retry.elsewhere == 2; }}},
      {Opt::kRetryMemory,
       {{"--memory", "1G", "--retry-memory", "x2"},
        [](auto& o) { return o.policy.retry.memory_growth == 200; }}},
      {Opt::kMaxMemory,
       {{"--memory", "1G", "--retry-memory", "x2", "--max-memory", "3G"},
        [](auto& o) { return o.policy.retry.max_memory == 3ull << 30; }}},
      {Opt::kDelimiter, {{"-d", "\\t"}, [](auto& o) { return o.sources.delimiter == "\t"; }}},
      {Opt::kFormat,
       {{"--format", "dag"}, [](auto& o) { return o.sources.format == ListFormat::kDag; }}},
      {Opt::kCsv, {{"--csv"}, [](auto& o) { return o.sources.csv; }}},
      {Opt::kReplace, {{"-I", ",,"}, [](auto& o) { return o.settings.replace == ",,"; }}},
      {Opt::kPipefail,
       {{"--pipefail"}, [](auto& o) { return o.settings.shell == "bash -o pipefail"; }}},
      {Opt::kPipe,
       {{"--pipe", "--", "wc"},
        [](auto& o) { return o.sources.input.from == InputOptions::From::kPipe; }}},
      {Opt::kPipepart,
       {{"--pipe-part", "-a", "f", "--", "wc"},
        [](auto& o) { return o.sources.input.from == InputOptions::From::kParts; }}},
      {Opt::kBlock,
       {{"--pipe", "--blocksize", "2K", "--", "wc"},
        [](auto& o) { return o.sources.input.block == 2048; }}},
      {Opt::kRecstart,
       {{"--pipe", "--recstart", ">", "--", "wc"},
        [](auto& o) { return o.sources.input.recstart == ">" && o.sources.input.recend.empty(); }}},
      {Opt::kRecend,
       {{"--pipe", "--recend", ";\\n", "--", "wc"},
        [](auto& o) { return o.sources.input.recend == ";\n"; }}},
      {Opt::kRoundRobin,
       {{"--pipe", "--roundrobin", "--", "wc"},
        [](auto& o) { return o.sources.input.round_robin; }}},
      {Opt::kShell, {{"--shell", "bash"}, [](auto& o) { return o.settings.shell == "bash"; }}},
      {Opt::kTagString,
       {{"--tagstring", "{#}"}, [](auto& o) { return o.show.tag && o.show.tag_text == "{#}"; }}},
      {Opt::kJson, {{"--json"}, [](auto& o) { return o.show.form == OutputForm::kJson; }}},
      {Opt::kProcs, {{"--procs", "4"}, [](auto& o) { return o.gang.procs == 4; }}},
      {Opt::kGangNodes, {{"--nodes", "2"}, [](auto& o) { return o.gang.nodes == 2; }}},
      {Opt::kProcsPerNode,
       {{"--nodes", "2", "--procs-per-node", "3"}, [](auto& o) { return o.gang.procs == 6; }}},
      {Opt::kWholeNodes, {{"--nodes", "1", "--whole-nodes"}, [](auto& o) { return o.gang.whole; }}},
      {Opt::kGangStart,
       {{"--procs", "2", "--start", "first"},
        [](auto& o) { return o.gang.start == GangShape::Start::kFirst; }}},
      {Opt::kBound, {{"--bound", "memory"}, [](auto& o) { return o.bound == BoundBy::kMemory; }}},
      {Opt::kDeadline, {{"--deadline", "+2h"}, [](auto& o) { return o.deadline_text == "+2h"; }}},
      {Opt::kPlanTime,
       {{"--time", "1h"}, [](auto& o) { return o.needs.time == Duration::Seconds(3600); }}},
      {Opt::kWarnSignal,
       {{"--signal", "USR1@60s", "--time-limit", "1h"},
        [](auto& o) {
          return o.settings.warn_signal == 10 && o.settings.warn_before == Duration::Seconds(60);
        }}},
      {Opt::kLeftovers,
       {{"--leftovers", "fail"},
        [](auto& o) {
          return o.settings.leftovers == Leftovers::kFail && o.settings.leftovers_wait.ns == 0;
        }}},
      {Opt::kProfile, {{"-J", "big"}, [](auto& o) { return o.profiles == Argv{"big"}; }}},
  };
}

// Every option of `run` in the table is understood and changes something that can be seen.
TEST(RunOptionsTest, EveryOptionOfRunChangesSomething) {
  Cases cases = {
      {Opt::kArgFile, {{"-a", "f"}, [](auto& o) { return o.sources.arg_files == Argv{"f"}; }}},
      {Opt::kJsonLines,
       {{"--json-lines", "f"}, [](auto& o) { return o.sources.json_files == Argv{"f"}; }}},
      {Opt::kNull, {{"-0"}, [](auto& o) { return o.sources.null_separated; }}},
      {Opt::kColsep, {{"--colsep", ","}, [](auto& o) { return o.sources.colsep == ","; }}},
      {Opt::kHeader, {{"--header", ":"}, [](auto& o) { return o.sources.header; }}},
      {Opt::kMaxArgs, {{"-n2"}, [](auto& o) { return o.sources.max_args == 2; }}},
      {Opt::kFill, {{"-X"}, [](auto& o) { return o.sources.fill; }}},
      {Opt::kTrim, {{"--trim", "lr"}, [](auto& o) { return o.sources.trim == TrimRule::kBoth; }}},
      {Opt::kFollow, {{"--follow"}, [](auto& o) { return o.sources.follow; }}},
      {Opt::kResume, {{"--resume"}, [](auto& o) { return o.resume; }}},
      {Opt::kDryRun, {{"--dry-run"}, [](auto& o) { return o.dry_run; }}},
      {Opt::kCpus,
       {{"--cpus", "0.5"}, [](auto& o) { return o.needs.milli_cpus == 500 && o.cpus_given; }}},
      {Opt::kMemory, {{"--memory", "2G"}, [](auto& o) { return o.needs.memory == 2ull << 30; }}},
      {Opt::kGpus,
       {{"--gpus", "1"},
        [](auto& o) { return o.needs.named == std::vector{NamedNeed{"gpus", 1}}; }}},
      {Opt::kResource,
       {{"--resource", "b=2", "--resource", "a=1", "--resource", "b=3"},
        [](auto& o) {
          return o.needs.named == std::vector{NamedNeed{"a", 1}, NamedNeed{"b", 3}};
        }}},
      {Opt::kOffer,
       {{"--offer", "b=x,y", "--offer", "a=2"},
        [](auto& o) {
          return o.offers == std::vector{NamedOffer{"a", {"0", "1"}}, NamedOffer{"b", {"x", "y"}}};
        }}},
      {Opt::kJobs, {{"-j3"}, [](auto& o) { return SlotCount(o.slots, 8) == 3 && o.slots_given; }}},
      {Opt::kDelay,
       {{"--delay", "0.5"},
        [](auto& o) { return o.settings.start_delay == Duration::Millis(500); }}},
      {Opt::kMinFreeMemory,
       {{"--min-free-memory", "1K"}, [](auto& o) { return o.settings.min_free_memory == 1024; }}},
      {Opt::kMaxLoad, {{"--max-load", "150%"}, [](auto& o) { return MaxLoad(o, 4) == 6; }}},
      {Opt::kNice, {{"--nice", "-5"}, [](auto& o) { return o.settings.nice == -5; }}},
      {Opt::kOrder,
       {{"--order", "longest"}, [](auto& o) { return o.order == TaskOrder::kLongest; }}},
      {Opt::kShuf, {{"--shuf"}, [](auto& o) { return o.order == TaskOrder::kShuffle; }}},
      {Opt::kTimeLimit,
       {{"--timeout", "300%"}, [](auto& o) { return o.settings.time_limit_percent == 300; }}},
      {Opt::kWarnTime,
       {{"--warn-time", "1m"},
        [](auto& o) { return o.settings.warn_time == Duration::Seconds(60); }}},
      {Opt::kKillGrace,
       {{"--kill-grace", "0"}, [](auto& o) { return o.settings.kill_grace.ns == 0; }}},
      {Opt::kRetries, {{"--retries", "3"}, [](auto& o) { return o.policy.retry.retries == 3; }}},
      {Opt::kRetryOn,
       {{"--retry-on", "signal", "--retry-on", "time"},
        [](auto& o) {
          return o.policy.retry.retry_on ==
                 (CauseBit(Cause::kSignal) | CauseBit(Cause::kTimeLimit));
        }}},
      {Opt::kRetryDelay,
       {{"--retry-delay", "2s"},
        [](auto& o) { return o.policy.retry.delay == Duration::Seconds(2); }}},
      {Opt::kMaxFailures,
       {{"--max-failures", "7"}, [](auto& o) { return o.policy.max_failures == 7; }}},
      {Opt::kHalt,
       {{"--halt", "2"}, [](auto& o) { return o.policy.halt.when == HaltRule::When::kNow; }}},
      {Opt::kOnce, {{"--once"}, [](auto& o) { return o.policy.retry.once; }}},
      {Opt::kEnv,
       {{"--env", "A=1", "--env", "B=2", "--env", "A=3"},
        [](auto& o) { return o.settings.environment == Argv{"B=2", "A=3"}; }}},
      {Opt::kCwd, {{"--wd", "x"}, [](auto& o) { return o.cwd == "x"; }}},
      {Opt::kStdin, {{"--stdin", "{}"}, [](auto& o) { return o.settings.stdin_pattern == "{}"; }}},
      {Opt::kStdout, {{"--stdout", "o"}, [](auto& o) { return o.settings.stdout_pattern == "o"; }}},
      {Opt::kStderr, {{"--stderr", "e"}, [](auto& o) { return o.settings.stderr_pattern == "e"; }}},
      {Opt::kPut,
       {{"--hub", "--put", "a", "--put", "{}"},
        [](auto& o) { return o.settings.put_patterns == Argv{"a", "{}"}; }}},
      {Opt::kGet,
       {{"--hub", "--get", "b/{#}"},
        [](auto& o) { return o.settings.get_patterns == Argv{"b/{#}"}; }}},
      {Opt::kForward,
       {{"--forward", "OUT=all"},
        [](auto& o) { return o.settings.forward_patterns == Argv{"OUT=all"}; }}},
      {Opt::kForwardFile,
       {{"--forward-file", "p{}=all"},
        [](auto& o) { return o.settings.forward_file_patterns == Argv{"p{}=all"}; }}},
      {Opt::kResident, {{"--resident", "--", "x"}, [](auto& o) { return o.sources.resident; }}},
      {Opt::kMeasureIo, {{"--measure-io"}, [](auto& o) { return o.settings.measure_io; }}},
      {Opt::kKeepOrder, {{"-k"}, [](auto& o) { return o.show.keep_order; }}},
      {Opt::kTag, {{"--tag"}, [](auto& o) { return o.show.tag; }}},
      {Opt::kLineBuffer,
       {{"--lb"}, [](auto& o) { return o.show.line_buffer && o.settings.live_output; }}},
      {Opt::kOutput, {{"--output=json"}, [](auto& o) { return o.show.form == OutputForm::kJson; }}},
      {Opt::kQuiet, {{"-q"}, [](auto& o) { return o.show.form == OutputForm::kQuiet; }}},
      {Opt::kNoBar, {{"--no-bar"}, [](auto& o) { return !o.show.bar; }}},
      {Opt::kJoblog, {{"--joblog", "l"}, [](auto& o) { return o.show.joblog == "l"; }}},
      {Opt::kResults, {{"--results", "d"}, [](auto& o) { return o.show.results_dir == "d"; }}},
      {Opt::kKeepOutput, {{"--keep-output", "0"}, [](auto& o) { return o.keep_output == 0; }}},
      {Opt::kName, {{"--name", "n"}, [](auto& o) { return o.settings.name == "n"; }}},
      {Opt::kHub, {{"--hub"}, [](auto& o) { return o.hub; }}},
      {Opt::kAccess, {{"--access", "a"}, [](auto& o) { return o.hub && o.access == "a"; }}},
      {Opt::kState, {{"--state", "s"}, [](auto& o) { return o.state_dir == "s"; }}},
      {Opt::kKeep,
       {{"--keep", "5G", "--keep", "7d"},
        [](auto& o) {
          return o.keep == HistoryBound{Duration::Seconds(7 * 86400), uint64_t{5} << 30};
        }}},
  };
  cases.merge(LateCases());
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(Command::kRun)) || def.group == Group::kGeneral) continue;
    if (def.id == Opt::kRunPool) continue;  // it says where the run is, not how
    auto found = cases.find(def.id);
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
       "--put and --get are for nodes of a hub (spate run --hub, spate submit); here the tasks "
       "have "
       "your files already"},
      {{"--hub", "--get", "../a"},
       "--get: '../a' leads out of the folder: files go to and from a task's own folder, so name "
       "them by a relative path without '..'"},
      {{"--memory", "2Q"},
       "--memory: '2Q' is not a size; write for example 512, 64K, 1.5G or 2GiB"},
      {{"--time-limit", "soon"},
       "--time-limit: 'soon' is not a duration; write for example 90, 1.5s, 200ms, 10m, 1h30m or "
       "HH:MM:SS, or 300% of the median"},
      {{"--timeout", "50%"},
       "--time-limit: '50%' is not a part of the median time; write more than 100%, as 300%"},
      {{"--time-limit", "0"}, "--time-limit: '0' ends every task at once; write a time above 0"},
      {{"--signal", "USR1"},
       "--signal: 'USR1' is not a signal and a time before the time limit; write for example "
       "USR1@60s"},
      {{"--signal", "FOO@60s"},
       "--signal: 'FOO@60s' is not a signal and a time before the time limit; write for example "
       "USR1@60s"},
      {{"--signal", "KILL@60s"},
       "--signal: 'KILL@60s' is a signal that no program can catch; write for example USR1@60s"},
      {{"--signal", "USR1@0"},
       "--signal: 'USR1@0' is no time before the time limit; write a time above 0"},
      {{"--signal", "USR1@60s", "--", "true"},
       "--signal comes before the time limit; give one, as in --time-limit 1h"},
      {{"--signal", "USR1@60s", "--time-limit", "300%", "--", "true"},
       "--signal needs a --time-limit that is a time: a part of the median is not known "
       "beforehand"},
      {{"--signal", "USR1@1m", "--time-limit", "60s", "--", "true"},
       "--signal: 1m00s before the time limit of 1m00s the task has not begun; give a shorter "
       "time"},
      {{"--leftovers", "kill"},
       "--leftovers: 'kill' is not understood; write wait, wait=T (as wait=5m), end or fail"},
      {{"--leftovers", "wait=0"},
       "--leftovers: 'wait=0' waits for no time; write a time above 0, or fail"},
      {{"--resident", "--leftovers", "wait", "--", "w"},
       "--resident without --leftovers: its process outlives each of its tasks"},
      {{"--retries", "-1"}, "--retries: '-1' is not a whole number from 0 to 10,000"},
      {{"--retry-on", "exit,sig"},
       "--retry-on: 'sig' is not a cause; write some of exit, exit:CODES, signal, time, memory, "
       "check, node, with commas between them"},
      {{"--halt", "now"},
       "--halt: 'now' is not understood; write never, or WHEN,WHAT=N or N% with WHEN soon or now "
       "and WHAT fail, success or done, as now,fail=1 or soon,done=50%"},
      {{"--cpus", "-1"}, "--cpus: '-1' is not a number of cores; write for example 2 or 0.5"},
      {{"--cpus", "1e3"}, "--cpus: '1e3' is not a number of cores; write for example 2 or 0.5"},
      {{"--resource", "a"},
       "--resource: 'a' is not NAME=N; write for example licence=1 (letters, digits, _ . -)"},
      {{"--offer", "a="},
       "--offer: 'a=' is not an offer; write NAME=N, as gpus=2, or NAME=A,B, as gpus=0,3"},
      {{"--offer", "a=x,x"}, "--offer: 'a=x,x' offers 'x' twice; each piece has a name of its own"},
      {{"--order", "best"}, "--order: 'best' is not one of: given shuffle longest"},
      {{"--output", "xml"}, "--output: 'xml' is not one of: human json quiet"},
      {{"--env", "1A=x"},
       "--env: '1A=x' does not begin with a variable's name (letters, digits and _)"},
      {{"--nice", "20"}, "--nice: '20' is not a whole number from -20 to 19"},
      {{"--header", "x"},
       "--header: 'x' is not understood; only --header : is, which takes the first value of each "
       "source as its name"},
      {{"-n0"},
       "--max-args: '0' values are no task; write 1 up. To run a command once for each value "
       "without it: -- ': {}; COMMAND' ::: ..."},
      {{"--keep", "90"},
       "--keep: '90' is neither a time nor a size; write for example 90d, 10G or 90d,10G"},
      {{"--name", ""}, "--name: the value is empty"},
      {{"--max-load", "0"},
       "--max-load: '0' is not a load; write for example 4, 1.5 or 80% (of the cores)"},
      {{"--output", "json", "--lb"},
       "--output json: a task's output is part of its end; leave --line-buffer out"},
      {{"jobs.lst", "--", "echo"},
       "there is both a job list ('jobs.lst') and a command after --; give one of them (values "
       "for a command: -a FILE)"},
      {{"--"}, "there is no command after --; write for example: spate run -- gzip {} ::: *.txt"},
      {{}, "nothing to run: name a job list (- for standard input), or write a command after --"},
      {{"--pipe", "a.lst"}, "--pipe wants a command that reads standard input: --pipe -- wc -l"},
      {{"--pipe", "-a", "f", "--", "wc"},
       "--pipe reads standard input: write < FILE, or use --pipepart -a FILE"},
      {{"--pipe", "--block", "-2", "--", "wc"},
       "--block -N needs the size of the input: write --block SIZE, or --pipepart"},
      {{"--pipepart", "--", "wc"}, "--pipepart wants the file to be cut: --pipepart -a FILE"},
      {{"--pipepart", "-a", "f", "-n2", "--", "wc"},
       "--pipepart cuts by size; leave -n out, or use --pipe"},
      {{"--pipe", "--stdin", "f", "--", "wc"},
       "--pipe: the piece is the standard input; leave --stdin out"},
      {{"--pipe", "--csv", "--", "wc"},
       "--pipe: tasks have no values; options about values do not go with it"},
      {{"--hub", "--pipe", "--", "wc"},
       "--pipe reads standard input here; with a hub, use --pipepart with a file that its nodes "
       "see"},
      {{"--block", "1M", "--", "wc"},
       "--block, --recstart, --recend and --round-robin are for input that is cut into pieces: add "
       "--pipe (standard input) or --pipepart (files of -a)"},
      {{"--csv", "--colsep", "ab", "--", "echo"},
       "--csv --colsep 'ab': one character is wanted, as in --colsep ';'"},
      {{"-0", "-d", ",", "--", "echo"},
       "--null and --delimiter: values end in one way; leave one out"},
      {{"--tagstring", "{%}", "--", "echo"},
       "--tagstring: {%}, the slot, is not known where output is shown; use {#}, the task's "
       "number"},
      {{"-n2", "jobs.lst"},
       "--max-args is for the values of a command: write the command after --, as in spate run "
       "--max-args ... -- gzip {}"},
  };
  for (const auto& [argv, message] : kCases) EXPECT_EQ(Wrong(argv), message);
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

TEST(ParseRunTest, FilesGivenNowTakeThePlaceOfStoredOnes) {
  auto options = ParseRun(Argv{"a.lst", "b.lst"}, Argv{"--resume", "c.lst"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->sources.files, Argv{"c.lst"});
}

TEST(ParseRunTest, ARetryKeepsTheCommandAndDropsResume) {
  auto options =
      ParseRun(Argv{"--resume", "--", "echo", ":::", "a"}, Argv{"12", "-j1"}, Command::kJobRetry);
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
    auto words = ParseWords(Command::kJobRetry, argv);
    EXPECT_TRUE(words) << words.error().message;
    return MakeNeedsChange(*words);
  };
  EXPECT_TRUE(made({"last"})->empty());
  EXPECT_TRUE(made({"last", "--retries", "3"})->empty());
  NeedsChange all{.milli_cpus = 500,
                  .memory = uint64_t{8} << 30,
                  .named = {{"disk", 2}, {"gpus", 0}},
                  .time = Duration::Seconds(3600),
                  .labels = {{"a", "b"}},
                  .on_node = "n1",
                  .not_on = {{"n2"}}};
  EXPECT_EQ(*made({"--cpus=0.5", "--memory=8G", "--gpus=0", "--resource=disk=2", "--time=1h",
                   "--label=b", "--label=a", "--on=n1", "--not-on=n2"}),
            all);
  EXPECT_FALSE(made({"--memory", "much"}));
}

}  // namespace
}  // namespace spate::cli
