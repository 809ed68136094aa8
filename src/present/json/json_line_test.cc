#include "present/json/json_line.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(JsonEscaped, WhatAQuotedTextCannotHaveAndWhatATerminalObeys) {
  EXPECT_EQ(JsonEscaped("a \"b\" \\ \n\t\r caf\u00e9 \U0001F600"),
            "a \\\"b\\\" \\\\ \\n\\t\\r caf\u00e9 \U0001F600");
  EXPECT_EQ(JsonEscaped("\x1b[2J\x7f"), "\\u001b[2J\\u007f");
  EXPECT_EQ(JsonEscaped("\u202e\u2069"), "\\u202e\\u2069");
  EXPECT_EQ(JsonEscaped("\u0080\u009b\u009f\u00a0"), "\\u0080\\u009b\\u009f\u00a0");
}

TEST(JsonEscaped, BytesThatAreNoUtf8Pass) {
  EXPECT_EQ(JsonEscaped("\xc2"), "\xc2");
  EXPECT_EQ(JsonEscaped("\xc2x\xff"), "\xc2x\xff");
}

}  // namespace
}  // namespace spate::present
