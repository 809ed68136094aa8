#include "cli/options/words.h"
#include "cli/options/shared.h"
#include "command/testing_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/options/foreign.h"
#include "cli/options/job_words.h"
#include "cli/options/option_uses.h"
#include "present/advice.h"

namespace spate::cli::command {
namespace {

using Argv = std::vector<std::string>;

const Option& RunOption(const std::string& name) { return *FindOption(Named("run"), "--" + name); }

TEST(TableTest, NamesAndLettersAreUniqueInEachCommand) {
  for (const Command* command : AllCommands()) {
    std::set<std::string> seen;
    for (const Option* option : OptionsOf(*command)) {
      for (char letter : option->letters) {
        EXPECT_TRUE(seen.insert(std::string(1, letter)).second) << command->name << " -" << letter;
      }
      std::string names(option->names);
      for (size_t at = 0; at < names.size();) {
        size_t end = std::min(names.find(',', at), names.size());
        EXPECT_TRUE(seen.insert(names.substr(at, end - at)).second)
            << command->name << " --" << names.substr(at, end - at);
        at = end + 1;
      }
    }
  }
}

TEST(TableTest, CommandsAreSortedAndCarriedOut) {
  const Command* before = nullptr;
  for (const Command* command : AllCommands()) {
    EXPECT_EQ(command->run == nullptr, IsOtherName(*command)) << command->name;
    EXPECT_FALSE(IsOtherName(MeantBy(*command))) << command->name;
    EXPECT_EQ(FindNamed(AllCommands(), command->name), command) << "two of one name";
    if (before != nullptr) EXPECT_LE(before->order, command->order) << command->name;
    before = command;
  }
}

TEST(TableTest, AdviceGetsOptionsThatItsCommandTakes) {
  const struct {
    const char* reach;
    const char* name;
    const Option& option;
  } kCases[] = {{" --access f", "--access", opt::kAccess},
                {" --local", "--local", opt::kLocal},
                {" --hub --state s", "--hub", opt::kHub},
                {" --hub --state s", "--state", opt::kState}};
  for (const Command* command : AllCommands()) {
    if (IsOtherName(*command)) continue;
    for (const auto& each : kCases) {
      const std::string text = present::TextOf(Advice(std::string(command->name)), each.reach);
      if (text.contains(each.name)) EXPECT_TRUE(Takes(*command, each.option)) << text;
    }
  }
}

// Jobs keep the words of these commands, which are read again by their lists of options.
TEST(TableTest, KeptWordsAreThoseOfTheCommands) {
  for (const Command* kept : {&kRunWords, &kRetryWords, &kSubmitWords, &kAddWords}) {
    const Command& command = Named(kept->name);
    EXPECT_EQ(OptionsOf(*kept), OptionsOf(command)) << kept->name;
    EXPECT_EQ(kept->makes, command.makes) << kept->name;
    EXPECT_EQ(kept->takes_command, command.takes_command) << kept->name;
  }
}

TEST(TableTest, NoOptionOfOursIsCalledForeign) {
  for (const Option* option : OptionsOf(Named("run"))) {
    EXPECT_FALSE(ForeignHint(option->name())) << option->name();
    for (char letter : option->letters) EXPECT_FALSE(ForeignHint(std::string(1, letter))) << letter;
  }
}

// Tries what a text names: each "spate COMMAND" with the options after it, to the end of the phrase
// (a comma, a bracket ...), and the options elsewhere as those of `typed` (null: any).
void TryHint(const Command* typed, const std::string& text) {
  Argv words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  const Command* command = typed;
  Argv phrase;
  bool is_other = false, after_dashes = false;
  auto end_phrase = [&] {
    if (is_other && command->makes == Makes::kRun) {
      auto parsed = ParseWords(*command, phrase, AllCommands());
      ASSERT_TRUE(parsed) << text << "\n" << parsed.error().message;
      const Way way = parsed->Has(opt::kRunPool) ? Way::kPool
                      : parsed->Has(opt::kHub)   ? Way::kHub
                                                 : Way::kResume;
      EXPECT_TRUE(CheckUses(way, *parsed)) << text;
    }
    command = typed;
    is_other = after_dashes = false;
    phrase.clear();
  };
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word =
        words[i].substr(std::min(words[i].find_first_not_of("(`'"), words[i].size()));
    const size_t last = word.find_last_not_of(",;:.?)`'");
    const bool ends = word.find_first_of(",;)`", last + 1) != std::string::npos;
    word.resize(last + 1);
    if (word == "spate" && i + 1 < words.size()) {
      if (words[++i].starts_with("--version")) continue;
      end_phrase();
      Argv name{words[i]};
      if (i + 1 < words.size()) name.push_back(words[i + 1]);
      for (std::string& part : name) part.resize(part.find_last_not_of(",;:.?)`'") + 1);
      auto found = FindCommand(name, AllCommands());
      ASSERT_TRUE(found) << text << "\n" << found.error().message;
      command = found->command;
      is_other = true;
      i += found->words - 1;
      if (words[i].find_first_of(",;)`") != std::string::npos) end_phrase();
      continue;
    }
    after_dashes = after_dashes || word == "--";
    if (!after_dashes) phrase.push_back(word);
    const bool is_option =
        word.size() > 1 && word[0] == '-' && word.find_first_not_of('-') != std::string::npos;
    if (is_option && !after_dashes && command != nullptr) {
      EXPECT_NE(FindOption(*command, word), nullptr)
          << "spate " << command->name << " lacks " << word << ": " << text;
    }
    if (ends) end_phrase();
  }
  end_phrase();
}

TEST(HintTest, OptionsOfOtherProgramsLeadToOptionsThatExist) {
  for (const Command* command : AllCommands()) {
    if (command->hint == nullptr) continue;
    std::string names = "N n p partition";
    for (const ForeignOption& row : BatchOptions()) names += fmt::format(" {}", row.names);
    for (const ForeignOption& row : ParallelOptions()) names += fmt::format(" {}", row.names);
    std::istringstream in(names);
    for (std::string name; in >> name;) {
      const std::string typed = (name.size() == 1 ? "-" : "--") + name;
      if (FindOption(*command, typed) != nullptr) continue;
      auto parsed = ParseWords(*command, Argv{typed}, AllCommands());
      if (parsed && parsed->notes.empty()) ADD_FAILURE() << command->name << " " << typed;
      std::string text =
          parsed ? (parsed->notes.empty() ? "" : parsed->notes.front()) : parsed.error().message;
      if (text.starts_with(typed)) text.erase(0, text.find(": ") + 2);
      text.resize(std::min(text.find('\n'), text.size()));
      constexpr std::string_view kElsewhere = "with spate submit: ";
      const bool elsewhere = text.starts_with(kElsewhere);
      if (elsewhere) text.erase(0, kElsewhere.size());
      TryHint(elsewhere ? &Named("submit") : command, text);
    }
  }
}

TEST(HintTest, CommandsOfOtherProgramsLeadToCommandsThatExist) {
  for (const CommandWord& row : CommandWords()) {
    const bool is_hint = row.meant.starts_with("spate ");
    if (is_hint) TryHint(nullptr, std::string(row.meant));
    std::istringstream in{std::string(row.words)};
    for (std::string word; in >> word;) {
      const size_t colon = word.find(':');
      Argv typed{word.substr(0, colon)};
      if (colon != std::string::npos) typed.push_back(word.substr(colon + 1));
      auto found = FindCommand(typed, AllCommands());
      EXPECT_EQ(found.has_value(), !is_hint) << word;
      if (found) {
        EXPECT_EQ(found->command, &Named(row.meant)) << word;
      } else {
        EXPECT_TRUE(found.error().message.contains(row.meant)) << found.error().message;
      }
    }
  }
}

TEST(HintTest, RefusedOptionsLeadToOptionsThatExist) {
  for (Way way : kWays) {
    for (const Option* option : OptionsOf(CommandOf(way))) {
      if (UseOf(*option, way) != Use::kRefused) continue;
      Words words{.command = &CommandOf(way)};
      words.options = {{option, option->argument.empty() ? "true" : "1"}};
      auto refused = CheckUses(way, words);
      ASSERT_FALSE(refused) << option->name();
      TryHint(words.command, refused.error().message);
    }
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
      {{"-j4", "a"}, {{&opt::kJobs, "4"}}, {"a"}},
      {{"-j", "4", "a"}, {{&opt::kJobs, "4"}}, {"a"}},
      {{"-j", "-1"}, {{&opt::kJobs, "-1"}}},
      {{"-j-1"}, {{&opt::kJobs, "-1"}}},
      {{"-j+2"}, {{&opt::kJobs, "+2"}}},
      {{"-j", "50%"}, {{&opt::kJobs, "50%"}}},
      {{"-P8"}, {{&opt::kJobs, "8"}}},
      {{"--jobs=4"}, {{&opt::kJobs, "4"}}},
      {{"--max-procs", "4"}, {{&opt::kJobs, "4"}}},
      {{"-kj4"}, {{&RunOption("keep-order"), "true"}, {&opt::kJobs, "4"}}},
      {{"a", "-k", "b"}, {{&RunOption("keep-order"), "true"}}, {"a", "b"}},
      {{"--maxprocs", "4", "--keeporder"},
       {{&opt::kJobs, "4"}, {&RunOption("keep-order"), "true"}}},
      {{"--timelimit=2s", "--mem", "1G"}, {{&opt::kTimeLimit, "2s"}, {&opt::kMemory, "1G"}}},
      {{"--cores", "2", "--retry", "1"}, {{&opt::kCpus, "2"}, {&RunOption("retries"), "1"}}},
      {{"--name", "--maxprocs"}, {{&RunOption("name"), "--maxprocs"}}},
      {{"--json"}, {{&opt::kOutput, "json"}}},
      {{"-I", "%", "-d,"}, {{&RunOption("replace-str"), "%"}, {&RunOption("delimiter"), ","}}},
      {{"--timeout", "200%"}, {{&opt::kTimeLimit, "200%"}}},
      {{"-q", "--output", "json"}, {{&opt::kOutput, "quiet"}, {&opt::kOutput, "json"}}},
      {{"--output", "json", "-q"}, {{&opt::kOutput, "json"}, {&opt::kOutput, "quiet"}}},
      {{"--shuf"}, {{&RunOption("order"), "shuffle"}}},
      {{"--lb", "--tag"}, {{&RunOption("line-buffer"), "true"}, {&RunOption("tag"), "true"}}},
      {{"--tag=false"}, {{&RunOption("tag"), "false"}}},
      {{"-0", "-a", "f"}, {{&RunOption("null"), "true"}, {&RunOption("arg-file"), "f"}}},
      {{"-a", "f", "-a", "-"}, {{&RunOption("arg-file"), "f"}, {&RunOption("arg-file"), "-"}}},
      {{"-N2"}, {{&RunOption("max-args"), "2"}}},
      {{"--halt", "now,fail=1"}, {{&RunOption("halt"), "now,fail=1"}}},
      {{"--env", "A=b=c d"}, {{&opt::kEnv, "A=b=c d"}}},
      {{"--env=A=b"}, {{&opt::kEnv, "A=b"}}},
      {{"--name", "[x,y]"}, {{&RunOption("name"), "[x,y]"}}},
      {{"--name", "{}"}, {{&RunOption("name"), "{}"}}},
      {{"--name", ""}, {{&RunOption("name"), ""}}},
      {{"--colsep", "\\t"}, {{&RunOption("colsep"), "\\t"}}},
      {{"--", "echo", "-j", "--", ":::", "a"}, {}, {}, {"echo", "-j", "--", ":::", "a"}},
      {{"-k", "--", "{}"}, {{&RunOption("keep-order"), "true"}}, {}, {"{}"}},
      {{"--wrong", "--help"}, {{&opt::kHelp, "true"}}},
      {{"--", "--help"}, {}, {}, {"--help"}},
  };
  for (const GoodCase& c : kCases) {
    auto words = ParseWords(Named("run"), c.argv, AllCommands());
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
      {{"-krob"}, "-krob: unknown option"},
      {{"--a\x1b"}, "--a\\x1b: unknown option"},
      {{"--jobs"}, "--jobs needs a value: --jobs N|FILE"},
      {{"a", "-j"}, "--jobs needs a value: --jobs N|FILE"},
      {{"-kj"}, "--jobs needs a value: --jobs N|FILE"},
      {{"--tag=maybe"}, "--tag takes no value (except =false, which undoes it)"},
      {{"--partition", "short"},
       "--partition: with spate submit: write --pool NAME, or --label LABEL for some nodes"},
      {{"--nodelist", "n1"}, "--nodelist: write --on NODE"},
      {{"-pe", "mpi"}, "-pe: write --procs N for the processes of one task, as of MPI"},
      {{"--request_memory", "1"}, "--request_memory: write --memory SIZE (of one task)"},
      {{"-S", "host", "a"},
       "-S: write --pool ssh:HOST for another machine; for several: spate pool add ssh NAME "
       "--hosts "
       "HOST,HOST, then spate submit --pool NAME"},
      {{"-o", "FILE"},
       "-o: write --stdout FILE; spate job cat prints what is kept; if you mean GNU parallel's: "
       "tasks have no terminal; leave it out"},
      {{"-t", "5"},
       "-t: write --time-limit T (30m, 2h) to end a task after T, --time T for the time it is "
       "expected to take; if you mean GNU parallel's: use --dry-run to see the commands; `spate "
       "job tasks` shows what ran"},
      {{"--limit", "./busy"},
       "--limit: use --max-load N or --min-free-memory SIZE, or -j FILE, whose number may change "
       "during the run"},
      {{"--tmpl", "a=b"},
       "--tmpl: not supported; let the command fill in the template, as in: sed 's/NAME/{}/' FILE "
       "> OUT"},
      {{"--workers=4"},
       "--workers: write -j N for the number of tasks at once, --cpus N for the cores of one task"},
      {{"--output-dir", "out"},
       "--output-dir: write --stdout 'DIR/{#}.txt'; spate run has --results DIR"},
      {{"--open"}, "--open: an option of spate submit"},
      {{"--older-than=3d"}, "--older-than: an option of spate job forget"},
      {{"--semaphore"},
       "--semaphore: semaphores are a separate command: spate sem -j 4 --id NAME -- COMMAND"},
      {{"--memfree=1G"}, "--memfree: use --min-free-memory SIZE"},
      {{"--load", "80%"}, "--load: use --max-load N"},
      {{"--resume-failed"},
       "--resume-failed: use --resume to continue, and `spate job retry last` to retry failed "
       "tasks"},
  };
  for (const BadCase& c : kCases) {
    auto words = ParseWords(Named("run"), c.argv, AllCommands());
    ASSERT_FALSE(words) << c.argv.front();
    EXPECT_EQ(words.error().kind, ErrorKind::kInvalid);
    std::string first = words.error().message.substr(0, words.error().message.find('\n'));
    EXPECT_EQ(first, c.message);
  }
}

TEST(WordsTest, WhatHappensAnywayIsPassedOver) {
  auto words =
      ParseWords(Named("run"), Argv{"--eta", "--will-cite", "-j2", "--bar", "a", "--keep-going"});
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(words->words, Argv{"a"});
  EXPECT_EQ(words->Last(opt::kJobs), "2");
  EXPECT_EQ(words->notes, (Argv{"--eta: the bar on the terminal shows this already; ignored",
                                "--will-cite: not needed; ignored",
                                "--bar: the bar on the terminal shows this already; ignored",
                                "--keep-going: a failed task does not stop the others; ignored"}));
  EXPECT_FALSE(ParseWords(Named("submit"), Argv{"--eta"}));
}

TEST(WordsTest, CoresAreThoseOfOneTask) {
  auto notes = [](const char* command, const Argv& argv) {
    auto words = ParseWords(Named(command), argv);
    EXPECT_TRUE(words) << words.error().message;
    return words ? words->notes : Argv();
  };
  const std::string note =
      "--cores 2 means --cpus 2, the number of cores for each task; for the number of tasks at "
      "once, write ";
  EXPECT_EQ(notes("run", {"--cores", "2", "l"}), Argv{note + "-j 2"});
  EXPECT_EQ(notes("run", {"--cores=3", "--cores=2", "--", "true"}), Argv{note + "-j 2"});
  EXPECT_EQ(notes("submit", {"--cores=2", "l"}), Argv{note + "--max-running 2"});
  for (const Argv& argv : std::vector<Argv>{{"--cpus", "2", "l"},
                                            {"--cores", "2", "-j", "4", "l"},
                                            {"--", "snakemake", "--cores", "2"}}) {
    EXPECT_EQ(notes("run", argv), Argv()) << argv.front();
  }
  EXPECT_EQ(notes("node start", {"--cores", "2"}), Argv());
}

TEST(WordsTest, VerbsOfOtherPrograms) {
  for (auto [typed, meant] : {std::pair{"job ls", "job list"},
                              {"job show", "job info"},
                              {"job rm", "job forget"},
                              {"job log", "job cat"},
                              {"job status", "job info"},
                              {"job watch", "job progress"},
                              {"job explain", "task explain"},
                              {"task retry", "job retry"}}) {
    const std::string noun(typed, std::string_view(typed).find(' '));
    auto found =
        FindCommand(Argv{noun, std::string(typed).substr(noun.size() + 1), "1"}, AllCommands());
    ASSERT_TRUE(found) << typed;
    EXPECT_EQ(found->command->name, meant);
    EXPECT_EQ(found->words, 2u);
  }
  EXPECT_FALSE(FindCommand(Argv{"job", "shw"}, AllCommands()));
  for (auto [typed, hint] :
       {std::pair{Argv{"job", "resume", "3"},
                  "'job resume' is not a spate command; write: spate job release if it is held, or "
                  "spate run --resume if a run was cut off\nSee: spate --help"},
        {Argv{"hub", "restart"},
         "'hub restart' is not a spate command; write: spate hub stop, then spate hub start\nSee: "
         "spate --help"}}) {
    auto found = FindCommand(typed, AllCommands());
    ASSERT_FALSE(found) << typed[1];
    EXPECT_EQ(found.error().message, hint);
  }
}

TEST(WordsTest, CountsTheWordsOfACommand) {
  auto none = ParseWords(Named("task info"), Argv{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "spate task info: an argument is missing; write: spate task info TASK...\n"
            "See: spate task info --help");
  EXPECT_FALSE(ParseWords(Named("job tail"), Argv{"1", "2"}));
  EXPECT_FALSE(ParseWords(Named("job list"), Argv{"--", "x"}));
  // An option of another command is unknown here.
  EXPECT_FALSE(ParseWords(Named("job list"), Argv{"--tag"}));
}

TEST(WordsTest, TheLastOneCounts) {
  auto words = ParseWords(Named("run"), Argv{"--tag", "--tag=false", "-j1", "-j2"}, AllCommands());
  ASSERT_TRUE(words);
  EXPECT_FALSE(words->Has(RunOption("tag")));
  EXPECT_EQ(words->Last(opt::kJobs), "2");
  EXPECT_FALSE(words->Has(RunOption("keep-order")));
}

TEST(FindCommandTest, FindsNounAndVerb) {
  static const Command kRun = {.name = "run"};
  static const Command kList = {.name = "job list"};
  static const Command kWait = {.name = "job wait"};
  static const Command kSame = {.name = "task list", .same_as = &kList};
  static const Command* const kAll[] = {&kRun, &kList, &kWait, &kSame};
  auto find = [](Argv argv) {
    auto found = FindCommand(argv, kAll);
    return found ? std::string(found->command->name) + " " + std::to_string(found->words)
                 : found.error().message.substr(0, found.error().message.find('\n'));
  };
  EXPECT_EQ(find({"run", "x"}), "run 1");
  EXPECT_EQ(find({"job", "list"}), "job list 2");
  EXPECT_EQ(find({"task", "list"}), "job list 2");
  EXPECT_EQ(find({"job"}), "spate job needs one of: list, wait");
  EXPECT_EQ(find({"job", "lst"}), "'lst': spate job needs one of: list, wait; did you mean list?");
  EXPECT_EQ(find({"rn"}), "'rn' is not a spate command; did you mean run?");
  EXPECT_EQ(find({"list"}), "'list' is not a spate command; write: spate job list");
  EXPECT_EQ(find({"cancel", "3"}), "'cancel' is not a spate command; write: spate job cancel");
  EXPECT_EQ(find({"squeue"}),
            "'squeue' is not a spate command; write: spate job list, or spate top");
  EXPECT_EQ(find({"queue"}), "'queue' is not a spate command; write: spate job list, or spate top");
  EXPECT_EQ(find({"-v"}), "'-v' is not a spate command; write: spate --version");
  EXPECT_EQ(find({"server", "start"}), "'server' is not a spate command; write: spate hub start");
  EXPECT_EQ(find({"jobs.lst"}), "'jobs.lst' is not a spate command");
}

}  // namespace
}  // namespace spate::cli::command
