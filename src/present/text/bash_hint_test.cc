#include "present/text/bash_hint.h"

#include <gtest/gtest.h>

namespace spate::present {
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

}  // namespace
}  // namespace spate::present
