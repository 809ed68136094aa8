#include "view/results_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

using Values = std::vector<std::string>;
using std::string_literals::operator""s;

TEST(ResultsFolderTest, Names) {
  struct Case {
    Values values, names;
    uint32_t columns;
    std::string folder;
  };
  const Case kCases[] = {
      {{"a", "x"}, {}, 0, "1/a/2/x"},
      {{"a/b", "y\\z\t" + "\0"s}, {}, 0, "1/a\\_b/2/y\\\\z\\t\\0"},
      {{"echo hello world"}, {}, 0, "1/echo hello world"},
      {{"1", "3"}, {"z", "a"}, 0, "a/3/z/1"},
      {{"1", "2", "3"}, {"11a", "1b", "x"}, 0, "x/3/1b/2/11a/1"},
      {{"a", "b", "c"}, {}, 1, "1/a/1/b/1/c"},
      {{"a", "b", "c"}, {}, 2, "1/a/2/b/1/c"},
      {Values(10, "v"), {}, 0, "1/v/2/v/3/v/4/v/5/v/6/v/7/v/8/v/9/v/10/v"},
      {{std::string(300, 'x')}, {}, 0, "1/" + std::string(255, 'x')},
      {{""}, {}, 0, "1/"},
      {{}, {}, 0, ""},
  };
  for (const Case& c : kCases) EXPECT_EQ(ResultsFolder(c.values, c.names, c.columns), c.folder);
}

class ResultsTreeTest : public testing::Test {
 protected:
  // Every file below, by path.
  std::map<std::string, std::string> Tree(const std::string& dir) {
    std::map<std::string, std::string> files;
    std::string top = folder_.path() + "/" + dir;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
      if (!entry.is_regular_file()) continue;
      std::string name = entry.path().string().substr(top.size() + 1);
      files[name] = folder_.Get(dir + "/" + name);
    }
    return files;
  }
  TestFolder folder_;
};

TEST_F(ResultsTreeTest, WritesThreeFiles) {
  auto tree = ResultsTree::Open({.dir = folder_.path() + "/r"}, TestTexts().values, nullptr);
  ASSERT_TRUE(tree);
  AttemptEnd end = EndOf(6);
  (*tree)->OnEnded({.end = end, .verdict = engine::Verdict::kRetry, .output = Wrote("first")});
  EXPECT_EQ(Tree("r").size(), 0u);
  (*tree)->OnEnded({.end = end, .verdict = engine::Verdict::kFailed, .output = Wrote("o", "e")});
  EXPECT_EQ(Tree("r"),
            (std::map<std::string, std::string>{
                {"1/v7/2/w/seq", "7"}, {"1/v7/2/w/stdout", "o"}, {"1/v7/2/w/stderr", "e"}}));
  end = EndOf(7);
  auto output = std::make_shared<TaskOutput>();
  std::string text(600'000, 'x');
  output->out = Spooled(folder_.Put("spool", text), text.size());
  (*tree)->OnEnded({.end = end, .output = output});
  EXPECT_EQ(Tree("r")["1/v8/2/w/stdout"], text);
  EXPECT_EQ(Tree("r")["1/v8/2/w/stderr"], "");
}

TEST_F(ResultsTreeTest, NamesWhatCannotBeWritten) {
  std::string file = folder_.Put("file", "");
  auto tree = ResultsTree::Open({.dir = file + "/r"}, TestTexts().values, nullptr);
  ASSERT_FALSE(tree);
  EXPECT_TRUE(tree.error().message.starts_with("--results: ")) << tree.error().message;
}

TEST_F(ResultsTreeTest, LaterTroubleIsReportedOnce) {
  std::string broken;
  auto tree = ResultsTree::Open({.dir = folder_.path() + "/r"}, TestTexts().values,
                                [&](const Error& error) { broken += error.message + "\n"; });
  ASSERT_TRUE(tree);
  folder_.Put("r/1", "a file where a folder should be");
  AttemptEnd end = EndOf(0);
  (*tree)->OnEnded({.end = end, .output = nullptr});
  (*tree)->OnEnded({.end = end, .output = nullptr});
  EXPECT_EQ(std::count(broken.begin(), broken.end(), '\n'), 1) << broken;
  EXPECT_TRUE(broken.starts_with("--results: ")) << broken;
}

struct Parallel {
  std::string words;           // after --results theirs
  std::vector<Values> values;  // of each task, ours
  Values names = {};
  uint32_t columns = 0;
};

TEST_F(ResultsTreeTest, EqualsGnuParallel) {
  if (std::system("parallel --version 2>/dev/null | grep -q 'GNU parallel'") != 0) {
    GTEST_SKIP() << "needs GNU parallel";
  }
  const Parallel kCases[] = {
      {"'printf o; printf e >&2 #'{1}{2} ::: a/b 'c\td' ::: x 'y\\z'",
       {{"a/b", "x"}, {"a/b", "y\\z"}, {"c\td", "x"}, {"c\td", "y\\z"}}},
      {"--header : 'printf o; printf e >&2 #'{z}{a} ::: z 1 2 ::: a 3",
       {{"1", "3"}, {"2", "3"}},
       {"z", "a"}},
      {"-n2 'printf o; printf e >&2 #' ::: a b c", {{"a", "b"}, {"c"}}, {}, 1},
      {"--colsep , 'printf o; printf e >&2 #'{1} ::: a,b c,d", {{"a", "b"}, {"c", "d"}}},
      {"::: 'printf o; printf e >&2 # a/b'", {{"printf o; printf e >&2 # a/b"}}},
  };
  for (size_t c = 0; c < std::size(kCases); ++c) {
    const Parallel& example = kCases[c];
    std::string theirs = "theirs" + std::to_string(c), ours = "ours" + std::to_string(c);
    std::string command = "cd " + folder_.path() + " && HOME=. PARALLEL_HOME=. parallel " +
                          "--will-cite --results " + theirs + " " + example.words;
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
    auto tree = ResultsTree::Open(
        {.dir = folder_.path() + "/" + ours,
         .value_names = example.names,
         .columns = example.columns},
        [&](TaskIndex i) { return example.values[i]; }, nullptr);
    ASSERT_TRUE(tree);
    for (TaskIndex i = 0; i < example.values.size(); ++i) {
      AttemptEnd end = EndOf(i);
      (*tree)->OnEnded({.end = end, .output = Wrote("o", "e")});
    }
    EXPECT_EQ(Tree(ours), Tree(theirs)) << example.words;
    EXPECT_EQ(Tree(ours).size(), example.values.size() * 3);
  }
}

}  // namespace
}  // namespace spate::cli
