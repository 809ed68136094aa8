#include "cli/options/words.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/options/foreign.h"

namespace spate::cli {
namespace {

using Argv = std::vector<std::string>;

TEST(TableTest, NamesAndLettersAreUniqueInEachCommand) {
  for (const CommandDef& command : Commands()) {
    std::set<std::string> seen;
    for (const OptionDef& def : Options()) {
      if (!(def.commands & Bit(command.id))) continue;
      for (char letter : def.letters) {
        EXPECT_TRUE(seen.insert(std::string(1, letter)).second) << command.name << " -" << letter;
      }
      std::string names(def.names);
      for (size_t at = 0; at < names.size();) {
        size_t end = std::min(names.find(',', at), names.size());
        EXPECT_TRUE(seen.insert(names.substr(at, end - at)).second)
            << command.name << " --" << names.substr(at, end - at);
        at = end + 1;
      }
    }
  }
}

TEST(TableTest, EveryOptHasADefinition) {
  for (int i = 0; i <= static_cast<int>(Opt::kOlderThan); ++i) {
    EXPECT_EQ(Definition(static_cast<Opt>(i)).id, static_cast<Opt>(i));
  }
}

TEST(TableTest, NoOptionOfOursIsCalledForeign) {
  for (const OptionDef& def : Options()) {
    if (!(def.commands & Bit(Command::kRun))) continue;
    EXPECT_FALSE(ForeignHint(def.name())) << def.name();
    for (char letter : def.letters) EXPECT_FALSE(ForeignHint(std::string(1, letter))) << letter;
  }
}

struct GoodCase {
  Argv argv;
  std::vector<TypedOption> options;
  Argv words = {};
  Argv rest = {};
};

TEST(WordsTest, TakesApart) {
  const GoodCase kCases[] = {
      {{"jobs.lst"}, {}, {"jobs.lst"}},
      {{"-"}, {}, {"-"}},
      {{"-j4", "a"}, {{Opt::kJobs, "4"}}, {"a"}},
      {{"-j", "4", "a"}, {{Opt::kJobs, "4"}}, {"a"}},
      {{"-j", "-1"}, {{Opt::kJobs, "-1"}}},
      {{"-j-1"}, {{Opt::kJobs, "-1"}}},
      {{"-j+2"}, {{Opt::kJobs, "+2"}}},
      {{"-j", "50%"}, {{Opt::kJobs, "50%"}}},
      {{"-P8"}, {{Opt::kJobs, "8"}}},
      {{"--jobs=4"}, {{Opt::kJobs, "4"}}},
      {{"--max-procs", "4"}, {{Opt::kJobs, "4"}}},
      {{"-kj4"}, {{Opt::kKeepOrder, "true"}, {Opt::kJobs, "4"}}},
      {{"a", "-k", "b"}, {{Opt::kKeepOrder, "true"}}, {"a", "b"}},
      {{"--maxprocs", "4", "--keeporder"}, {{Opt::kJobs, "4"}, {Opt::kKeepOrder, "true"}}},
      {{"--timelimit=2s", "--mem", "1G"}, {{Opt::kTimeLimit, "2s"}, {Opt::kMemory, "1G"}}},
      {{"--cores", "2", "--retry", "1"}, {{Opt::kCpus, "2"}, {Opt::kRetries, "1"}}},
      {{"--name", "--maxprocs"}, {{Opt::kName, "--maxprocs"}}},
      {{"--json"}, {{Opt::kOutput, "json"}}},
      {{"-I", "%", "-d,"}, {{Opt::kReplace, "%"}, {Opt::kDelimiter, ","}}},
      {{"--timeout", "200%"}, {{Opt::kTimeLimit, "200%"}}},
      {{"-q", "--output", "json"}, {{Opt::kOutput, "quiet"}, {Opt::kOutput, "json"}}},
      {{"--output", "json", "-q"}, {{Opt::kOutput, "json"}, {Opt::kOutput, "quiet"}}},
      {{"--shuf"}, {{Opt::kOrder, "shuffle"}}},
      {{"--lb", "--tag"}, {{Opt::kLineBuffer, "true"}, {Opt::kTag, "true"}}},
      {{"--tag=false"}, {{Opt::kTag, "false"}}},
      {{"-0", "-a", "f"}, {{Opt::kNull, "true"}, {Opt::kArgFile, "f"}}},
      {{"-a", "f", "-a", "-"}, {{Opt::kArgFile, "f"}, {Opt::kArgFile, "-"}}},
      {{"-N2"}, {{Opt::kMaxArgs, "2"}}},
      {{"--halt", "now,fail=1"}, {{Opt::kHalt, "now,fail=1"}}},
      {{"--env", "A=b=c d"}, {{Opt::kEnv, "A=b=c d"}}},
      {{"--env=A=b"}, {{Opt::kEnv, "A=b"}}},
      {{"--name", "[x,y]"}, {{Opt::kName, "[x,y]"}}},
      {{"--name", "{}"}, {{Opt::kName, "{}"}}},
      {{"--name", ""}, {{Opt::kName, ""}}},
      {{"--colsep", "\\t"}, {{Opt::kColsep, "\\t"}}},
      {{"--", "echo", "-j", "--", ":::", "a"}, {}, {}, {"echo", "-j", "--", ":::", "a"}},
      {{"-k", "--", "{}"}, {{Opt::kKeepOrder, "true"}}, {}, {"{}"}},
      {{"--wrong", "--help"}, {{Opt::kHelp, "true"}}},
      {{"--", "--help"}, {}, {}, {"--help"}},
  };
  for (const GoodCase& c : kCases) {
    auto words = ParseWords(Command::kRun, c.argv);
    ASSERT_TRUE(words) << c.argv.front() << ": " << words.error().message;
    EXPECT_EQ(words->options, c.options) << c.argv.front();
    EXPECT_EQ(words->words, c.words) << c.argv.front();
    EXPECT_EQ(words->rest, c.rest) << c.argv.front();
  }
}

struct BadCase {
  Argv argv;
  std::string message;  // its first line
};

TEST(WordsTest, SaysWhatIsWrong) {
  const BadCase kCases[] = {
      {{"--job", "3"}, "--job: unknown option; did you mean --jobs?"},
      {{"--keep-ordre"}, "--keep-ordre: unknown option; did you mean --keep-order?"},
      {{"--retrys=3"}, "--retrys: unknown option; did you mean --retries?"},
      {{"--zzzz"}, "--zzzz: unknown option"},
      {{"-Z"}, "-Z: unknown option"},
      {{"-kZ"}, "-Z: unknown option"},
      {{"--a\x1b"}, "--a\\x1b: unknown option"},
      {{"--jobs"}, "--jobs needs a value: --jobs N|FILE"},
      {{"a", "-j"}, "--jobs needs a value: --jobs N|FILE"},
      {{"-kj"}, "--jobs needs a value: --jobs N|FILE"},
      {{"--tag=maybe"}, "--tag takes no value (but =false undoes it)"},
      {{"--eta"}, "--eta: the bar on the terminal shows it already; leave it out"},
      {{"-S", "host", "a"},
       "-S: spate run uses this machine only; run spate there, or put ssh into the command"},
      {{"--array", "1-9"}, "--array: an option of spate submit and spate job add"},
      {{"--older-than=3d"}, "--older-than: an option of spate job forget"},
      {{"--semaphore"},
       "--semaphore: a semaphore is a command of its own: spate sem -j 4 --id NAME -- COMMAND"},
      {{"--memfree=1G"}, "--memfree: use --min-free-memory SIZE"},
      {{"--load", "80%"}, "--load: use --max-load N"},
      {{"--resume-failed"},
       "--resume-failed: use --resume to go on, and `spate job retry last` to run again what "
       "failed"},
  };
  for (const BadCase& c : kCases) {
    auto words = ParseWords(Command::kRun, c.argv);
    ASSERT_FALSE(words) << c.argv.front();
    EXPECT_EQ(words.error().kind, ErrorKind::kInvalid);
    std::string first = words.error().message.substr(0, words.error().message.find('\n'));
    EXPECT_EQ(first, c.message);
  }
}

TEST(WordsTest, CountsTheWordsOfACommand) {
  auto none = ParseWords(Command::kTaskInfo, Argv{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "spate task info: something is missing; write: spate task info TASK...\n"
            "See: spate task info --help");
  EXPECT_FALSE(ParseWords(Command::kJobRetry, Argv{"1", "2"}));
  EXPECT_FALSE(ParseWords(Command::kJobList, Argv{"--", "x"}));
  // An option of another command is unknown here.
  EXPECT_FALSE(ParseWords(Command::kJobList, Argv{"--tag"}));
}

TEST(WordsTest, TheLastOneCounts) {
  auto words = ParseWords(Command::kRun, Argv{"--tag", "--tag=false", "-j1", "-j2"});
  ASSERT_TRUE(words);
  EXPECT_FALSE(words->Has(Opt::kTag));
  EXPECT_EQ(words->Last(Opt::kJobs), "2");
  EXPECT_FALSE(words->Has(Opt::kKeepOrder));
}

TEST(FindCommandTest, FindsNounAndVerb) {
  auto find = [](Argv argv) {
    auto found = FindCommand(argv);
    return found ? std::string(Definition(found->command).name) + " " + std::to_string(found->words)
                 : found.error().message.substr(0, found.error().message.find('\n'));
  };
  EXPECT_EQ(find({"run", "x"}), "run 1");
  EXPECT_EQ(find({"job", "list"}), "job list 2");
  EXPECT_EQ(find({"job"}),
            "spate job is followed by list, info, tasks, graph, cat, tail, get, retry, forget, "
            "wait, progress, cancel, hold, release, set, add, close");
  EXPECT_EQ(
      find({"job", "lst"}),
      "'lst': spate job is followed by list, info, tasks, graph, cat, tail, get, retry, forget, "
      "wait, progress, cancel, hold, release, set, add, close; did you mean "
      "list?");
  EXPECT_EQ(find({"rn"}), "'rn' is not a command of spate; did you mean run?");
  EXPECT_EQ(find({"list"}), "'list' is not a command of spate; write: spate job list");
  EXPECT_EQ(find({"cancel", "3"}), "'cancel' is not a command of spate; write: spate job cancel");
  EXPECT_EQ(find({"ps"}), "'ps' is not a command of spate; write: spate job list, or spate top");
  EXPECT_EQ(find({"jobs.lst"}), "'jobs.lst' is not a command of spate");
}

}  // namespace
}  // namespace spate::cli
