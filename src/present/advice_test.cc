#include "present/advice.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(AdviceText, CommandsTakeTheOptionsThatReach) {
  constexpr const char* kHub = " --hub --state 's t'";
  constexpr const char* kAccess = " --access a";
  const struct {
    Advice advice;
    const char* reach;
    const char* text;
  } kCases[] = {
      {Advice("job list"), "", "spate job list"},
      {Advice("job list"), kAccess, "spate job list --access a"},
      {Advice("job cancel", 3), kHub, "spate job cancel --hub --state 's t' 3"},
      {Advice("job info", 3), " --local", "spate job info --local 3"},
      {Advice("node list"), kHub, "spate node list --state 's t'"},
      {Advice("hub access list"), kAccess, "spate hub access list --access a"},
      {Advice("hub start", "--daemon"), kHub, "spate hub start --state 's t' --daemon"},
      {Advice("hub start", "--daemon"), kAccess, "spate hub start --daemon"},
      {Advice("state check"), kHub, "spate state check --state 's t'"},
      {Advice("node stop", "n1"), kAccess, "spate node stop n1"},
      {Advice("job add", 3, "LIST"), kHub, "spate job add --state 's t' 3 LIST"},
      {Advice("node list"), " --local", "spate node list"},
      {Advice("job list", "--state", "x"), kHub, "spate job list --state x"},
      {Advice("version"), kAccess, "spate version"},
      {Advice("pool info", "it's"), "", "spate pool info 'it'\\''s'"},
      {Advice("node remove", "a\x1b[1m"), "", "spate node remove 'a\\x1b[1m'"},
  };
  for (const auto& each : kCases) EXPECT_EQ(TextOf(each.advice, each.reach), each.text);
}

TEST(AdviceText, RemediesFillTheirPlaces) {
  EXPECT_EQ(TextOf(SeeAlso("job list"), " --hub"), "; see: spate job list --hub");
  const Remedy two("; {0}"), short_of("{} and {}", Advice("a"));
  EXPECT_EQ(TextOf(two), "; {0}");
  EXPECT_EQ(TextOf(short_of), "spate a and {}");
  EXPECT_EQ(TextOf(Remedy("{}, then {}", Advice("job hold", 1), Advice("job release", 1)), " -x"),
            "spate job hold -x 1, then spate job release -x 1");
}

// Names given by users are not text to be searched for commands.
TEST(AdviceText, MessagesStayAsTheyAre) {
  const Error error{ErrorKind::kNotFound, "no label 'spate job x {}'", SeeAlso("job list")};
  EXPECT_EQ(TextOf(error, " --hub"), "no label 'spate job x {}'; see: spate job list --hub");
  const Error reached = Reached(error, " --hub");
  EXPECT_EQ(TextOf(reached, " --access a"), TextOf(error, " --hub"));
  EXPECT_EQ(reached.kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace spate::present
