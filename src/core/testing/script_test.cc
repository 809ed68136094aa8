// The driver itself, over a subject that adds.
#include "core/testing/script.h"

#include <gtest/gtest.h>

namespace spate::script {
namespace {

class Adder : public Subject {
 public:
  void Input(Line& line) override {
    if (line.verb() == "add") {
      sum_ += line.Number("by", 1);
    } else {
      line.Fail("there is no such verb");
    }
  }
  std::vector<std::string> EndBlock() override { return {"sum " + std::to_string(sum_)}; }

 private:
  uint64_t sum_ = 0;
};

std::unique_ptr<Subject> MakeAdder() { return std::make_unique<Adder>(); }

TEST(RunScript, PassesWhatIsExactlyAsWritten) {
  const char* text = "# It adds.\nadd\nadd by=2\n----\nsum 3\n\n# And goes on.\nadd\n----\nsum 4\n";
  Outcome outcome = RunScript(text, MakeAdder);
  EXPECT_TRUE(outcome.problems.empty());
  EXPECT_EQ(outcome.text, text);
}

TEST(RunScript, TellsWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* problem;
    const char* rewritten;
  };
  for (const auto& [text, problem, rewritten] : {
           Case{"add\n----\nsum 2\n", "1: expected: sum 2\n  came:     sum 1",
                "add\n----\nsum 1\n"},
           Case{"add\n----\n", "1: expected: (nothing more)", "add\n----\nsum 1\n"},
           Case{"add\n", "1: expected: (nothing more)", "add\n----\nsum 1\n"},
           Case{"add\n----\nsum 1\nsum 1\n", "came:     (nothing more)", "add\n----\nsum 1\n"},
           Case{"# c\n\nadd by=x\n----\nsum 0\n", "3: add: by=x is no number",
                "# c\n\nadd by=x\n----\nsum 0\n"},
           Case{"add to=2\n----\nsum 1\n", "1: add: does not understand 'to='",
                "add to=2\n----\nsum 1\n"},
           Case{"add\nmul\n----\nsum 1\n", "2: mul: there is no such verb",
                "add\nmul\n----\nsum 1\n"},
       }) {
    Outcome outcome = RunScript(text, MakeAdder);
    ASSERT_FALSE(outcome.problems.empty()) << text;
    EXPECT_NE(outcome.problems[0].find(problem), std::string::npos) << text << outcome.problems[0];
    EXPECT_EQ(outcome.text, rewritten);
  }
}

TEST(Line, TakesWordsApart) {
  Line line("end j2.3 attempt=4 exit=5 wall=20ms");
  AttemptEnd end = line.End(line.Ref());
  EXPECT_EQ(Name(end.ref), "j2.3 attempt=4");
  EXPECT_EQ(Describe(end), "exit=5");
  EXPECT_EQ(end.wall, Duration::Millis(20));
  EXPECT_TRUE(line.Finish());

  Line tasks("x j1.2-4,7");
  auto [job, ranges] = tasks.TaskList();
  EXPECT_EQ(Name(job, ranges), "j1.2-4,7");
  EXPECT_EQ(ranges[0].first, 1u);

  for (const char* wrong : {"x", "x j1", "x j1.0", "x j0.1", "x j1.3-2", "x j1.1,", "x 1.1"}) {
    Line bad(wrong);
    bad.TaskList();
    EXPECT_FALSE(bad.Finish()) << wrong;
  }
}

TEST(Lines, JoinsEqualLinesOfNeighbours) {
  Lines lines;
  lines.AddTask("ended ", JobId(1), 0, " ok");
  lines.AddTask("ended ", JobId(1), 1, " ok");
  lines.AddTask("ended ", JobId(1), 0, " ok");
  lines.AddTask("ended ", JobId(1), 5, " ok");
  lines.AddTask("ended ", JobId(1), 4, " ok");
  lines.AddTask("ended ", JobId(1), 3, " bad");
  lines.Add("x");
  EXPECT_EQ(lines.Take(), (std::vector<std::string>{"ended j1.1-2 ok", "ended j1.1 ok",
                                                    "ended j1.6-5 ok", "ended j1.4 bad", "x"}));
}

}  // namespace
}  // namespace spate::script
