#include "command/spate/process_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "command/spate/top_view.h"
#include "present/table/text_width.h"

namespace spate::cli {
namespace {

constexpr Instant kThen{1'700'000'000'000'000'000};

ProcessFacts Process(uint32_t pid, uint32_t parent, std::string command) {
  return {.pid = pid,
          .parent = parent,
          .start = 100 + pid,
          .state = ProcessState::kSleeping,
          .cpu = Duration::Seconds(pid),
          .memory = uint64_t{1} << 20,
          .threads = 1,
          .elapsed = Duration::Seconds(100),
          .command = std::move(command)};
}

std::vector<NodeProcesses> Nodes() {
  NodeProcesses n1{.node = "n1"};
  n1.attempts = {{.job = JobId(3), .task = 1, .attempt = 1, .user = "ada", .processes = {}}};
  n1.attempts[0].processes = {Process(10, 9, "sh"), Process(12, 10, "late child"),
                              Process(11, 10, "a\x1b[2J\nb"), Process(13, 11, "grandchild"),
                              Process(14, 9, "daemon")};
  NodeProcesses n2{.node = "n2"};
  n2.attempts = {{.job = JobId(2), .task = 7, .attempt = 2, .user = "bob", .processes = {}}};
  n2.attempts[0].processes = {Process(10, 9, "wrapper"), Process(11, 10, "rank one"),
                              Process(12, 11, "its child"), Process(13, 10, "rank zero")};
  n2.attempts[0].processes[1].rank = 1;
  n2.attempts[0].processes[2].rank = 1;
  n2.attempts[0].processes[3].rank = 0;
  n2.attempts[0].processes[3].gpu_memory = uint64_t{2} << 30;
  return {n1, n2};
}

std::vector<std::string> Ids(const std::vector<ProcessRow>& rows) {
  std::vector<std::string> ids;
  for (const ProcessRow& row : rows) ids.push_back(row.Id());
  return ids;
}

std::string Page(const std::vector<ProcessRow>& rows, bool tree) {
  std::string text;
  WriteProcesses(rows, present::kWholeWidth, false, true, tree,
                 [&](std::string_view line) { text += line; });
  return text;
}

TEST(ProcessRows, AreInTheOrderThatIsWanted) {
  ProcessRows rows;
  EXPECT_TRUE(rows.empty());
  rows.Set(Nodes(), kThen);
  EXPECT_EQ(
      Ids(rows.In(ProcessOrder::kTask, false)),
      (std::vector<std::string>{"2.7@n2:10", "2.7.0@n2:13", "2.7.1@n2:11", "2.7.1@n2:12",
                                "3.1@n1:10", "3.1@n1:11", "3.1@n1:12", "3.1@n1:13", "3.1@n1:14"}));
  EXPECT_EQ(Ids(rows.In(ProcessOrder::kTime, false)).front(), "3.1@n1:14");
  EXPECT_EQ(Ids(rows.In(ProcessOrder::kCpu, false)).front(), "3.1@n1:14");
  EXPECT_EQ(Ids(rows.In(ProcessOrder::kCpu, false)).back(), "3.1@n1:10");
}

TEST(ProcessRows, TheTreeHasChildrenBelowTheirParents) {
  ProcessRows rows;
  rows.Set({Nodes()[0]}, kThen);
  const auto tree = rows.In(ProcessOrder::kTask, true);
  EXPECT_EQ(Page(tree, true),
            "PROCESS    USER  STATE     CPU  TIME  MEMORY  THREADS  ELAPSED  COMMAND\n"
            "3.1@n1:10  ada   sleeping  10%   10s  1.0 MB        1    1m40s  sh\n"
            "3.1@n1:11  ada   sleeping  11%   11s  1.0 MB        1    1m40s    a\\x1b[2J\\nb\n"
            "3.1@n1:13  ada   sleeping  13%   13s  1.0 MB        1    1m40s      grandchild\n"
            "3.1@n1:12  ada   sleeping  12%   12s  1.0 MB        1    1m40s    late child\n"
            "3.1@n1:14  ada   sleeping  14%   14s  1.0 MB        1    1m40s  daemon\n");
}

TEST(ProcessRows, ALoopOfParentsEndsNothing) {
  NodeProcesses node{.node = "n"};
  node.attempts = {{.job = JobId(1), .task = 1, .attempt = 1, .user = "u", .processes = {}}};
  node.attempts[0].processes = {Process(1, 2, "one"), Process(2, 1, "two"), Process(3, 3, "own")};
  ProcessRows rows;
  rows.Set({node}, kThen);
  EXPECT_EQ(rows.In(ProcessOrder::kTask, true).size(), 3u);
}

TEST(ProcessRows, LoadIsThatSinceTheLastLook) {
  ProcessRows rows;
  auto answers = Nodes();
  rows.Set(answers, kThen);
  EXPECT_DOUBLE_EQ(rows.In(ProcessOrder::kTask, false)[4].load, 0.1);
  ProcessFacts& process = answers[0].attempts[0].processes[0];
  process.cpu = process.cpu + Duration::Seconds(3);
  process.elapsed = process.elapsed + Duration::Seconds(2);
  rows.Set(answers, kThen + Duration::Seconds(2));
  EXPECT_DOUBLE_EQ(rows.In(ProcessOrder::kTask, false)[4].load, 1.5);
  EXPECT_DOUBLE_EQ(rows.In(ProcessOrder::kTask, false)[5].load, 0);
  process.start = 999;  // another one with its number
  rows.Set(answers, kThen + Duration::Seconds(4));
  EXPECT_DOUBLE_EQ(rows.In(ProcessOrder::kTask, false)[4].load, 13.0 / 102);
}

TEST(ProcessRows, RanksAreTheirTopmostProcesses) {
  ProcessRows rows;
  rows.Set(Nodes(), kThen);
  std::string text;
  for (const ProcessRow& row : rows.Ranks()) text += RankLine(row);
  EXPECT_EQ(text, "2.7\t0\tn2\t13\n2.7\t1\tn2\t11\n");
}

TEST(ProcessRows, JsonHasAllOfAProcess) {
  ProcessRows rows;
  rows.Set({Nodes()[1]}, kThen);
  EXPECT_EQ(JsonOfProcess(rows.In(ProcessOrder::kTask, false)[1]),
            "{\"type\":\"process\",\"v\":2,\"id\":\"2.7.0@n2:13\",\"job\":2,\"task\":7,"
            "\"attempt\":2,\"node\":\"n2\",\"user\":\"bob\",\"load\":0.13,\"pid\":13,\"parent\":10,"
            "\"start\":113,\"rank\":0,\"state\":\"sleeping\",\"cpu\":13,\"memory\":1048576,"
            "\"threads\":1,\"elapsed\":100,\"command\":\"rank zero\",\"gpu_memory\":2147483648}\n");
}

TEST(ProcessRows, MissingOnesAreTold) {
  EXPECT_EQ(
      MissingText({{.node = "n3", .left_out = 1200},
                   {.node = "n\n1", .why = "the node does not answer"},
                   {.node = "n2"}}),
      (std::vector<std::string>{"node n3 has more processes (1,200); name fewer jobs to see them",
                                "processes on node n\\n1 are missing: the node does not answer"}));
}

TEST(TopView, ShowsProcesses) {
  TopView view;
  view.Set({}, kThen);
  EXPECT_FALSE(view.shows_processes());
  view.Press(TopKey::kProcesses);
  ASSERT_TRUE(view.shows_processes());
  EXPECT_EQ(view.Draw({}, kThen).back(), "");
  auto answers = Nodes();
  answers.push_back({.node = "n3", .why = "away"});
  view.SetProcesses(answers, kThen);
  const auto screen = view.Draw({}, kThen);
  ASSERT_GT(screen.size(), 10u);
  EXPECT_TRUE(screen[3].starts_with("PROCESS "));
  EXPECT_TRUE(screen[4].starts_with("3.1@n1:14 ")) << screen[4];
  EXPECT_EQ(screen.back(), "processes on node n3 are missing: away");
  for (uint32_t rows = 1; rows < 20; ++rows) {
    EXPECT_EQ(view.Draw({.columns = 80, .rows = rows}, kThen).size(), rows);
  }
  view.Press(TopKey::kProcesses);
  EXPECT_FALSE(view.shows_processes());
}

}  // namespace
}  // namespace spate::cli
