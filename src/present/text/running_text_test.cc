#include "present/text/running_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace spate::present {
namespace {

constexpr Duration kRun = Duration::Seconds(65);

std::vector<RunningFacts> TwoParts() {
  return {{.task = 1, .attempt = 2, .node = "n1", .since = {}, .first_rank = 0, .ranks = 2},
          {.task = 1, .attempt = 2, .node = "n2", .since = {}, .first_rank = 2, .ranks = 2}};
}

const RunUse kUse{.user = Duration::Seconds(60),
                  .system = Duration::Seconds(5),
                  .memory = 3 << 20,
                  .peak = 5 << 20,
                  .source = MemorySource::kCgroup};

TEST(RunningTextTest, UseStandsWithItsPart) {
  const std::vector<std::optional<RunUse>> uses = {std::nullopt, kUse};
  auto lines = RunningLines(TwoParts(), Instant{} + kRun, false, uses);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].ends_with("(1m05s)")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("ranks 2-3 on node n2 since ")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("(1m05s), CPU 1m05s, memory 3.0 MB, peak 5.0 MB")) << lines[1];
}

TEST(RunningTextTest, JsonHasTheUseOrNull) {
  const std::vector<std::optional<RunUse>> uses = {kUse};  // of the second nothing was asked
  const std::string json = RunningJson(TwoParts(), Instant{} + kRun, uses).text;
  EXPECT_NE(json.find("\"first_rank\":0,\"ranks\":2,\"user\":60,\"system\":5,\"memory\":3145728,"
                      "\"peak_memory\":5242880,\"memory_source\":\"cgroup\",\"limits\":[]}"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"first_rank\":2,\"ranks\":2,\"user\":null,\"system\":null,\"memory\":null,"
                      "\"peak_memory\":null,\"memory_source\":null,\"limits\":[]}"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace spate::present
