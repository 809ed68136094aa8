#include "hub/door/refusal_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::hub {
namespace {

TEST(RefusalLog, StrangersDoNotFillTheLog) {
  RefusalLog refusals;
  std::vector<std::string> lines;
  auto log = [&](std::string line) { lines.push_back(std::move(line)); };
  const Instant now{Duration::Seconds(1'000'000).ns};
  for (int port = 0; port < 5000; ++port) {
    refusals.Add(now, fmt::format("10.0.0.7:{}", port), "", "no credential", log);
    refusals.Add(now, "unix", "ada", "no such node", log);
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"refused 10.0.0.7: no credential",
                                             "refused user ada: no such node"}));
  lines.clear();
  for (int host = 0; host < 5000; ++host) {
    refusals.Add(now, fmt::format("10.1.{}.{}:5", host / 250, host % 250), "", "no credential",
                 log);
  }
  EXPECT_EQ(lines.size(), 98u);
  lines.clear();
  refusals.Add(now + Duration::Seconds(601), "unix", "ada", "no such node", log);
  EXPECT_EQ(lines, (std::vector<std::string>{"refused 10.0.0.7, 5,000 times: no credential",
                                             "refused user ada, 5,000 times: no such node",
                                             "refused others, 4,902 times",
                                             "refused user ada: no such node"}));
}

}  // namespace
}  // namespace spate::hub
