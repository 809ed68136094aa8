#include "doors/parasol/programs/parasol_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

using Args = std::vector<std::string>;

constexpr ParasolOptionDef kKnown[] = {{"eta"},
                                       {"batch", ParasolType::kText},
                                       {"retries", ParasolType::kInt},
                                       {"cpu", ParasolType::kFloat}};

TEST(ParasolOptionsTest, WordsAndOptions) {
  struct Case {
    Args args, words;
    std::string_view name, value;
  };
  for (const Case& c : std::vector<Case>{
           {{"-log=x", "a"}, {"a"}, "log", "x"},
           {{"log=x", "a"}, {"a"}, "log", "x"},
           {{"–log=x", "a", "–"}, {"a", "–"}, "log", "x"},
           {{"a", "-log=x", "b"}, {"a", "b"}, "log", "x"},
           {{"-log=a", "-log=b"}, {}, "log", "b"},
           {{"-log"}, {}, "log", ""},
           {{"-log="}, {}, "log", ""},
           {{"-env=A=b c"}, {}, "env", "A=b c"},
           {{"--log=x"}, {}, "-log", "x"},
           {{"max_Job-2=7"}, {}, "max_Job-2", "7"},
           {{"-", "--", "-log=x", "--"}, {"-", "-log=x", "--"}, "", "none"},
           {{"a/b=c", "=x", "a b=c", "log"}, {"a/b=c", "=x", "a b=c", "log"}, "", "none"}}) {
    ParasolOptions options = ParasolOptions::ParseAny(c.args);
    EXPECT_EQ(options.words(), c.words);
    if (c.value != "none") EXPECT_EQ(options.Text(c.name), c.value) << c.name;
    EXPECT_EQ(options.Has("log"), c.name == "log");
  }
  ParasolOptions options = ParasolOptions::ParseAny(Args{"-env=A", "env=B"});
  EXPECT_EQ(options.All("env"), (std::vector<std::string_view>{"A", "B"}));
}

TEST(ParasolOptionsTest, BeforeWords) {
  ParasolOptions options =
      ParasolOptions::ParseBeforeWords(Args{"-verbose", "in=f", "add", "job", "-x=y", "out=g"});
  EXPECT_EQ(options.words(), (Args{"add", "job", "-x=y", "out=g"}));
  EXPECT_TRUE(options.Has("verbose"));
  EXPECT_EQ(options.Text("in"), "f");
  EXPECT_FALSE(options.Has("out"));
}

TEST(ParasolOptionsTest, Checked) {
  auto options = ParasolOptions::Parse(
      Args{"make", "-eta", "batch=", "-retries=7", "-cpu=0.5", "-verbose=2", "jobs"}, kKnown);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->words(), (Args{"make", "jobs"}));
  EXPECT_EQ(options->Int("retries", 4), 7);
  EXPECT_EQ(options->Int("maxPush", 4), 4);
  EXPECT_EQ(options->Float("cpu", 1), 0.5);
  EXPECT_EQ(options->Text("batch"), "");

  struct Case {
    std::string arg, message;
  };
  for (const Case& c : std::vector<Case>{
           {"-foo", "-foo is not a valid option"},
           {"foo=1", "-foo is not a valid option"},
           {"--eta", "--eta is not a valid option; did you mean eta?"},
           {"-retris=3", "-retris is not a valid option; did you mean retries?"},
           {"-eta=1", "-eta takes no value; write -eta"},
           {"-batch", "-batch needs a value; write -batch=VALUE"},
           {"-retries=x", "-retries=x is not a whole number; write for example -retries=4"},
           {"-retries=", "-retries= is not a whole number; write for example -retries=4"},
           {"-retries=1.5", "-retries=1.5 is not a whole number; write for example -retries=4"},
           {"-retries=99999999999", "-retries=99999999999: must be from -2147483647 to 2147483647"},
           {"-verbose", "-verbose needs a value; write -verbose=VALUE"},
           {"-cpu=nan", "-cpu=nan is not a number; write for example -cpu=4"},
           {"-cpu=1g", "-cpu=1g is not a number; write for example -cpu=4"}}) {
    auto refused = ParasolOptions::Parse(Args{c.arg}, kKnown);
    ASSERT_FALSE(refused) << c.arg;
    EXPECT_EQ(refused.error().message, c.message);
  }
}

}  // namespace
}  // namespace spate::parasol
