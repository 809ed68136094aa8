#include "remote/call_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::remote {
namespace {

using Words = std::vector<std::string>;

TEST(CallWords, AsLaunchersWriteThem) {
  struct Case {
    Words words;
    std::string host, command;
    bool no_input = false;
  };
  const std::vector<Case> cases = {
      {{"n1", "ls"}, "n1", "ls"},
      // Open MPI, Hydra with -launcher ssh, with -launcher rsh.
      {{"n2", " orted", "-mca", "ess", "\"env\""}, "n2", " orted -mca ess \"env\""},
      {{"-x", "n2", "\"/usr/bin/hydra_pmi_proxy\"", "--control-port", "vm:1"},
       "n2",
       "\"/usr/bin/hydra_pmi_proxy\" --control-port vm:1"},
      {{"n2", "-n", "x"}, "n2", "x", true},
      {{"-n", "-l", "ann", "n2", "x", "-n"}, "n2", "x -n", true},
      {{"ann@n2", "x"}, "n2", "x"},
      {{"ann@there@n2", "x"}, "n2", "x"},
      {{"-qxlann", "n2", "x"}, "n2", "x"},
      {{"-o", "StrictHostKeyChecking=no", "-p22", "-tt", "n2", "-oBatchMode=yes", "x"}, "n2", "x"},
      {{"--", "n2", "x"}, "n2", "x"},
      {{"n2", "--", "-x", "y"}, "n2", "-x y"},
      {{"n2", "a  b", "c"}, "n2", "a  b c"},
  };
  for (const Case& each : cases) {
    auto call = ReadCallWords(each.words);
    ASSERT_TRUE(call) << each.host << each.command << call.error().message;
    EXPECT_EQ(call->host, each.host);
    EXPECT_EQ(call->command, each.command);
    EXPECT_EQ(call->no_input, each.no_input) << each.command;
  }
}

TEST(CallWords, WhatIsMissingOrUnknown) {
  for (auto [words, part] : std::vector<std::pair<Words, const char*>>{
           {{}, "host is missing"},
           {{"-n"}, "host is missing"},
           {{"n1"}, "command is missing"},
           {{"n1", "-n"}, "command is missing"},
           {{"-z", "n1", "x"}, "-z: no option"},
           {{"--output", "n1", "x"}, "--output: no option"},
           {{"-l"}, "-l: no option"},
       }) {
    auto call = ReadCallWords(words);
    ASSERT_FALSE(call);
    EXPECT_NE(call.error().message.find(part), std::string::npos) << call.error().message;
    EXPECT_NE(call.error().message.find("Usage:"), std::string::npos);
  }
}

}  // namespace
}  // namespace spate::remote
