#include "format/list_line.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "core/model/limits.h"

namespace spate::format {
namespace {

constexpr auto kIn = CheckWhen::kIn;
constexpr auto kOut = CheckWhen::kOut;

TEST(ListLine, TakesCommandsAndClauses) {
  struct Case {
    std::string_view line;
    ListLine parsed;
  };
  const std::vector<Case> cases = {
      {"echo a", {.command = "echo a"}},
      {"  \techo  a \t\r", {.command = "echo  a"}},
      {"touch a\\ ", {.command = "touch a\\ "}},
      {"touch a\\  ", {.command = "touch a\\ "}},
      {"touch a\\\r", {.command = "touch a\\"}},
      {"echo # no comment", {.command = "echo # no comment"}},
      {"run {check in exists a} {check out line+ b}",
       {.command = "run a b",
        .checks = {{kIn, CheckKind::kExists, "a"}, {kOut, CheckKind::kLinePlus, "b"}}}},
      {"run -o={check  out\texists+   b }x",
       {.command = "run -o=bx", .checks = {{kOut, CheckKind::kExistsPlus, "b"}}}},
      {"run '{check out line $HOME/f}'",
       {.command = "run '$HOME/f'", .checks = {{kOut, CheckKind::kLine, "$HOME/f"}}}},
      {"{check in exists prog}{use cpu 2}",
       {.command = "prog", .checks = {{kIn, CheckKind::kExists, "prog"}}, .milli_cpus = 2000}},
      {"{use cpu 0.5} a {use ram 2g} b {use ram 3k}",
       {.command = "a  b", .milli_cpus = 500, .memory = 3072}},
      {"a {use ram 1048576}", {.command = "a", .memory = 1048576}},
      {"a {use cpu 0.001}", {.command = "a", .milli_cpus = 1}},
      {"{name sort} sort a {after  split\tmerge }",
       {.command = "sort a", .name = "sort", .after = {"split", "merge"}}},
      {"a {name x}{name y} {after b} {after c}",
       {.command = "a", .name = "y", .after = {"b", "c"}}},
      // Texts that only look like clauses.
      {"echo {name} {after} {named x}", {.command = "echo {name} {after} {named x}"}},
      {"awk '{use+=$1} END{print used}'", {.command = "awk '{use+=$1} END{print used}'"}},
      {"awk '{used}'", {.command = "awk '{used}'"}},
      {"echo ${check} ${use} {checks} {}", {.command = "echo ${check} ${use} {checks} {}"}},
      {"echo ${check in exists f}", {.command = "echo ${check in exists f}"}},
      {"echo \xff\xfe {", {.command = "echo \xff\xfe {"}},
  };
  for (const Case& c : cases) {
    auto parsed = ParseListLine(c.line);
    ASSERT_TRUE(parsed) << c.line << ": " << parsed.error().message;
    EXPECT_EQ(parsed->command, c.parsed.command) << c.line;
    EXPECT_EQ(*parsed, c.parsed) << c.line;
  }
}

TEST(ListLine, ErrorsNameTheProblemAndTheFix) {
  using namespace std::literals;
  struct Case {
    std::string line, message;
  };
  const std::string check_form = "write {check in|out exists|exists+|line|line+ FILE}";
  const std::string use_form = "write {use cpu N} or {use ram SIZE}";
  const std::vector<Case> cases = {
      {"a {check out line b", "{check without }: " + check_form},
      {"a {check", "{check without }: " + check_form},
      {"a {use cpu 1", "{use without }: " + use_form},
      {"a {check}", "Badly formatted check '{check}': " + check_form},
      {"a {check out line}", "Badly formatted check '{check out line}': " + check_form},
      {"a {check out line b c}", "Badly formatted check '{check out line b c}': " + check_form +
                                     "; the name of the file cannot contain blanks"},
      {"a {check before line b}", "Unrecognized word 'before' in check: write in or out"},
      {"a {check ot line b}",
       "Unrecognized word 'ot' in check; did you mean out?: write in or out"},
      {"a {check out exist b}",
       "Unrecognized word 'exist' in check; did you mean exists?: write "
       "exists, exists+, line or line+"},
      {"a {name x y}", "Badly formatted name '{name x y}': write {name NAME}"},
      {"a {name }", "Badly formatted name '{name }': write {name NAME}"},
      {"a {after }", "Badly formatted after '{after }': write {after NAME...}"},
      {"a {after b", "{after without }: write {after NAME...}"},
      {"a {use}", "Badly formatted use '{use}': " + use_form},
      {"a {use cpu 1 2}", "Badly formatted use '{use cpu 1 2}': " + use_form},
      {"a {use disk 1}", "Unrecognized word 'disk' in use: write cpu or ram"},
      {"a {use cpu two}",
       "'two' in {use cpu} is not a number of processors: write for example "
       "{use cpu 2} or {use cpu 0.5}"},
      {"a {use ram 2x}",
       "in {use ram}: '2x' is not a size; write for example 64K, 1.5G or "
       "2GiB"},
      {"a {use ram 0}",
       "'0' in {use ram} requests no memory; write for example {use ram 2g}, or "
       "leave the clause out"},
      {"a\0b"s,
       "byte 2 is NUL, which is not allowed in commands; remove it (is this a list of commands?)"},
      {"  {use cpu 1}  ", "the line has clauses but no command; write one, or remove the line"},
      {"a {check out \x1b[2J" + std::string(100, 'x') + " b}",
       "Unrecognized word '\\x1b[2J" + std::string(56, 'x') +
           "...' in check: write exists, exists+, line or line+"},
  };
  for (const Case& c : cases) {
    auto parsed = ParseListLine(c.line);
    ASSERT_FALSE(parsed) << c.line;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(parsed.error().message, c.message) << c.line;
  }
  for (std::string_view amount :
       {"0", "-1", "1e3", "nan", "inf", "1,5", "2000000", "0.0001", "+1", "0x10", "1.", ".5."}) {
    bool valid = amount == "1.";
    EXPECT_EQ(ParseListLine("a {use cpu " + std::string(amount) + "}").has_value(), valid)
        << amount;
  }
}

TEST(ListLine, RefusesWhatCannotBeStarted) {
  const size_t word = kLimits.shell_text_bytes;
  EXPECT_TRUE(ParseListLine(std::string(word, 'a')));
  EXPECT_TRUE(ParseListLine("'" + std::string(word - 2, 'a') + "'"));
  struct Case {
    std::string line, start;
  };
  std::string many;
  while (many.size() <= kLimits.argv_bytes) many += "word ";
  for (const Case& c : std::vector<Case>{
           {"'" + std::string(word - 1, 'a') + "'", "the command is 131,072 bytes long, but a"},
           {"a " + std::string(word + 1, 'b'), "the word 'bbb"},
           {many, "the command is 1,500,004 bytes long, but Spate accepts at most 1,500,000"}}) {
    auto parsed = ParseListLine(c.line);
    ASSERT_FALSE(parsed) << c.start;
    EXPECT_EQ(parsed.error().message.substr(0, c.start.size()), c.start);
  }
  EXPECT_TRUE(ParseListLine(std::string_view(many).substr(0, 1'400'000)));
}

TEST(ListLine, AnyTextParsesOrIsRefusedInPrintableWords) {
  EXPECT_TRUE(rc::check("no input breaks the parser", [] {
    auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
        rc::gen::element<std::string>("{check ", "{use ", "}", " in ", " out ", "exists ", "line+ ",
                                      "cpu ", "ram ", "2g", "0.5", "{", "$", "\\", "\r", " "),
        rc::gen::arbitrary<std::string>()));
    std::string line;
    for (const std::string& piece : pieces) line += piece;
    auto parsed = ParseListLine(line);
    if (parsed) {
      RC_ASSERT(!parsed->command.empty());
      RC_ASSERT(parsed->command.size() <= line.size());
      // Trimming first changes nothing.
      auto again = ParseListLine(TrimLine(line));
      RC_ASSERT(again.has_value());
      RC_ASSERT(*again == *parsed);
    } else {
      for (char c : parsed.error().message) {
        RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
      }
    }
  }));
}

}  // namespace
}  // namespace spate::format
