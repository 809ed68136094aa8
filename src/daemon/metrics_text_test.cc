#include "daemon/metrics_text.h"

#include <gtest/gtest.h>

namespace spate::daemon {
namespace {

PoolFacts Pool(std::string name, std::string state, std::string why, std::string trouble) {
  PoolFacts pool;
  pool.policy.name = std::move(name);
  pool.state = std::move(state);
  pool.why = std::move(why);
  pool.trouble = std::move(trouble);
  return pool;
}

TEST(MetricsText, PoolsThatAreStuckAreNamedWithTheReason) {
  const std::string text =
      MetricsText({}, {Pool("well", "on", "", ""), Pool("night", "paused", "until \"Monday\"", ""),
                       Pool("big", "on", "it asks slowly", "squeue: no\nC:\\x")});
  EXPECT_NE(text.find("# TYPE spate_pool_stuck gauge\n"
                      "spate_pool_stuck{pool=\"night\",state=\"paused\",reason=\"until "
                      "\\\"Monday\\\"\"} 1\n"
                      "spate_pool_stuck{pool=\"big\",state=\"on\",reason=\"squeue: "
                      "no\\nC:\\\\x\"} 1\n#"),
            std::string::npos)
      << text;
}

TEST(MetricsText, OfANode) {
  const std::string text = NodeMetricsText(
      {.connected = true, .slots = 8, .running = 3, .waiting = 2, .held = false, .program = "0.1"});
  EXPECT_NE(text.find("spate_node_connected 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("spate_node_tasks{state=\"running\"} 3\n"
                      "spate_node_tasks{state=\"waiting\"} 2\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace spate::daemon
