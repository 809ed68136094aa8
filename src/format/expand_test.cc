#include "format/expand.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/limits.h"
#include "format/input_row.h"

namespace spate::format {
namespace {

using Words = std::vector<std::string>;
using namespace std::literals;

JobSettings Values(Words command) {
  JobSettings settings;
  settings.row_kind = RowKind::kValues;
  settings.command = std::move(command);
  return settings;
}

Words Argv(const JobSettings& settings, std::string_view row, TaskIndex index = 6) {
  auto job = CompileJob(settings, JobId(12));
  if (!job) return {job.error().message};
  auto body = Expand(*job, row, index, 3);
  if (!body) return {body.error().message};
  return body->steps.at(0).commands.at(0).argv;
}

std::string Text(const JobSettings& settings, std::string_view row) {
  return CommandText(*CompileJob(settings, JobId(12)), row, 6, 3);
}

TEST(ExpandListLine, CommandAndOutputChecks) {
  auto job = CompileJob(JobSettings{}, JobId(7));
  ASSERT_TRUE(job);
  auto body = Expand(*job, "sort {check in exists a} {use cpu 2} -o {check out line+ b}", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, std::vector<Step>({{{{{"sort", "a", "-o", "b"}}}}}));
  EXPECT_EQ(body->output_checks,
            std::vector<Check>({{CheckWhen::kOut, CheckKind::kLinePlus, "b"}}));
  body = Expand(*job, "sort a > {check out line+ b}", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, std::vector<Step>({{{{{"/bin/sh", "-c", "sort a > b"}}}}}));
  EXPECT_EQ(CommandText(*job, "sort a > {check out line+ b}", 0, 1), "sort a > b");
  EXPECT_EQ(CommandText(*job, "a {check", 0, 1), "a {check");
  EXPECT_FALSE(Expand(*job, "a {check", 0, 1));
  // Placeholders mean nothing in a list.
  body = Expand(*job, "echo {} {#}", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, std::vector<Step>({{{{{"/bin/sh", "-c", "echo {} {#}"}}}}}));
}

TEST(ExpandValues, ArgvKeepsItsBoundaries) {
  struct Case {
    Words command;
    std::string row;
    Words argv;
    std::string text;
  };
  for (const Case& c : std::vector<Case>{
           {{"gzip", "-k", "{}"}, "a b", {"gzip", "-k", "a b"}, "gzip -k 'a b'"},
           {{"sh", "-c", "echo $1; exit", "x", "{}"},
            "$(b)",
            {"sh", "-c", "echo $1; exit", "x", "$(b)"},
            "sh -c 'echo $1; exit' x '$(b)'"},
           {{"cp", "{1}", "{2}/{1/}"}, "p/a\0d"s, {"cp", "p/a", "d/a"}, "cp p/a d/a"},
           {{"echo", "a  b", ""}, "x\0y"s, {"echo", "a  b", "", "x", "y"}, "echo 'a  b' '' x y"},
           {{"echo", "{#}", "{%}"}, "x", {"echo", "7", "3"}, "echo 7 3"},
           {{"true"}, "x", {"true", "x"}, "true x"},
           {{"./{}"}, "a b", {"./a b"}, "'./a b'"},
           {{"{}"}, "a", {"a"}, "a"},
           {{"echo", "<{}>"}, "1\0002"s, {"echo", "<1", "2>"}, "echo '<1' '2>'"}}) {
    EXPECT_EQ(Argv(Values(c.command), c.row), c.argv) << c.command[0];
    EXPECT_EQ(Text(Values(c.command), c.row), c.text);
  }
  JobSettings repeat = Values({"echo", "<{}>"});
  repeat.repeat_context = true;
  EXPECT_EQ(Argv(repeat, "1\0002"s), Words({"echo", "<1>", "<2>"}));
}

TEST(ExpandValues, OneWordWithBlanksIsShellText) {
  struct Case {
    std::string command, row;
    Words argv;
    std::string text;
  };
  for (const Case& c :
       std::vector<Case>{// Nothing in it needs a shell, whatever the value.
                         {"gzip -k  {}", "a 'b", {"gzip", "-k", "a 'b"}, "gzip -k  'a '\\''b'"},
                         {"gzip {}x {2}", "a\0 "s, {"gzip", "a", " x", " "}, "gzip a ' 'x ' '"},
                         {"gzip -k", "$x", {"gzip", "-k", "$x"}, "gzip -k '$x'"},
                         {"gzip -k {}", "", {"gzip", "-k", ""}, "gzip -k ''"},
                         // Something does.
                         {"gzip < {} > {.}.gz",
                          "a b.x",
                          {"/bin/sh", "-c", "gzip < 'a b.x' > 'a b'.gz"},
                          "gzip < 'a b.x' > 'a b'.gz"},
                         {"a|b", "x", {"/bin/sh", "-c", "a|b x"}, "a|b x"},
                         {"exit", "3", {"/bin/sh", "-c", "exit 3"}, "exit 3"},
                         {"exit {}", "3", {"/bin/sh", "-c", "exit 3"}, "exit 3"},
                         // The value decides.
                         {"{} 3", "exit", {"/bin/sh", "-c", "exit 3"}, "exit 3"},
                         {"{} 3", "prog", {"prog", "3"}, "prog 3"},
                         {" {} 3", "a b", {"/bin/sh", "-c", " 'a b' 3"}, " 'a b' 3"},
                         {"echo {}", "-e", {"/bin/sh", "-c", "echo -e"}, "echo -e"},
                         {"echo {}", "e", {"echo", "e"}, "echo e"},
                         {"echo x{}", "-e", {"echo", "x-e"}, "echo x-e"}}) {
    EXPECT_EQ(Argv(Values({c.command}), c.row), c.argv) << c.command;
    EXPECT_EQ(Text(Values({c.command}), c.row), c.text);
  }
}

TEST(ExpandValues, WithoutASourceBracesAreLiteral) {
  struct Case {
    Words command, argv;
  };
  for (const Case& c : std::vector<Case>{{{"echo", "{}", "{1}"}, {"echo", "{}", "{1}"}},
                                         {{"true"}, {"true"}},
                                         {{"echo a"}, {"echo", "a"}},
                                         {{"echo {}"}, {"/bin/sh", "-c", "echo {}"}},
                                         {{"echo", "{=x=}"}, {"echo", "{=x=}"}}}) {
    JobSettings settings = Values(c.command);
    settings.has_source = false;
    EXPECT_EQ(Argv(settings, ""), c.argv) << c.command[0];
  }
}

TEST(ExpandValues, FilesByPattern) {
  JobSettings settings = Values({"sort"});
  settings.value_names = {"in"};
  settings.stdin_pattern = "{in}";
  settings.stdout_pattern = "out/{job}/{#}-{/.}";
  settings.stderr_pattern = "err.{index}.{%}";
  auto job = CompileJob(settings, JobId(12));
  ASSERT_TRUE(job);
  auto body = Expand(*job, "a b/c.x", 6, 0);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->stdin_file, "a b/c.x");
  EXPECT_EQ(body->stdout_file, "out/12/7-c");
  EXPECT_EQ(body->stderr_file, "err.7.1");

  JobSettings list;
  list.stdout_pattern = "out.{#}";
  body = Expand(*CompileJob(list, JobId(1)), "true", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->stdout_file, "out.1");
  EXPECT_EQ(body->stderr_file, "");
}

TEST(ExpandValues, FilesThatTravel) {
  JobSettings settings = Values({"sort"});
  settings.put_patterns = {"tool", "{}", "in/{/}", "{}"};
  settings.get_patterns = {"{/.}.out", "log.{#}"};
  auto job = CompileJob(settings, JobId(12));
  ASSERT_TRUE(job);
  auto body = Expand(*job, "a b/c.x", 6, 1);
  ASSERT_TRUE(body);
  std::vector<std::string> puts;
  for (const TaskPut& put : body->puts) puts.push_back(put.name);
  EXPECT_EQ(puts, (std::vector<std::string>{"tool", "a b/c.x", "in/c.x"}));
  EXPECT_EQ(body->gets, (std::vector<std::string>{"c.out", "log.7"}));
  // A value may not lead out of the folder.
  for (const char* bad : {"../x", "/etc/passwd", ""}) {
    EXPECT_FALSE(Expand(*job, bad, 6, 1)) << bad;
  }
  settings.get_patterns = {"{2}"};
  EXPECT_FALSE(CheckPositions(settings, 1));
  JobSettings list;
  list.put_patterns = {"{}"};
  EXPECT_FALSE(CompileJob(list, JobId(1)));
}

TEST(ExpandValues, FilesOfRanks) {
  JobSettings settings = Values({"sort"});
  settings.get_patterns = {"{}.{rank}", "all.{#}"};
  settings.stdout_pattern = "{rank}.out";
  auto job = CompileJob(settings, JobId(12));
  ASSERT_TRUE(job);
  using Names = std::vector<std::string>;
  auto names = [&](uint32_t first, uint32_t ranks) {
    auto body = (*job)->Body("a{rank}", {.index = 6, .first_rank = first, .ranks = ranks});
    EXPECT_TRUE(body);
    EXPECT_EQ(body->stdout_file, "{rank}.out") << "elsewhere it means nothing";
    return body->gets;
  };
  EXPECT_EQ(names(0, 2), (Names{"a{rank}.0", "a{rank}.1", "all.7"}));
  EXPECT_EQ(names(2, 1), (Names{"a{rank}.2"})) << "what is the task's own comes from the first";
  EXPECT_EQ(names(0, 0), (Names{"all.7"}));
}

TEST(CompileJob, ErrorsNameTheFix) {
  JobSettings list;
  list.stdout_pattern = "out/{/.}";
  JobSettings literal = Values({"true"});
  literal.has_source = false;
  literal.stdin_pattern = "{1}";
  struct Case {
    JobSettings settings;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {list,
            "--stdout 'out/{/.}': {/.} is a placeholder for a value, but the tasks have none; use "
            "{#} (the "
            "task's number), {%} (its slot) or {job}"},
           {literal,
            "--stdin '{1}': {1} is a placeholder for a value, but the tasks have none; use {#} "
            "(the task's "
            "number), {%} (its slot) or {job}"},
           {Values({}),
            "there is no command for the values: write one after --, as in `-- gzip {} ::: a b`; "
            "lines that are commands themselves go into a job list"},
           {Values({"echo", "{= s/a/b/ =}"}),
            "'{= s/a/b/ =}': {= =} is Perl code for GNU parallel, which is not supported here; use "
            "{.} {..} {/} {//} {/.} {%.txt}, or let a shell change the value, as in `-- 'f={}; mv "
            "$f ${f%.x}.y'`"},
           {Values({"echo", "a\0b"s}), "a word of the command contains a NUL byte; remove it"}}) {
    auto job = CompileJob(c.settings, JobId(1));
    ASSERT_FALSE(job) << c.message;
    EXPECT_EQ(job.error().message, c.message);
  }
}

TEST(CheckPositions, AgainstTheValuesOfARow) {
  struct Case {
    std::string word;
    size_t values;
    bool valid;
  };
  for (const Case& c : std::vector<Case>{{"{2}", 2, true},
                                         {"{3}", 2, false},
                                         {"{-2/}", 2, true},
                                         {"x{-3/.}", 2, false},
                                         {"{}{#}", 1, true}}) {
    JobSettings settings = Values({"echo", c.word});
    EXPECT_EQ(CheckPositions(settings, c.values).has_value(), c.valid) << c.word;
    settings = Values({"echo"});
    settings.stdout_pattern = c.word;
    EXPECT_EQ(CheckPositions(settings, c.values).has_value(), c.valid) << c.word;
    settings.has_source = false;
    EXPECT_TRUE(CheckPositions(settings, c.values)) << c.word;
  }
  EXPECT_EQ(CheckPositions(Values({"cp", "{3}x"}), 2).error().message,
            "{3} in '{3}x' needs value 3, but each task has 2; use {} or a number from 1 to 2, "
            "or add a source (:::)");
}

TEST(CheckFill, NeedsAPlaceForAllValues) {
  JobSettings settings = Values({"echo", "{1}", "{n}"});
  settings.value_names = {"n"};
  EXPECT_FALSE(CheckFill(settings));
  settings.command = {"echo", "{n}"};
  EXPECT_EQ(CheckFill(settings).error().message,
            "-X gives a task as many values as fit, but {n} is only one of them; write {}, or "
            "leave out -X");
  for (const char* word : {"{}", "{/.}", "x", "{#}"}) {
    settings.command = {"echo", word};
    EXPECT_TRUE(CheckFill(settings)) << word;
  }
  settings.command = {"echo", "{1}", "{}"};
  EXPECT_TRUE(CheckFill(settings));
}

TEST(ExpandValues, RefusesWhatCannotBeStarted) {
  const size_t word = kLimits.shell_text_bytes;
  EXPECT_EQ(Argv(Values({"a", "{}"}), std::string(word, 'x')).size(), 2u);
  EXPECT_EQ(Argv(Values({"a", "{}"}), std::string(word + 1, 'x')),
            Words({"an argument of the command is 131,072 bytes long, but the system accepts at "
                   "most 131,071; pass it in a file"}));
  EXPECT_EQ(Argv(Values({"a;b {}"}), std::string(word, 'x')),
            Words({"an argument of the command is 131,075 bytes long, but the system accepts at "
                   "most 131,071; pass it in a file"}));
  std::string row = "x";
  for (int i = 0; i < 149'998; ++i) row += "\0x"s;
  EXPECT_EQ(Argv(Values({"a", "{}"}), row).size(), 150'000u);
  EXPECT_EQ(
      Argv(Values({"a", "{}"}), row + "\0x"s),
      Words({"the command has 150,001 arguments of 1,500,010 bytes in total, but Spate "
             "accepts at most 1,500,000; pass fewer values at once (-n), or pass them in a file"}));
}

TEST(Expand, AShellOfOnesOwnReadsEverything) {
  JobSettings list;
  list.shell = "bash";
  auto argv = [](const JobSettings& settings, std::string_view row) {
    return Expand(*CompileJob(settings, JobId(1)), row, 0, 1)->steps.at(0).commands.at(0).argv;
  };
  EXPECT_EQ(argv(list, "echo a"), (std::vector<std::string>{"bash", "-c", "echo a"}));
  JobSettings text{.row_kind = RowKind::kValues, .command = {"declare {}"}, .shell = "/bin/ksh"};
  EXPECT_EQ(argv(text, "a b"), (std::vector<std::string>{"/bin/ksh", "-c", "declare 'a b'"}));
  text.command = {"times"};
  EXPECT_EQ(argv(text, "x"), (std::vector<std::string>{"/bin/ksh", "-c", "times x"}));
  text.command = {"echo", "{}"};
  EXPECT_EQ(argv(text, "a b"), (std::vector<std::string>{"echo", "a b"}));
}

TEST(Expand, BashReadsOnlyTextThatNeedsAShell) {
  auto argv = [](const Dialects& dialects, JobSettings settings, std::string_view row) {
    settings.bash = true;
    return Expand(*dialects.Compile(settings, JobId(1)), row, 0, 1)->steps[0].commands[0].argv;
  };
  const Dialects usual;
  EXPECT_EQ(argv(usual, {}, "[[ -e a ]]"), Words({"/bin/bash", "-c", "[[ -e a ]]"}));
  EXPECT_EQ(argv(usual, {}, "source env"), Words({"/bin/bash", "-c", "source env"}));
  EXPECT_EQ(argv(usual, {}, "gzip a"), Words({"gzip", "a"}));
  EXPECT_EQ(argv(usual, Values({"gzip {}"}), "a b"), Words({"gzip", "a b"}));
  EXPECT_EQ(argv(usual, Values({"a <({})"}), "b"), Words({"/bin/bash", "-c", "a <(b)"}));
  JobSettings resident{.row_kind = RowKind::kResident, .command = {"tool | cat"}};
  EXPECT_EQ(argv(usual, resident, "v"), Words({"/bin/bash", "-c", "tool | cat"}));
  // Another place on this machine, and a shell that was named.
  const Dialects elsewhere("/opt/bin/bash");
  EXPECT_EQ(argv(elsewhere, {}, "a;b"), Words({"/opt/bin/bash", "-c", "a;b"}));
  JobSettings named;
  named.shell = "dash";
  EXPECT_EQ(argv(elsewhere, named, "a;b"), Words({"dash", "-c", "a;b"}));
}

TEST(Expand, ACommandMayNeedAShell) {
  for (const char* text : {"a|b {}", "{} 3", "echo {}", "a; b"}) {
    EXPECT_TRUE(MayNeedShell(Values({text}))) << text;
  }
  EXPECT_FALSE(MayNeedShell(Values({"gzip {}"})));
  EXPECT_FALSE(MayNeedShell(Values({"sh", "-c", "a|b"})));
  EXPECT_FALSE(MayNeedShell({}));
}

TEST(Expand, AResidentProcessIsGivenTheValues) {
  JobSettings settings{.row_kind = RowKind::kResident, .command = {"tool", "-x", "a b"}};
  auto job = CompileJob(settings, JobId(1));
  ASSERT_TRUE(job) << job.error().message;
  std::string row("one\0two words", 13);
  auto body = Expand(*job, row, 6, 1);
  EXPECT_TRUE(body->resident);
  EXPECT_EQ(body->input, "one\ttwo words");
  EXPECT_EQ(body->steps.at(0).commands.at(0).argv, settings.command);
  EXPECT_EQ(CommandText(*job, "v", 6, 1), "tool -x 'a b' <<< v");
  settings.command = {"tool | cat"};
  body = Expand(*CompileJob(settings, JobId(1)), "v", 0, 1);
  EXPECT_EQ(body->steps.at(0).commands.at(0).argv,
            (std::vector<std::string>{"/bin/sh", "-c", "tool | cat"}));
  for (const char* word : {"{}", "x{1}", "tool {#}"}) {
    settings.command = {"tool", word};
    auto refused = CompileJob(settings, JobId(1));
    ASSERT_FALSE(refused) << word;
    EXPECT_NE(refused.error().message.find("cannot have placeholders"), std::string::npos);
  }
  settings.command = {"tool"};
  settings.stdout_pattern = "out";
  EXPECT_FALSE(CompileJob(settings, JobId(1)));
}

TEST(Expand, APieceOfInputIsStandardInput) {
  JobSettings settings{.row_kind = RowKind::kInput,
                       .command = {"tool", "{#}", "{}"},
                       .stdin_pattern = "/jobs/{}/input"};
  auto job = CompileJob(settings, JobId(1));
  ASSERT_TRUE(job) << job.error().message;
  auto block = Expand(*job, EncodeInputRow({.offset = 5, .length = 10, .hash = 3}), 6, 1);
  EXPECT_EQ(block->stdin_file, "/jobs/{}/input/7");
  EXPECT_EQ(block->steps.at(0).commands.size(), 1u);
  EXPECT_EQ(block->steps[0].commands[0].argv, (std::vector<std::string>{"tool", "7", ""}));
  auto part =
      Expand(*job, EncodeInputRow({.offset = 5, .length = 10, .header = 2, .file = "/a b"}), 0, 1);
  EXPECT_EQ(part->stdin_file, "");
  ASSERT_EQ(part->steps.at(0).commands.size(), 2u);
  EXPECT_EQ(part->steps[0].commands[0].argv,
            (std::vector<std::string>{"/proc/self/exe", "__part", "2", "5", "10", "/a b"}));
  EXPECT_FALSE(Expand(*job, "damaged", 0, 1));
}

}  // namespace
}  // namespace spate::format
