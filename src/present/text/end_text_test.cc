#include "present/text/end_text.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(EndTextTest, Causes) {
  const std::pair<AttemptEnd, std::string> kCases[] = {
      {{.cause = Cause::kSuccess}, "succeeded"},
      {{.cause = Cause::kExit, .status = 3}, "exit code 3"},
      {{.cause = Cause::kSignal, .status = 9}, "signal 9 (KILL)"},
      {{.cause = Cause::kSignal, .status = 99}, "signal 99"},
      {{.cause = Cause::kTimeLimit}, "over its time limit"},
      {{.cause = Cause::kMemory, .peak_memory = 3u << 20}, "over its memory limit (peak 3.0 MB)"},
      {{.cause = Cause::kMemory}, "over its memory limit"},
      {{.cause = Cause::kMemory, .note = "used 3.0 MB of memory, 2.0 MB were allowed"},
       "over its memory limit: used 3.0 MB of memory, 2.0 MB were allowed"},
      {{.cause = Cause::kCheck, .note = "out\x1b is empty"},
       "output check failed: out\\x1b is empty"},
      {{.cause = Cause::kCheck,
        .note = "leftover processes: a (pid 1), ended\nleft processes running: "
                "b (pid 2); end the command with `wait`"},
       "left processes running: b (pid 2); end the command with `wait`"},
      {{.cause = Cause::kExit, .status = 2, .note = "left running: sort (pid 12) exited with 2"},
       "exit code 2: left running: sort (pid 12) exited with 2"},
      {{.cause = Cause::kSignal,
        .status = 9,
        .note = "left running: a (pid 1) was killed by SIGKILL"},
       "signal 9 (KILL): left running: a (pid 1) was killed by SIGKILL"},
      {{.cause = Cause::kNode}, "lost with its node"},
      {{.cause = Cause::kStart, .status = 127}, "command not found (127)"},
      {{.cause = Cause::kStart, .status = 126, .note = "x is a folder"}, "x is a folder (126)"},
      {{.cause = Cause::kStopped}, "stopped"},
      {{.cause = Cause::kStopped, .status = kCutOff}, "cut off because its node ended"},
      {{.cause = Cause::kStopped, .status = kCutOff, .note = "its node ended: it was asked to"},
       "cut off because its node ended"},
      {{.cause = Cause::kStopped,
        .status = kCutOff,
        .note = "it was cut off 3 times because its nodes ended"},
       "it was cut off 3 times because its nodes ended"},
  };
  for (const auto& [end, text] : kCases) EXPECT_EQ(CauseText(end), text);
}

TEST(EndTextTest, TheVerdictOfAGangNamesWhoDecided) {
  const std::string decided =
      "rank 3 on node n2 ended with exit code 7; the others were ended for it";
  const AttemptEnd gang{.cause = Cause::kExit, .status = 7, .note = "x\n" + decided + "\ny"};
  EXPECT_EQ(VerdictText(gang), decided);
  EXPECT_EQ(FailureVerdict(gang, false), decided);
  EXPECT_EQ(VerdictText({.cause = Cause::kExit, .status = 7, .note = "x"}), "exit code 7");
}

TEST(EndTextTest, WhatWasLeftBehind) {
  EXPECT_EQ(LeftBehindText({.note = "x\nleftover processes: a (pid 1), b (pid 2), ended\ny"}),
            "a (pid 1), b (pid 2)");
  EXPECT_EQ(LeftBehindText({.note = "x leftover processes: a"}), "");
  EXPECT_EQ(LeftBehindText({}), "");
}

TEST(EndTextTest, BriefForms) {
  EXPECT_EQ(BriefDuration(Duration::Millis(400)), "0s");
  EXPECT_EQ(BriefDuration(Duration::Seconds(59)), "59s");
  EXPECT_EQ(BriefDuration(Duration::Seconds(65)), "1m05s");
  EXPECT_EQ(BriefDuration(Duration::Seconds(3661)), "1h01m");
  EXPECT_EQ(BriefDuration(Duration::Seconds(90000)), "1d01h");
  EXPECT_EQ(BriefRate(3950.4), "3,950/s");
  EXPECT_EQ(BriefRate(2.54), "2.5/s");
  EXPECT_EQ(BriefRate(0.2), "12/min");
  EXPECT_EQ(BriefRate(0.001), "4/h");
  EXPECT_EQ(BriefRate(0), "");
  EXPECT_EQ(CountOf(1, "task"), "1 task");
  EXPECT_EQ(CountOf(1200, "task"), "1,200 tasks");
}

TEST(EndTextTest, CutsAtCodePoints) {
  EXPECT_EQ(CutTo("abc", 3), "abc");
  EXPECT_EQ(CutTo("abcdef", 5), "ab...");
  EXPECT_EQ(CutTo("äöüäöü", 5), "äö...");
  EXPECT_EQ(CutTo("äöüäöü", 6), "äöüäöü");
  EXPECT_EQ(CutTo("abcdef", 2), "ab");
}

}  // namespace
}  // namespace spate::present
