#include "doors/parasol/formats/job_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

constexpr auto kIn = CheckWhen::kIn;
constexpr auto kOut = CheckWhen::kOut;

TEST(ParasolListTest, Lines) {
  struct Case {
    std::string line, command;
    std::vector<Check> checks = {};
    double cpus = 0;
    uint64_t ram = 0;
  };
  for (const Case& c : std::vector<Case>{
           {"echo hello", "echo hello"},
           {"a\t \"b c\" 'd' > e | f", "a\t \"b c\" 'd' > e | f"},
           {"blat {check in line+ h.fa} {check out exists o}",
            "blat h.fa o",
            {{kIn, CheckKind::kLinePlus, "h.fa"}, {kOut, CheckKind::kExists, "o"}}},
           {"p -o={check out line o}.x", "p -o=o.x", {{kOut, CheckKind::kLine, "o"}}},
           {"p {check\tout   exists+\to }", "p o", {{kOut, CheckKind::kExistsPlus, "o"}}},
           {"{check in exists a}{check in exists b}",
            "ab",
            {{kIn, CheckKind::kExists, "a"}, {kIn, CheckKind::kExists, "b"}}},
           {"p {use cpu 2} {use ram 4g} q", "p   q", {}, 2, 4ull << 30},
           {"p {user cpu 2}", "p ", {}, 2},
           {"p {use cpu 1e2}", "p ", {}, 100},
           {"{use ram 1g} p", " p", {}, 0, 1 << 30},
           {"p {checks out line o}", "p o", {{kOut, CheckKind::kLine, "o"}}},
           {"p { use ram 1g}", "p { use ram 1g}"},
           {"p {use  ram\t1g }", "p ", {}, 0, 1 << 30},
           {"{use cpu 0.5}p{use ram 1000}", "p", {}, 0.5, 1000},
           {"p {use ram 1k} {use ram 2m}", "p  ", {}, 0, 2 << 20},
           {"awk {print} {} {che {us a}", "awk {print} {} {che {us a}"},
           {"echo $JOB_ID {check out exists $JOB_ID.out}",
            "echo $JOB_ID $JOB_ID.out",
            {{kOut, CheckKind::kExists, "$JOB_ID.out"}}},
           {std::string(300'000, 'x'), std::string(300'000, 'x')}}) {
    auto jobs = ReadParasolList(" \t" + c.line + "  \r\n", "jobs");
    ASSERT_TRUE(jobs) << jobs.error().message;
    ASSERT_EQ(jobs->size(), 1u);
    ParasolJob expected{.command = c.command, .cpus = c.cpus, .ram = c.ram, .checks = c.checks};
    expected.spec = c.line;
    EXPECT_EQ(jobs->front(), expected) << c.line << " gave " << jobs->front().command;
  }
}

TEST(ParasolListTest, SkipsBlankLinesAndComments) {
  auto jobs = ReadParasolList("\n# a\n  \n  # {check\na # b\n\nc", "jobs");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ((*jobs)[0].command, "a # b");
  EXPECT_EQ((*jobs)[1].command, "c");
  EXPECT_TRUE(ReadParasolList("", "jobs")->empty());
  // Each line is a job, as in Parasol: a backslash at its end is a word.
  jobs = ReadParasolList("a \\\nb\ncd c\nd\\", "jobs");
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 4u);
  EXPECT_EQ((*jobs)[0].command, "a \\");
  EXPECT_EQ((*jobs)[2].command, "cd c");
}

TEST(ParasolListTest, Errors) {
  struct Case {
    std::string_view line, message;
  };
  for (const Case& c : std::vector<Case>{
           {"p {check in exists f", "{check without } line 2 of d/jobs"},
           {"p {use cpu 1", "{use without } line 2 of d/jobs"},
           {"p {check in exists}", "Badly formatted check line 2 of d/jobs"},
           {"p {check in exists a b}", "Badly formatted check line 2 of d/jobs"},
           {"p {checkin exists a}", "Badly formatted check line 2 of d/jobs"},
           {"p {check}", "Badly formatted check line 2 of d/jobs"},
           {"p {check on exists f}", "Unrecognized word 'on' in check line 2 of d/jobs"},
           {"p {check in exist f}", "Unrecognized word 'exist' in check line 2 of d/jobs"},
           {"p {use cpu}", "Badly formatted 'use' clause in line 2 of d/jobs"},
           {"p {use cpu 1 2}", "Badly formatted 'use' clause in line 2 of d/jobs"},
           {"p {user}", "Badly formatted 'use' clause in line 2 of d/jobs"},
           {"p {useram 1g}", "Badly formatted 'use' clause in line 2 of d/jobs"},
           {"p {use disk 1}", "Unrecognized word 'disk' in use line 2 of d/jobs"},
           {"p {use cpu x}", "'x' is not a valid number of CPUs in use line 2 of d/jobs"},
           {"p {use cpu -1}", "'-1' is not a valid number of CPUs in use line 2 of d/jobs"},
           {"p {use cpu inf}", "'inf' is not a valid number of CPUs in use line 2 of d/jobs"},
           {"p {use cpu nan}", "'nan' is not a valid number of CPUs in use line 2 of d/jobs"},
           {"p {use ram 2G}", "Invalid RAM expression '2G' in 'use' clause line 2 of d/jobs"},
           {"{use cpu 1}", "No command beside the clauses in line 2 of d/jobs"}}) {
    auto jobs = ReadParasolList("# \n" + std::string(c.line) + "\nq\n", "d/jobs");
    ASSERT_FALSE(jobs) << c.line;
    EXPECT_EQ(jobs.error().message, c.message);
  }
  EXPECT_FALSE(ReadParasolList(std::string_view("a\0b", 3), "jobs"));
}

TEST(ParasolSizeTest, Table) {
  struct Case {
    std::string_view text;
    uint64_t size;
  };
  for (const Case& c : std::vector<Case>{{"0", 0},
                                         {"512", 512},
                                         {"3k", 3 << 10},
                                         {"3m", 3 << 20},
                                         {"8g", 8ull << 30},
                                         {"1t", 1ull << 40},
                                         {"16777215t", 16777215ull << 40},
                                         {"18446744073709551615", ~0ull}}) {
    EXPECT_EQ(ParseParasolSize(c.text).value_or(1), c.size) << c.text;
  }
  for (std::string_view text :
       {"", "k", "2G", "1.5g", "2gb", "2 g", "-1", "+1", "16777216t", "18446744073709551616"}) {
    EXPECT_FALSE(ParseParasolSize(text)) << text;
  }
}

TEST(ParasolChecksTest, MessagesInOrder) {
  std::vector<Check> checks = {{kOut, CheckKind::kLine, "a"},
                               {kIn, CheckKind::kExists, "b"},
                               {kOut, CheckKind::kExists, "good"},
                               {kOut, CheckKind::kLinePlus, "c"}};
  auto why = [](CheckKind kind, const char* file) {
    std::string name = file;
    return name == "good" ? "" : name + " fails " + WordOf(kind);
  };
  using Messages = std::vector<std::string>;
  EXPECT_EQ(FailedChecks(checks, kOut, why), (Messages{"a fails line", "c fails line+"}));
  EXPECT_EQ(FailedChecks(checks, kIn, why), (Messages{"b fails exists"}));
}

}  // namespace
}  // namespace spate::parasol
