#include "present/json/json_line.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(JsonEscaped, WhatAQuotedTextCannotHaveAndWhatATerminalObeys) {
  EXPECT_EQ(JsonEscaped("a \"b\" \\ \n\t\r caf\u00e9 \U0001F600"),
            "a \\\"b\\\" \\\\ \\n\\t\\r caf\u00e9 \U0001F600");
  EXPECT_EQ(JsonEscaped("\x1b[2J\x7f"), "\\u001b[2J\\u007f");
  EXPECT_EQ(JsonEscaped("\u202e\u2069"), "\\u202e\\u2069");
  EXPECT_EQ(JsonEscaped("b@h bi@ \xe2\x80"), "b@h bi@ \xe2\x80");
  EXPECT_EQ(JsonEscaped("a\u2028\u200b\ufeff"), "a\\u2028\\u200b\\ufeff");
  EXPECT_EQ(JsonEscaped("\u00ad\u061c\U000e0041"), "\\u00ad\\u061c\U000e0041");
  EXPECT_EQ(JsonEscaped("\u0080\u009b\u009f\u00a0"), "\\u0080\\u009b\\u009f\u00a0");
}

TEST(JsonEscaped, BytesThatAreNoUtf8Pass) {
  EXPECT_EQ(JsonEscaped("\xc2"), "\xc2");
  EXPECT_EQ(JsonEscaped("\xc2x\xff"), "\xc2x\xff");
}

}  // namespace
}  // namespace spate::present
