#include "daemon/schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace spate::daemon {
namespace {

// Programs of other versions, journals and settings depend on each line: a number keeps its type
// and its meaning, and new fields and values have new numbers.
TEST(Schema, IsTheCommittedOne) {
  const char* source = std::getenv("SPATE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "SPATE_SOURCE does not say where docs/ is";
  std::ifstream file(std::string(source) + "/docs/formats/schema.jsonl");
  std::stringstream committed;
  committed << file.rdbuf();
  EXPECT_TRUE(Schema() == committed.str())
      << "when only lines were added: spate __schema --json > docs/formats/schema.jsonl";
}

// One field, value or question would be read as another.
TEST(Schema, HasEachNumberOnceInAType) {
  std::istringstream lines(Schema());
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    const std::string number = line.substr(0, line.find(R"(,"name":)"));
    if (line.find(R"("number":)") < number.size()) EXPECT_TRUE(seen.insert(number).second) << line;
  }
  EXPECT_GT(seen.size(), 1'000u);
}

TEST(Schema, NamesWhatJsonLeavesOut) {
  const std::string schema = Schema();
  for (const char* line : {
           R"("HubFacts","number":15,"name":"addresses","json":false,"kind":"list of text"})",
           R"("NodeFacts","number":11,"name":"machine","json":true,"kind":"optional MachineLoad"})",
           R"("JobSettings","number":25,"name":"umask","json":true,"kind":"one more than sint32",)",
           R"("JobPolicy","number":1,"name":"retries","json":true,"kind":"uint32","most":10000)",
           R"("Leftovers","number":1,"name":"wait"})",
       }) {
    EXPECT_NE(schema.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace spate::daemon
