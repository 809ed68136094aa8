#include "cli/text/bash_hint.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

TEST(BashHintTest, Complaints) {
  EXPECT_EQ(BashInErrors("x\n/bin/sh: 1: [[: not found\n"), "[[: not found");
  EXPECT_EQ(BashInErrors("/bin/sh: 1: Bad substitution\n"), "Bad substitution");
  EXPECT_EQ(BashInErrors("/bin/sh: 1: Syntax error: \"(\" unexpected"),
            "Syntax error: \"(\" unexpected");
  EXPECT_EQ(BashInErrors("/bin/sh: 1: gcc: not found\n"), "");
  EXPECT_EQ(BashInErrors("my program: [[: not found\n"), "");
  EXPECT_EQ(BashInErrors(""), "");
}

TEST(BashHintTest, Ranges) {
  EXPECT_EQ(BashInCommand("for i in {1..3}; do echo $i; done"), "{1..3}");
  EXPECT_EQ(BashInCommand("echo x{a..f}y"), "{a..f}");
  EXPECT_EQ(BashInCommand("echo {10..-1}"), "{10..-1}");
  for (const char* other : {"echo '{1..3}'", "echo ${1..3}", "echo {..}", "cp ../a {x,y}",
                            "awk '{print}' ../f", "echo {1..", "echo {1..3"}) {
    EXPECT_EQ(BashInCommand(other), "") << other;
  }
}

}  // namespace
}  // namespace spate::cli
