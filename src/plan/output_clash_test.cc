#include "plan/output_clash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "plan/task_list.h"

namespace spate::cli {
namespace {

using Texts = std::vector<std::string>;

struct Sample {
  const char* in = "";
  const char* out = "";
  const char* err = "";
  Texts rows;
  const char* says = "";  // a part of the refusal; empty: there is none
};

JobSettings SettingsOf(const Sample& sample) {
  JobSettings settings;
  settings.cwd = "/home/u";
  settings.row_kind = RowKind::kValues;
  settings.has_source = true;
  settings.stdin_pattern = sample.in;
  settings.stdout_pattern = sample.out;
  settings.stderr_pattern = sample.err;
  return settings;
}

Status Check(const OutputRules& rules, const Texts& rows) {
  return CheckOutputs(rules, [&](const TaskRowVisitor& visit) {
    for (TaskIndex i = 0; i < rows.size(); ++i) visit(i, rows[i]);
  });
}

// It is longer than a string holds within itself: a copy that is gone would not be found in names.
TEST(OutputClashTest, KnowsAnotherPlaceholder) {
  JobSettings settings = SettingsOf({});
  settings.replace = "THE_NAME_OF_A_SAMPLE_THAT_IS_WRITTEN";
  settings.stdout_pattern = "out/" + settings.replace;
  EXPECT_TRUE(Check(OutputRules{.settings = settings}, {"a", "b"}));
  settings.stdout_pattern = "out/{}";
  EXPECT_FALSE(Check(OutputRules{.settings = settings}, {"a", "b"}));
}

TEST(OutputClashTest, RefusesTasksThatOverwriteEachOther) {
  const Texts two = {"a.x", "a.y"};
  const std::vector<Sample> samples = {
      {"", "", "", two, ""},
      {"", "{}.txt", "", two, ""},
      {"", "{#}.txt", "{#}.txt", two, ""},
      {"", "{.}.txt", "", {"a.x"}, ""},
      {"", "o", "", {"a.x"}, ""},
      {"", "o", "", two,
       "--stdout: task 1 (a.x) and task 2 (a.y) would write to the same file, 'o'"},
      {"", "o", "", {"a", "b", "c"}, "(1 more task has such a file)"},
      {"", "{.}.txt", "", two, "the same file, 'a.txt'"},
      {"", "{.}.txt", "", {"b", "a", "./a"}, "task 2 (a) and task 3 (./a)"},
      {"", "d/../{.}//o", "", {"a.x", "./a"}, "task 1 (a.x) and task 2 (./a)"},
      {"", "{}", "", {"f", "/home/u/f"}, "task 1 (f) and task 2 (/home/u/f)"},
      {"", "{}", "", {"f", "../u/f"}, "task 1 (f) and task 2 (../u/f)"},
      {"", "{}", "", {"f", "../v/f"}, ""},
      {"", "{%}.txt", "", two, "'1.txt'"},
      {"", "{job}.txt", "", two, "the same file"},
      {"", "", "{.}.err", two, "--stderr: task 1"},
      // One task's streams.
      {"", "{}.log", "{}.log", two, ""},
      {"", "{}.log", "./{}.log", two, "--stdout and --stderr of task 1 (a.x) are the same file"},
      {"", "{1}", "{2}", {std::string("a\0b", 3), std::string("b\0c", 3)}, "--stderr, --stdout"},
      {"", "{1}", "{2}", {std::string("a\0b", 3), std::string("c\0d", 3)}, ""},
      // Files that tasks read.
      {"{}", "{}", "", {"f"}, "--stdin and --stdout of task 1 (f) are the same file"},
      {"{}", "{}.out", "", {"f", "g"}, ""},
      {"f", "{}.out", "", two, ""},
      {"{}", "{}.out", "", {"f", "f.out"}, ""},  // made by the task before
      // Devices.
      {"", "/dev/null", "/dev/stderr", two, ""},
      {"", "/dev/shm/x", "", two, "'/dev/shm/x'"},
      {"/dev/null", "/dev/null", "", two, ""},
  };
  for (const Sample& sample : samples) {
    JobSettings settings = SettingsOf(sample);
    std::string what = std::string(sample.in) + "|" + sample.out + "|" + sample.err;
    Status checked = Check({.settings = settings}, sample.rows);
    EXPECT_EQ(checked.has_value(), *sample.says == '\0') << what;
    if (!checked) {
      EXPECT_NE(checked.error().message.find(sample.says), std::string::npos)
          << what << ": " << checked.error().message;
    }
    settings.append_output = true;
    EXPECT_TRUE(Check({.settings = settings}, sample.rows).has_value()) << what;
  }
}

TEST(OutputClashTest, RefusesToOverwriteWhatAnotherTaskReads) {
  std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/clash.txt") << "text";
  Sample sample{"{}", "{.}.txt", "", {"clash.x", "clash.txt"}, ""};
  JobSettings settings = SettingsOf(sample);
  settings.cwd = folder;
  Status checked = Check({.settings = settings}, sample.rows);
  ASSERT_FALSE(checked.has_value());
  // Both write to it, which is worse.
  EXPECT_NE(checked.error().message.find("task 1 (clash.x) and task 2"), std::string::npos);
  settings.stdout_pattern = "{.}.txt{2}";
  checked = Check({.settings = settings},
                  {std::string("clash.x\0", 8), std::string("clash.txt\0.o", 12)});
  settings.stdin_pattern = "{1}";
  settings.stdout_pattern = "{2}";
  checked = Check({.settings = settings},
                  {std::string("in\0clash.txt", 12), std::string("clash.txt\0o", 11)});
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find("would overwrite 'clash.txt', which task 2"),
            std::string::npos)
      << checked.error().message;
}

TEST(OutputClashTest, LooksAtResultsAndAtTasksThatComeLater) {
  JobSettings settings = SettingsOf({});
  OutputRules rules{.settings = settings,
                    .results = [](std::string_view row) { return "res/" + std::string(row); }};
  EXPECT_TRUE(Check(rules, {"a", "b"}).has_value());
  Status checked = Check(rules, {"a", "b", "a"});
  ASSERT_FALSE(checked.has_value());
  EXPECT_NE(checked.error().message.find("--results: task 1 (a) and task 3 (a)"),
            std::string::npos);
  EXPECT_FALSE(CheckLaterOutputs(rules, "--follow").has_value());
  rules.results = {};
  EXPECT_TRUE(CheckLaterOutputs(rules, "--follow").has_value());
  for (auto [pattern, good] : {std::pair{"{#}", true},
                               {"o{index}.txt", true},
                               {"o", false},
                               {"{%}", false},
                               {"/dev/null", true}}) {
    settings.stdout_pattern = pattern;
    EXPECT_EQ(CheckLaterOutputs(rules, "--follow").has_value(), good) << pattern;
  }
}

TEST(OutputClashTest, LeavesFilesInFoldersOfTheirOwnAlone) {
  JobSettings settings = SettingsOf({.out = "log", .rows = {}});
  settings.get_patterns = {"{}.out"};
  EXPECT_TRUE(Check({.settings = settings}, {"a", "b"}).has_value());
  settings.stdout_pattern = "/tmp/log";
  EXPECT_FALSE(Check({.settings = settings}, {"a", "b"}).has_value());
}

}  // namespace
}  // namespace spate::cli
