#include "format/dag/dag.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/prng.h"

namespace spate::format {
namespace {

using Argv = std::vector<std::string>;

struct Read {
  Dag dag;
  std::vector<std::string> names;
  std::vector<std::string> ids;
};
Read ReadText(std::string_view text, size_t most_errors = 100) {
  Read read;
  read.dag = ReadDag(text, most_errors, [&](const DagEntry& entry) {
    read.names.emplace_back(entry.task.name);
    read.ids.emplace_back(entry.id);
  });
  return read;
}

// "LINE: TEXT" of each error.
std::vector<std::string> Errors(std::string_view text) {
  std::vector<std::string> errors;
  for (const DagError& error : ReadText(text).dag.errors) {
    errors.push_back(fmt::format("{}: {}", error.line, error.text));
  }
  return errors;
}

std::string ErrorOf(std::string_view line) {
  auto task = ParseDagTask(line);
  return task ? "" : task.error().message;
}

TEST(DagTask, Arguments) {
  EXPECT_EQ(SplitDagArguments(R"(/bin/echo  a	b)"), (Argv{"/bin/echo", "a", "b"}));
  EXPECT_EQ(SplitDagArguments(R"("a b" 'c d')"), (Argv{"a b", "c d"}));
  EXPECT_EQ(SplitDagArguments(R"("ab' x)"), (Argv{"ab", "x"}));
  EXPECT_EQ(SplitDagArguments(R"(pre"in q"post)"), (Argv{"prein q", "post"}));
  EXPECT_EQ(SplitDagArguments(R"("" x '')"), (Argv{"", "x", ""}));
  EXPECT_EQ(SplitDagArguments(R"(a "b c)"), (Argv{"a", "b c"}));
  EXPECT_EQ(SplitDagArguments(R"(a\ b "c\"d" \')"), (Argv{"a b", "c\"d", "'"}));
  EXPECT_EQ(SplitDagArguments(R"(a\)"), (Argv{"a\\"}));
  EXPECT_EQ(SplitDagArguments(R"($HOME * # x)"), (Argv{"$HOME", "*", "#", "x"}));
  EXPECT_EQ(SplitDagArguments(""), Argv{});
}

TEST(DagTask, Options) {
  auto task = ParseDagTask(
      "TASK A -m 1.2 -c 2.5 -t 3 -p -4 -f V=a=b -f W=w -f V=c -F s=d --tries 0 /bin/x -m 5");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "A");
  EXPECT_EQ(task->memory_mb, 2u);
  EXPECT_EQ(task->cpus, 3u);
  EXPECT_EQ(task->tries, 0u);
  EXPECT_EQ(task->priority, -4);
  EXPECT_EQ(task->pipe_forwards, (std::vector<Forward>{{"V", "c"}, {"W", "w"}}));
  EXPECT_EQ(task->file_forwards, (std::vector<Forward>{{"s", "d"}}));
  EXPECT_EQ(task->argv, (Argv{"/bin/x", "-m", "5"}));
  task = ParseDagTask("TASKX b --request-memory 5x --request-cpus 0 --priority +7 true");
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "b");
  EXPECT_EQ(task->memory_mb, 5u);
  EXPECT_EQ(task->cpus, 0u);
  EXPECT_EQ(task->priority, 7);
}

TEST(DagTask, Errors) {
  EXPECT_EQ(ErrorOf("TASK"), "Invalid TASK record: TASK");
  EXPECT_EQ(ErrorOf("TASK A"), "Invalid TASK record: TASK A");
  EXPECT_EQ(ErrorOf("TASK \x1b[2J -\x03 x"), "Invalid argument '-\\x03' for task \\x1b[2J");
  EXPECT_EQ(ErrorOf("TASK A -m 5"), "Invalid TASK record: TASK A -m 5");
  EXPECT_EQ(ErrorOf("TASK A -m"), "-m/--request-memory requires N for task A");
  EXPECT_EQ(ErrorOf("TASK A --request-cpus"), "-c/--request-cpus requires N for task A");
  EXPECT_EQ(ErrorOf("TASK A -t"), "-t/--tries requires N for task A");
  EXPECT_EQ(ErrorOf("TASK A -p"), "-p/--priority requires P for task A");
  EXPECT_EQ(ErrorOf("TASK A -f"), "-f/--pipe-forward requires VAR=PATH for task A");
  EXPECT_EQ(ErrorOf("TASK A -F"), "-F/--file-forward requires SRC=DEST for task A");
  EXPECT_EQ(ErrorOf("TASK A -m x y"), "Invalid memory requirement 'x' for task A");
  EXPECT_EQ(ErrorOf("TASK A -m nan y"), "Invalid memory requirement 'nan' for task A");
  EXPECT_EQ(ErrorOf("TASK A -m 1e99 y"), "Invalid memory requirement '1e99' for task A");
  EXPECT_EQ(ErrorOf("TASK A -c x y"), "Invalid CPU requirement 'x' for task A");
  EXPECT_EQ(ErrorOf("TASK A -t x y"), "Invalid tries 'x' for task A");
  EXPECT_EQ(ErrorOf("TASK A -p x y"), "Invalid priority 'x' for task A");
  EXPECT_EQ(ErrorOf("TASK A -m -1 y"), "Negative memory requirement not allowed for task A");
  EXPECT_EQ(ErrorOf("TASK A -c -1 y"), "Negative CPU requirement not allowed for task A");
  EXPECT_EQ(ErrorOf("TASK A -t -1 y"), "Negative tries not allowed for task A");
  EXPECT_EQ(ErrorOf("TASK A -f V y"), "-f/--pipe-forward format should be VAR=PATH for task A: V");
  EXPECT_EQ(ErrorOf("TASK A -F d y"), "-F/--file-forward format should be SRC=DEST for task A: d");
  EXPECT_EQ(ErrorOf("TASK A -m -inf y"), "Negative memory requirement not allowed for task A");
  EXPECT_EQ(ErrorOf("TASK A -p +-4 y"), "Invalid priority '+-4' for task A");
  EXPECT_EQ(ErrorOf("TASK A -t ' 8' -f V= y"), "");
  EXPECT_LT(ErrorOf("TASK A -" + std::string(100'000, 'x')).size(), 300u);
  EXPECT_EQ(ErrorOf("TASK A -x y"), "Invalid argument '-x' for task A");
  EXPECT_EQ(ErrorOf("TASK A '-x' y"), "Invalid argument '-x' for task A");
  EXPECT_NE(ErrorOf(std::string_view("TASK A x\0y", 10)), "");
}

TEST(Dag, ReadsADiamond) {
  Read read = ReadText(
      "\xEF\xBB\xBF# a diamond\r\n"
      "\n"
      "#@x 1 tr:1.0 ID1\n"
      "  TASK A /bin/true\r\n"
      "TASK B /bin/true\n"
      "TASK C /bin/true\n"
      "TASK D /bin/true\n"
      "EDGE C D\n"
      "EDGE A  B\n"
      "EDGE A C\n"
      "EDGE A B\n"
      "EDGE B D");
  EXPECT_EQ(read.dag.error_count, 0u);
  EXPECT_EQ(read.names, (Argv{"A", "B", "C", "D"}));
  EXPECT_EQ(read.ids, (Argv{"1", "", "", ""}));
  EXPECT_EQ(read.dag.edges, (std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

TEST(Dag, TellsEachError) {
  EXPECT_EQ(Errors("task a b\n#@ 1 2\nTASK A x\nTASK A y\nEDGE A\nEDGE A B\nEDGE B A\nJOB x\n"),
            (std::vector<std::string>{"1: Invalid DAG record: task a b",
                                      "2: Invalid #@ record: #@ 1 2", "4: Duplicate task: A",
                                      "5: Invalid EDGE record: EDGE A", "6: No such task: B",
                                      "7: No such task: B", "8: Invalid DAG record: JOB x"}));
  // A task that is wrong is known all the same.
  EXPECT_EQ(Errors("TASK A -m\nTASK B x\nEDGE A B"),
            (std::vector<std::string>{"1: -m/--request-memory requires N for task A"}));
  EXPECT_LT(Errors("EDGE " + std::string(100'000, 'x') + " B")[0].size(), 300u);
  // An edge may not stand before its tasks.
  EXPECT_EQ(Errors("EDGE A B\nTASK A x\nTASK B x"),
            (std::vector<std::string>{"1: No such task: A"}));
  // The child is all that follows.
  EXPECT_EQ(Errors("TASK A x\nTASK B x\nEDGE A B C"),
            (std::vector<std::string>{"3: No such task: B C"}));
}

TEST(Dag, TellsACircle) {
  std::string tasks = "TASK A x\nTASK B x\nTASK C x\nTASK D x\n";
  EXPECT_EQ(Errors(tasks + "EDGE A A"),
            (std::vector<std::string>{"5: the tasks wait for one another in a circle: A -> A"}));
  auto errors = Errors(tasks + "EDGE D A\nEDGE A B\nEDGE B C\nEDGE C A\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("in a circle: "), std::string::npos) << errors[0];
  EXPECT_EQ(errors[0].find("D"), std::string::npos) << errors[0];
}

// No error is lost, and none of them takes memory for ever.
// Tasks that no node can receive or start are reported before anything runs.
TEST(Dag, TasksAtTheLimits) {
  auto error = [](const std::string& line) {
    std::vector<std::string> errors = Errors("TASK B b\n" + line);
    EXPECT_LE(errors.size(), 1u);
    return errors.empty() ? "" : errors[0];
  };
  const std::string start = "TASK A a ";
  std::string words = start;
  while (words.size() < (4u << 20)) words.append(99, 'x').append(" ");
  words.resize((4u << 20) - 1);
  words += "x";
  EXPECT_EQ(error(words), "");
  EXPECT_EQ(error(words + "x"),
            "2: Task A: its line is 4,194,305 bytes long, but at most 4,194,304 are sent to a "
            "node; pass the arguments in a file");
  // The system's limits are the nodes'.
  EXPECT_EQ(error(start + std::string(131'072, 'y')), "");
}

TEST(Dag, BoundsErrors) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x" + std::string(5000, 'y') + "\n";
  Read read = ReadText(text, 7);
  EXPECT_EQ(read.dag.error_count, 1000u);
  ASSERT_EQ(read.dag.errors.size(), 7u);
  EXPECT_LT(read.dag.errors[0].text.size(), 300u);
}

TEST(Dag, LongAndEmptyTexts) {
  EXPECT_EQ(ReadText("").dag.tasks, 0u);
  EXPECT_EQ(ReadText("\n\n# x\n").dag.tasks, 0u);
  std::string text = "TASK A /bin/echo " + std::string(100'000, 'x') + "\nTASK B x";
  EXPECT_EQ(ReadText(text).names, (Argv{"A", "B"}));
}

// Arguments that are written with every special character behind a backslash come back.
TEST(DagTask, QuotedArgumentsComeBack) {
  Prng prng(3);
  constexpr std::string_view kBytes = "ab \t\"'\\-=#";
  for (int round = 0; round < 2000; ++round) {
    Argv argv;
    std::string text;
    for (uint64_t n = 1 + prng.Below(4); n > 0; --n) {
      std::string word;
      std::string quoted = "\"";
      for (uint64_t length = prng.Below(6); length > 0; --length) {
        char c = kBytes[prng.Below(kBytes.size())];
        word += c;
        if (c == '"' || c == '\'' || c == '\\') quoted += '\\';
        quoted += c;
      }
      text += quoted + "\"" + (prng.Chance(50) ? " " : "");
      argv.push_back(word);
    }
    EXPECT_EQ(SplitDagArguments(text), argv) << text;
  }
}

}  // namespace
}  // namespace spate::format
