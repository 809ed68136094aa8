#include "doors/pmc/formats/rescue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace spate::pmc {
namespace {

using Entries = std::vector<RescueEntry>;

// Reads the rescue file of a DAG with the tasks A, B and task10.
Result<Rescue> Read(std::string_view text) {
  return ReadRescue(
      text, [](std::string_view task) { return task == "A" || task == "B" || task == "task10"; });
}

TEST(PmcRescueTest, Reads) {
  struct Case {
    std::string_view text;
    Entries done;
    std::string_view torn;
  };
  for (const Case& c : std::vector<Case>{
           {"", {}, ""},
           {"\n", {}, ""},
           {"\nDONE A\nDONE B", {{"A", 2}, {"B", 3}}, ""},
           {"DONE B\n\nDONE A\n", {{"B", 1}, {"A", 3}}, ""},
           {" # DONE B\n \t DONE\t A \r\n#", {{"A", 2}}, ""},
           {"\nDONE A\nDONE B\nDONE A\nDONE task10", {{"A", 2}, {"B", 3}, {"task10", 5}}, ""},
           // Torn.
           {"\nDONE A\nD", {{"A", 2}}, "D"},
           {"\nDONE A\nDON", {{"A", 2}}, "DON"},
           {"DONE", {}, "DONE"},
           {"\nDONE A\nDONE ", {{"A", 2}}, "DONE"},
           {"\nDONE A\nDONE task1", {{"A", 2}}, "DONE task1"},
       }) {
    auto read = Read(c.text);
    ASSERT_TRUE(read) << c.text << ": " << read.error().message;
    EXPECT_EQ(read->done, c.done) << c.text;
    EXPECT_EQ(read->torn, c.torn) << c.text;
  }
}

TEST(PmcRescueTest, Refuses) {
  struct Case {
    std::string_view text, message;
  };
  for (const Case& c : std::vector<Case>{
           {"\nDONE X\n", "line 2: Unknown task X in rescue file"},
           {"\nDONE task1\nDONE A", "line 2: Unknown task task1 in rescue file"},
           {"DONE a\n", "line 1: Unknown task a in rescue file"},
           {"#\n\nDON\nDONE A", "line 3: Invalid rescue record: DON"},
           {"DON\n", "line 1: Invalid rescue record: DON"},
           {"\nDONE A\nFOO", "line 3: Invalid rescue record: FOO"},
           {"done A", "line 1: Invalid rescue record: done A"},
           {"\nDONE\nDONE A", "line 2: Invalid DONE record: DONE"},
           {"DONE A B", "line 1: Invalid DONE record: DONE A B"},
           {"DONEX A", "line 1: Invalid DONE record: DONEX A"},
           {"DONEA", "line 1: Invalid DONE record: DONEA"},
       }) {
    auto read = Read(c.text);
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().message, c.message);
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
  }
}

TEST(PmcRescueTest, Writes) {
  EXPECT_EQ(RescueRecord("A"), "\nDONE A");
  EXPECT_EQ(RescueText({}), "");
  EXPECT_EQ(RescueText(Entries{{"A", 9}, {"B", 1}}), "\nDONE A\nDONE B");
}

// A run reads a torn file, replaces it, and goes on appending.
TEST(PmcRescueTest, ATornLineDoesNotSurviveARestart) {
  auto first = Read("\nDONE A\nDONE A\nDONE task");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->torn, "DONE task");
  std::string file = RescueText(first->done) + RescueRecord("task10");
  EXPECT_EQ(file, "\nDONE A\nDONE task10");
  EXPECT_EQ(Read(file)->done, (Entries{{"A", 2}, {"task10", 3}}));
}

// Names as a DAG file may have them.
rc::Gen<std::string> Name() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(
      rc::gen::suchThat(rc::gen::oneOf(rc::gen::element('D', 'O', 'N', 'E', '#', '"', '1'),
                                       rc::gen::arbitrary<char>()),
                        [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; })));
}

RC_GTEST_PROP(PmcRescueTest, WhatIsWrittenIsReadBack, ()) {
  const auto names = *rc::gen::unique<std::vector<std::string>>(Name());
  const auto known = [&](std::string_view task) {
    return std::ranges::find(names, task) != names.end();
  };
  std::string text;
  Entries written;
  for (size_t i = 0; i < names.size(); ++i) {
    text += RescueRecord(names[i]);
    written.push_back({.task = names[i], .line = i + 2});
  }
  RC_ASSERT(RescueText(written) == text);
  auto read = ReadRescue(text, known);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->done == written);
  RC_ASSERT(read->torn.empty());
}

// However a file is cut, it is read, and no task before the cut is lost.
RC_GTEST_PROP(PmcRescueTest, ATornFileIsRead, ()) {
  const std::vector<std::string> names = {"alpha", "beta", "gamma\xff", "#4"};
  std::string text;
  for (const auto& name : names) text += RescueRecord(name);
  const auto size = *rc::gen::inRange<size_t>(0, text.size() + 1);
  auto read = ReadRescue(std::string_view(text).substr(0, size), [&](std::string_view task) {
    return std::ranges::find(names, task) != names.end();
  });
  RC_ASSERT(read.has_value());
  size_t whole = 0;
  for (size_t end = 0; whole < names.size(); ++whole) {
    end += RescueRecord(names[whole]).size();
    if (end > size) break;
  }
  RC_ASSERT(read->done.size() == whole);
}

}  // namespace
}  // namespace spate::pmc
