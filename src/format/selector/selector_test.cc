#include "format/selector/selector.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

namespace spate::format {
namespace {

TEST(ParseJobSelector, Forms) {
  struct Case {
    std::string_view text;
    JobSelector selector;
  };
  for (const Case& c :
       std::vector<Case>{{"last", {.last = true}},
                         {"all", {.all = true}},
                         {"3", {.ranges = {{3, 3, 1}}}},
                         {"1-10", {.ranges = {{1, 10, 1}}}},
                         {"1-10:2", {.ranges = {{1, 10, 2}}}},
                         {"1,3,5-8", {.ranges = {{1, 1, 1}, {3, 3, 1}, {5, 8, 1}}}},
                         {"1_000-2_000,last", {.last = true, .ranges = {{1000, 2000, 1}}}},
                         {"4294967295", {.ranges = {{4294967295, 4294967295, 1}}}}}) {
    auto selector = ParseJobSelector(c.text);
    ASSERT_TRUE(selector) << c.text << ": " << selector.error().message;
    EXPECT_EQ(*selector, c.selector) << c.text;
  }
}

TEST(ParseJobSelector, Errors) {
  const std::string forms = ": write last, all, 3, 1-10, 1-10:2 or 1,3,5-8";
  struct Case {
    std::string_view text;
    std::string message;
  };
  for (const Case& c :
       std::vector<Case>{{"", "'' names no job" + forms},
                         {"lsat", "'lsat' names no job; did you mean last?" + forms},
                         {"0", "'0' is no job: jobs are numbered from 1"},
                         {"1,,2", "'' names no job" + forms},
                         {"1,", "'' names no job" + forms},
                         {"-1", "'-1' names no job" + forms},
                         {"1-", "'1-' names no job" + forms},
                         {"1-2-3", "'1-2-3' names no job" + forms},
                         {"1:2", "'1:2' names no job" + forms},
                         {"1-9:0", "'1-9:0' names no job" + forms},
                         {"1-9:", "'1-9:' names no job" + forms},
                         {"1 2", "'1 2' names no job" + forms},
                         {"4294967296", "'4294967296' names no job" + forms},
                         {"0-3", "'0-3' names no job" + forms},
                         {"9-1", "'9-1' runs backwards: write 1-9"},
                         {"12.3", "'12.3' names tasks, but a job is needed here: write 12"},
                         {".3", "'.3' names tasks, but a job is needed here: write its number"},
                         {"a\x1b[0m", "'a\\x1b[0m' names no job" + forms}}) {
    auto selector = ParseJobSelector(c.text);
    ASSERT_FALSE(selector) << c.text;
    EXPECT_EQ(selector.error().message, c.message);
    EXPECT_EQ(selector.error().kind, ErrorKind::kInvalid);
  }
}

TEST(ParseTaskSelector, Forms) {
  struct Case {
    std::string_view text;
    std::vector<TasksOfJob> tasks;
  };
  for (const Case& c : std::vector<Case>{
           {"12.3", {{.job = 12, .ranges = {{3, 3, 1}}}}},
           {"last.align_7", {{.names = {"align_7"}}}},
           {"12.3,A", {{.job = 12, .ranges = {{3, 3, 1}}, .names = {"A"}}}},
           {"12.#3,#4-5", {{.job = 12, .names = {"#3", "#4-5"}}}},
           {"12.#x,name=3", {{.job = 12, .names = {"#x", "3"}}}},
           {"12.3.4", {{.job = 12, .names = {"3.4"}}}},
           {"12.3x,1-2", {{.job = 12, .ranges = {{1, 2, 1}}, .names = {"3x"}}}},
           {"12.3-9", {{.job = 12, .ranges = {{3, 9, 1}}}}},
           {"12.3-9:2,11", {{.job = 12, .ranges = {{3, 9, 2}, {11, 11, 1}}}}},
           {"12.3,13.1", {{.job = 12, .ranges = {{3, 3, 1}}}, {.job = 13, .ranges = {{1, 1, 1}}}}},
           {"12", {{.job = 12, .all = true}}},
           {"12,13", {{.job = 12, .all = true}, {.job = 13, .all = true}}},
           {"last.2", {{.ranges = {{2, 2, 1}}}}},
           {"last", {{.all = true}}},
           {"last.all", {{.all = true}}},
           {"12.1,all", {{.job = 12, .all = true, .ranges = {{1, 1, 1}}}}}}) {
    auto tasks = ParseTaskSelector(c.text);
    ASSERT_TRUE(tasks) << c.text << ": " << tasks.error().message;
    EXPECT_EQ(*tasks, c.tasks) << c.text;
  }
}

TEST(ParseTaskSelector, Errors) {
  const std::string forms = ": write for example 12.3, 12.3-9, last.1-10:2, last.NAME or 12";
  struct Case {
    std::string_view text;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"", "'' names no job" + forms},
           {"last.", "'' names no task" + forms},
           {".3", "'.3' names no job" + forms},
           {"lost.3", "'lost.3' names no job; did you mean last?" + forms},
           {"12.0", "'0' is no task: tasks are numbered from 1; for a task named 0, write name=0"},
           {"12.#9-1", "'9-1' runs backwards: write 1-9"},
           {"12.9-1", "'9-1' runs backwards: write 1-9"},
           {"1-2.3", "'1-2.3' names no job" + forms}}) {
    auto tasks = ParseTaskSelector(c.text);
    ASSERT_FALSE(tasks) << c.text;
    EXPECT_EQ(tasks.error().message, c.message);
  }
}

TEST(Selectors, Contain) {
  JobSelector jobs = ParseJobSelector("2,5-9:2,last").value();
  std::string chosen;
  for (uint32_t job = 1; job <= 12; ++job) {
    if (jobs.Contains(job, 12)) chosen += std::to_string(job) + " ";
  }
  EXPECT_EQ(chosen, "2 5 7 9 12 ");
  EXPECT_TRUE(ParseJobSelector("all")->Contains(99, 1));
  TasksOfJob tasks = ParseTaskSelector("1.2,4-5").value().at(0);
  chosen.clear();
  for (uint32_t task = 1; task <= 9; ++task) {
    if (tasks.Contains(task)) chosen += std::to_string(task) + " ";
  }
  EXPECT_EQ(chosen, "2 4 5 ");
  EXPECT_TRUE(ParseTaskSelector("1").value().at(0).Contains(77));
}

TEST(Selectors, MergedNameTheSameNumbers) {
  std::vector<NumberRange> ranges = {
      {7, 9},      {1, 3},      {4, 5},       {2, 8},      {20, 31, 5},
      {25, 45, 5}, {21, 31, 5}, {50, 59, 60}, {50, 52, 2}, {4294967295u, 4294967295u}};
  auto merged = Merged(ranges);
  EXPECT_EQ(
      merged,
      (std::vector<NumberRange>{
          {1, 9}, {50, 50}, {4294967295u, 4294967295u}, {50, 52, 2}, {20, 45, 5}, {21, 31, 5}}));
  for (uint32_t number = 1; number < 100; ++number) {
    auto has = [number](const NumberRange& range) { return range.Contains(number); };
    EXPECT_EQ(std::ranges::any_of(merged, has), std::ranges::any_of(ranges, has)) << number;
  }
}

TEST(Selectors, MergedAreFew) {
  std::vector<NumberRange> same(100'000, {2, 1'000'001});
  EXPECT_EQ(Merged(same), (std::vector<NumberRange>{{2, 1'000'001}}));
  std::string text = "1.1-9:2";
  for (size_t i = 0; i < kMostStepped; ++i) text += ",1-9:2";
  auto parsed = ParseTaskSelector(text);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("name fewer"), std::string::npos) << parsed.error().message;
}

TEST(Selectors, AnyText) {
  EXPECT_TRUE(rc::check("any text is understood or refused in printable words", [] {
    auto text = *rc::gen::container<std::string>(
        rc::gen::element('1', '2', '0', '9', '.', ',', '-', ':', '_', 'a', 'l', '\x1b', '\xff'));
    auto jobs = ParseJobSelector(text);
    if (jobs) {
      for (const NumberRange& range : jobs->ranges) {
        RC_ASSERT(range.first >= 1 && range.first <= range.last && range.step >= 1);
      }
    } else {
      for (char c : jobs.error().message) RC_ASSERT(c >= 0x20);
    }
    auto tasks = ParseTaskSelector(text);
    if (tasks) RC_ASSERT(!tasks->empty());  // RC_ASSERT would look at both sides of a ||
  }));
}

}  // namespace
}  // namespace spate::format
