#include "view/results_table.h"

#include <gtest/gtest.h>

#include "view/testing_view.h"

namespace spate::cli {
namespace {

class ResultsTableTest : public testing::Test {
 protected:
  std::string PathOf(const std::string& name) { return folder_.path() + "/" + name; }
  void Write(const std::string& name, bool append, TaskIndex index, const std::string& out,
             const std::string& err = "") {
    ViewTexts texts;
    texts.command = [](TaskIndex i) { return "run " + std::to_string(i) + ", \"x\""; };
    texts.values = [](TaskIndex) { return std::vector<std::string>{"a,b", "c"}; };
    auto table = ResultsTable::Open(PathOf(name), append, texts, nullptr);
    ASSERT_TRUE(table);
    AttemptEnd end = EndOf(index);
    end.start = {};
    end.wall = Duration::Millis(1500);
    end.stdout_total = out.size();
    (*table)->OnEnded({.end = end, .verdict = engine::Verdict::kRetry, .output = Wrote("no")});
    (*table)->OnEnded(
        {.end = end, .verdict = engine::Verdict::kSucceeded, .output = Wrote(out, err)});
  }
  TestFolder folder_;
};

TEST_F(ResultsTableTest, Forms) {
  EXPECT_EQ(TableFormOf("a.csv"), TableForm::kCsv);
  EXPECT_EQ(TableFormOf("d/a.tsv"), TableForm::kTsv);
  EXPECT_EQ(TableFormOf("a.json"), TableForm::kJson);
  EXPECT_EQ(TableFormOf("csv"), std::nullopt);
  EXPECT_EQ(TableFormOf(""), std::nullopt);
}

TEST_F(ResultsTableTest, RowsAreThoseOfParallel) {
  Write("t.csv", false, 1, "one\n\"two\"\n", "e");
  EXPECT_EQ(
      folder_.Get("t.csv"),
      "Seq,Host,Starttime,JobRuntime,Send,Receive,Exitval,Signal,Command,V1,V2,Stdout,Stderr\n"
      "2,:,0.000,1.500,0,10,0,0,\"run 1, \"\"x\"\"\",\"a,b\",c,\"one\n\"\"two\"\"\n\",e\n");
  Write("t.tsv", false, 0, "a\tb");
  EXPECT_TRUE(folder_.Get("t.tsv").ends_with("\"run 0, \"\"x\"\"\"\ta,b\tc\t\"a\tb\"\t\n"));
  Write("t.json", false, 0, "a\n\"b\"");
  EXPECT_EQ(folder_.Get("t.json"),
            "{ \"Seq\": 1, \"Host\": \":\", \"Starttime\": 0.000, \"JobRuntime\": 1.500, \"Send\": "
            "0, \"Receive\": 5, \"Exitval\": 0, \"Signal\": 0, \"Command\": \"run 0, \\\"x\\\"\", "
            "\"V\": [ \"a,b\",\"c\" ], \"Stdout\": \"a\\n\\\"b\\\"\", \"Stderr\": \"\" }\n");
}

TEST_F(ResultsTableTest, JsonOfBytesThatAreNoTextIsBase64) {
  Write("t.json", false, 0, "\xff\xfe", "fine");
  EXPECT_TRUE(folder_.Get("t.json").ends_with(
      "\"Command\": \"run 0, \\\"x\\\"\", \"V\": [ \"a,b\",\"c\" ], "
      "\"Stdout_base64\": \"//4=\", \"Stderr\": \"fine\" }\n"));
}

TEST_F(ResultsTableTest, WhatIsMissingAfterAKill) {
  for (const char* name : {"t.csv", "t.json"}) {
    Write(name, false, 2, "5,x\n9,y\n");  // rows inside a cell are none
    std::string whole = folder_.Get(name);
    folder_.Put(name, whole + "4,:,\"cut");
    auto missing = MissingInTable(PathOf(name), {{1, 3}, {8, 1}});
    ASSERT_TRUE(missing);
    EXPECT_EQ(*missing, (std::vector<TaskRange>{{1, 1}, {3, 1}, {8, 1}})) << name;
    EXPECT_EQ(folder_.Get(name), whole);
    Write(name, true, 3, "more");
    EXPECT_TRUE(MissingInTable(PathOf(name), {{2, 2}})->empty());
  }
  EXPECT_EQ(MissingInTable(PathOf("none.csv"), {{0, 2}}).value(), (std::vector<TaskRange>{{0, 2}}));
}

}  // namespace
}  // namespace spate::cli
