// All questions that there are, as docs/SECURITY.md shows them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "history/question.h"
#include "hub/answers/question.h"

namespace spate::daemon {
namespace {

using wire::LoopCost;
using wire::QuestionRow;

std::vector<QuestionRow> AllRows() {
  std::vector<QuestionRow> rows;
  for (const hub::HubQuestion* each : hub::HubQuestions()) rows.push_back(each->row);
  for (const history::JournalQuestion* each : history::JournalQuestions()) {
    rows.push_back(each->row);
  }
  std::ranges::sort(rows, {}, &QuestionRow::number);
  return rows;
}

std::string TextOf(const LoopCost& cost) {
  std::string text = fmt::format("{} µs", cost.once / 1000);
  auto add = [&](uint32_t each, const char* what) {
    if (each > 0) text += fmt::format(" + {} µs a {}", each / 1000.0, what);
  };
  add(cost.node, "node");
  add(cost.run, "running task");
  add(cost.job, "job");
  add(cost.listed, "job (1,000 at most)");
  add(cost.task, "task (a million at most)");
  add(cost.user, "user");
  add(cost.named, "job or task named");
  return text;
}

TEST(Questions, HaveANumberEach) {
  const std::vector<QuestionRow> rows = AllRows();
  EXPECT_EQ(std::ranges::adjacent_find(rows, {}, &QuestionRow::number), rows.end());
  for (const QuestionRow& row : rows) {
    EXPECT_NE(row.number, 0u) << row.name;
    EXPECT_EQ(wire::IsOfJournal(row.number), history::FindQuestion(row.number) != nullptr)
        << row.name;
  }
}

TEST(Questions, ThePageOnSecurityHasThem) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "needs SPATE_SOURCE";
  std::ifstream file(std::string(source) + "/docs/SECURITY.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string table;
  for (const QuestionRow& row : AllRows()) {
    table += fmt::format("| {} | {} | {} | {} |\n", row.name, WordOf(row.who), row.tells,
                         TextOf(row.cost));
  }
  EXPECT_TRUE(text.str().contains(table)) << table;
}

}  // namespace
}  // namespace spate::daemon
