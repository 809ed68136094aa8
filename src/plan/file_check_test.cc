#include "plan/file_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::cli {
namespace {

using Texts = std::vector<std::string>;

// A command for two values, of a gang of `procs` processes.
struct FileSample {
  Texts puts, gets;
  const char* in = "";
  const char* out = "";
  uint32_t procs = 0;
  const char* says = "";  // how the refusal begins; empty: there is none
};

TaskList TasksOf(const FileSample& sample) {
  TaskList tasks;
  tasks.count = 2;
  tasks.requests.resize(1);
  tasks.requests.front().gang.procs = sample.procs;
  tasks.runs = {{0, 2, 0}};
  tasks.rows = [](const RowVisitor& visit) {
    for (const char* row : {"1", "11"}) visit(row);
  };
  return tasks;
}

JobSettings SettingsWith(const FileSample& sample) {
  JobSettings settings;
  settings.cwd = "/home/u";
  settings.row_kind = RowKind::kValues;
  settings.has_source = true;
  settings.command = {"work", "{}"};
  settings.put_patterns = sample.puts;
  settings.get_patterns = sample.gets;
  settings.stdin_pattern = sample.in;
  settings.stdout_pattern = sample.out;
  return settings;
}

TEST(FileCheckTest, NamesWhatCannotBe) {
  const FileSample kSamples[] = {
      {{"in", "{}.txt"}, {"out.{#}"}},
      {{"in.{%}"}, {}, "", "", 0, "--put 'in.{%}': {%} is not known yet"},
      {{"in.{job}"}, {}, "", "", 0, "--put 'in.{job}': {job} is not known yet"},
      {{}, {"out"}, "", "", 0, "--get 'out': 2 tasks would bring home a file of the same name"},
      {{}, {"out.{#}.{rank}"}, "", "", 0, "--get 'out.{#}.{rank}': {rank} is for parallel jobs"},
      {{}, {"out.{#}.{rank}"}, "", "", 2},
      {{}, {"out.{}{rank}"}, "", "", 12, "--get: "},  // rank 11 of task 1, and rank 1 of task 11
      {{"in"}, {}, "in", ""},
      {{"in"}, {}, "other", "", 0, "--stdin 'other': with --put or --get, each task looks"},
      {{"in"}, {}, "/etc/hosts", ""},
      {{}, {"out.{#}"}, "", "out.{#}"},
      {{}, {"out.{#}"}, "", "log.{#}", 0, "--stdout 'log.{#}': a task of --put or --get writes it"},
  };
  for (const FileSample& sample : kSamples) {
    auto checked = CheckTaskFiles(TasksOf(sample), SettingsWith(sample));
    const std::string says = checked ? "" : checked.error().message;
    EXPECT_EQ(says.substr(0, std::string(sample.says).size()), sample.says);
    EXPECT_EQ(says.empty(), std::string(sample.says).empty()) << says;
  }
}

TEST(FileCheckTest, ForwardsStayBelowTheFolder) {
  JobSettings settings = SettingsWith({});
  EXPECT_FALSE(HasForwards(TasksOf({}), settings));
  for (const auto& [pattern, sound] : {std::pair{"OUT=all", true}, {"OUT=/all", false}}) {
    settings.forward_patterns = {pattern};
    EXPECT_TRUE(HasForwards(TasksOf({}), settings));
    EXPECT_EQ(CheckTaskFiles(TasksOf({}), settings).has_value(), sound) << pattern;
  }
}

TEST(FileCheckTest, EachFileIsPutOnce) {
  const FileSample sample{{"in", "{}.txt", "in"}, {}};
  auto names = FilesToPut(TasksOf(sample), SettingsWith(sample));
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (std::set<std::string>{"1.txt", "11.txt", "in"}));
}

}  // namespace
}  // namespace spate::cli
