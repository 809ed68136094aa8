// How fast job lists and placeholders are read: nanoseconds a line, the best of five, and the
// budgets that they must keep. Answers are checked before anything is timed. Exit 1: over budget.

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/check.h"
#include "format/expand.h"
#include "format/joblist/reader.h"
#include "format/sources/sources.h"

namespace spate::format {
namespace {

constexpr int kLines = 1'000'000;
constexpr int kRounds = 5;

bool over_budget = false;

template <typename Work>
void Measure(const char* what, double budget_ns, int count, Work&& work) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / count);
  }
  std::printf("%-46s %8.0f ns each   budget %6.0f\n", what, best, budget_ns);
  over_budget = over_budget || best > budget_ns;
}

// About 50 bytes a line.
std::string MakeList(bool clauses) {
  std::string text;
  for (int i = 0; i < kLines; ++i) {
    text += clauses ? "sort {check in exists in/" + std::to_string(i) + "} {use cpu 2} -o x\n"
                    : "convert -resize 50 in/image" + std::to_string(1'000'000 + i) + ".png a\n";
  }
  return text;
}

// Reads it in pieces of 64 KB, as from a file; returns how many lines are tasks.
int ReadList(std::string_view text) {
  constexpr size_t kPiece = 65536;
  JobListReader reader;
  int tasks = 0;
  auto take = [&] {
    while (auto entry = reader.Next()) tasks += entry->parsed ? 1 : 0;
  };
  for (size_t at = 0; at < text.size(); at += kPiece) {
    reader.Feed(text.substr(at, kPiece));
    take();
  }
  reader.Finish();
  take();
  return tasks;
}

void MeasureLists() {
  for (bool clauses : {false, true}) {
    std::string text = MakeList(clauses);
    CHECK(ReadList(text) == kLines);
    Measure(clauses ? "list line with two clauses, validated" : "plain list line, validated",
            clauses ? 1000 : 250, kLines, [&] { CHECK(ReadList(text) == kLines); });
  }
}

void MeasureExpand(const char* what, const JobSettings& settings, std::string_view row,
                   size_t words) {
  auto job = CompileJob(settings, JobId(1));
  CHECK(job);
  constexpr int kCount = 200'000;
  Measure(what, 1000, kCount, [&] {
    for (int i = 0; i < kCount; ++i) {
      auto body = Expand(*job, row, static_cast<TaskIndex>(i), 1);
      CHECK(body->steps[0].commands[0].argv.size() == words);
    }
  });
}

void MeasureTemplates() {
  JobSettings settings;
  MeasureExpand("body of a plain list line", settings, "convert -resize 50 in/image1.png a", 5);
  MeasureExpand("body of a list line for a shell", settings, "convert in/image1.png > a", 3);
  settings.row_kind = RowKind::kValues;
  settings.command = {"convert", "-resize", "50", "{}", "{/.}.gif"};
  MeasureExpand("body of argv with two placeholders", settings, "in/image1.png", 5);
  settings.command = {"convert -resize 50 {} > {/.}.gif"};
  MeasureExpand("body of shell text with two placeholders", settings, "in/image1.png", 3);
}

void MeasureRows() {
  std::vector<std::string_view> thousand(1000, "value");
  Measure("row of two sources", 250, kLines, [&] {
    auto rows = RowGenerator::Make({{thousand, false}, {thousand, false}}, {});
    std::string row;
    int count = 0;
    while (*rows->Next(&row)) ++count;
    CHECK(count == kLines);
  });
}

int Main() {
  MeasureLists();
  MeasureTemplates();
  MeasureRows();
  return over_budget ? 1 : 0;
}

}  // namespace
}  // namespace spate::format

int main() { return spate::format::Main(); }
