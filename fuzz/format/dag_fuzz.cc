// Any DAG is read, or refused in words that a terminal takes; other line ends change nothing, and
// what was read can run.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "format/dag/dag.h"

namespace {

using namespace spate::format;

std::string WithCarriageReturns(std::string_view text) {
  std::string lines;
  for (char c : text) lines.append(c == '\n' ? "\r\n" : std::string(1, c));
  return lines;
}

void CheckErrors(const Dag& dag, size_t most) {
  CHECK(dag.errors.size() <= most && dag.errors.size() <= dag.error_count);
  CHECK(dag.errors.size() == most || dag.errors.size() == dag.error_count);
  for (const DagError& error : dag.errors) {
    CHECK(error.line > 0);
    CHECK(error.text.size() < 20'000);
    for (char c : error.text) CHECK(c == '\t' || static_cast<unsigned char>(c) >= 0x20);
  }
}

void CheckEntry(const DagEntry& entry) {
  CHECK(DagTaskName(entry.row) == entry.task.name && !entry.task.argv.empty());
  auto again = ParseDagTask(entry.row);
  CHECK(again && again->argv == entry.task.argv);
  for (const std::string& word : entry.task.argv) {
    CHECK(word.find('\0') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of its own size, so that looking beyond it shows.
  std::vector<char> copy(data, data + size);
  std::string_view text(copy.data(), copy.size());
  size_t most = size % 4 + 1;
  std::vector<std::string> rows;
  std::vector<std::string> other_rows;
  Dag dag = ReadDag(text, most, [&](const DagEntry& entry) {
    CheckEntry(entry);
    rows.emplace_back(entry.row);
  });
  std::string other_text = WithCarriageReturns(text);
  Dag other = ReadDag(other_text, most, [&](const DagEntry& e) { other_rows.emplace_back(e.row); });
  CheckErrors(dag, most);
  CHECK(dag.error_count == other.error_count && rows == other_rows);
  if (dag.error_count > 0) return 0;
  CHECK(dag.tasks == rows.size() && dag.edges == other.edges);
  CHECK(spate::FindCycle(dag.tasks, dag.edges).empty());
  for (const spate::Edge& edge : dag.edges) {
    CHECK(edge.parent < dag.tasks && edge.child < dag.tasks && edge.parent != edge.child);
  }
  return 0;
}
