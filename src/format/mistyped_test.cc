#include "format/mistyped.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::format {
namespace {

const std::vector<std::string> kNames = {"name", "sample_id", "x"};

TEST(Mistyped, RefusesWordsInBracesThatNameNothing) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : std::vector<Case>{
           {"cat {nmae}", "{nmae}: no value is called nmae; did you mean {name}?"},
           {"{Name}.txt", "did you mean {name}?"},
           {"in/{nmae/.}.gz", "did you mean {name/.}?"},
           {"{name} {sampl_id.}", "did you mean {sample_id.}?"},
           {"a{{nmae} b", ""},
           {"{sample-id}", "did you mean {sample_id}?"},
           {"{other}", "{other}: no value is called other\nthe names are name, sample_id, x"},
           {"x={other%.gz}", "{other%.gz}"},
           {"img_{numbr}.png", "{numbr}"},
           {"'{nmae}'", "did you mean"},
           {"{##} of", "{##}: the number of all tasks is not known"},
       }) {
    std::string why = WhyMistyped(c.text, {.names = kNames});
    EXPECT_EQ(why.empty(), *c.says == '\0') << c.text << ": " << why;
    EXPECT_NE(why.find(c.says), std::string::npos) << c.text << ": " << why;
  }
}

TEST(Mistyped, LeavesTextInBracesAlone) {
  for (const char* text :
       {"{name} {name.} {sample_id/} {x} {} {.} {/} {//} {/.} {#} {%} {1} {-1} {2/.} {%.gz}",
        "echo {a,b} {1..3} {a..z} {,bak} {aa,bb}",
        "awk '{print $1}' {name}",
        "awk '{print}' {name}",
        "awk 'NR>1{next}{sum+=$1}END{print s}'",
        "echo ${var} ${nmae} ${nmae%.x} ${nmae:-y}",
        "{ cmd; }",
        "{ nmae; }",
        "f() { nmae; }",
        "{\"nmae\": 1}",
        "{nmae: 1}",
        "{'nmae'}",
        "{\"a\":{\"b\":[1]}}",
        "curl -w %{http_code}",
        "git show @{upstream}",
        "git show HEAD@{1}",
        "echo \\{nmae}",
        "\\emph{word} \\frac{ab}{x}",
        "jq '{id, name}'",
        "{{nmae}}",
        "{{ nmae }}",
        "docker -f '{{.Name}}'",
        "sed '/x/{p}' {x}",
        "sed -n '{p;d}'",
        "grep 'a\\{2,3\\}'",
        "find . -exec ls {} +",
        "x{y}",
        "{nmae",
        "nmae}",
        "{a.b}",
        "{a/b}",
        "{nmae+1}",
        "#{nmae}",
        ""}) {
    std::string why = WhyMistyped(text, {.names = kNames});
    EXPECT_EQ(why, "") << text;
  }
  // Without known names, words may be anything.
  EXPECT_EQ(WhyMistyped("cat {nmae}", {}), "");
  EXPECT_NE(WhyMistyped("{nmae}.txt", {.job = true}), "") << "names of files";
  EXPECT_NE(WhyMistyped("{indx}.txt", {.job = true}).find("{index}"), std::string::npos);
  EXPECT_EQ(WhyMistyped("{index}.{job}.{#}", {.job = true}), "");
  EXPECT_NE(WhyMistyped("{rank}", {.job = true}), "") << "of --get alone";
  EXPECT_EQ(WhyMistyped("{rank}", {.job = true, .rank = true}), "");
  EXPECT_NE(WhyMistyped("{ranks}", {.job = true, .rank = true}).find("{rank}"), std::string::npos);
}

TEST(Mistyped, RefusesClausesWithASlip) {
  for (const char* text : {"cat {chek in exists f}", "cat {cehck out line+ f}", "{ues cpu 2} cat",
                           "cat {uses ram 2g}", "cat '{chek in exists f}'", "{nmae a} cat",
                           "cat {aftr a b}", "{forwrad LOG log} cat", "cat {Check in exists f}"}) {
    EXPECT_NE(WhyMistypedClause(text), "") << text;
  }
  EXPECT_NE(WhyMistypedClause("cat {chek in exists f}")
                .find("{chek in exists f}: 'chek' is not a clause; did you mean check?"),
            std::string::npos);
  for (const char* text :
       {"echo {name} {after} {named x}", "awk '{use+=$1} END{print used}'", "awk '{used}'",
        "echo ${chek in exists f}", "{ nmae a; }", "awk '{print $1}'", "awk '{nam $1}'", "{a,b}",
        "{chek}", "{chek in}", "{checked in exists f}", "echo {\"nmae\": 1}", "{chek in exists f",
        "awk '{same x = 1}'", "f() {name; }", "{renamed a}"}) {
    EXPECT_EQ(WhyMistypedClause(text), "") << text;
  }
}

}  // namespace
}  // namespace spate::format
