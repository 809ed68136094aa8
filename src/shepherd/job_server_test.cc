#include "shepherd/job_server.h"

#include <gtest/gtest.h>

namespace spate::shepherd {
namespace {

TEST(JobServerTest, IsWhatMakeflagsNamesLast) {
  struct Case {
    const char* makeflags;
    int read;
    int write;
  };
  const Case kCases[] = {
      {nullptr, -1, -1},
      {"", -1, -1},
      {"-j4", -1, -1},
      {" -j4 --jobserver-auth=3,4", 3, 4},
      {"--jobserver-fds=5,17 -j", 5, 17},
      {"--jobserver-auth=3,4 --jobserver-auth=8,9 -- A=--jobserver", 8, 9},
      {"-j4 --jobserver-auth=fifo:/tmp/GMfifo12", -1, -1},
      {"--jobserver-auth=3,4 --jobserver-auth=fifo:/tmp/x", -1, -1},
      {"--jobserver-auth=-2,-2", -1, -1},
      {"--jobserver-auth=0,1", -1, -1},
      {"--jobserver-auth=3", -1, -1},
      {"--jobserver-auth=3,", -1, -1},
      {"--jobserver-auth=3,4x", -1, -1},
      {"--jobserver-auth=99999999999,4", -1, -1},
  };
  for (const Case& c : kCases) {
    const JobServer server = JobServerOf(c.makeflags).value_or(JobServer());
    EXPECT_EQ(server.read, c.read) << c.makeflags;
    EXPECT_EQ(server.write, c.write) << c.makeflags;
  }
}

}  // namespace
}  // namespace spate::shepherd
