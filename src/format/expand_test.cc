#include "format/expand.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::format {
namespace {

TEST(ExpandListLine, CommandAndOutputChecks) {
  auto job = CompileJob(JobSettings{}, JobId(7));
  ASSERT_TRUE(job);
  auto body = Expand(*job, "sort {check in exists a} {use cpu 2} -o {check out line+ b}", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, std::vector<Step>({{{{{"sort", "a", "-o", "b"}}}}}));
  EXPECT_EQ(body->output_checks,
            std::vector<Check>({{CheckWhen::kOut, CheckKind::kLinePlus, "b"}}));
  body = Expand(*job, "sort a > {check out line+ b}", 0, 1);
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, std::vector<Step>({{{{{"/bin/sh", "-c", "sort a > b"}}}}}));
  EXPECT_EQ(CommandText(*job, "sort a > {check out line+ b}", 0, 1), "sort a > b");
  EXPECT_EQ(CommandText(*job, "a {check", 0, 1), "a {check");
  EXPECT_FALSE(Expand(*job, "a {check", 0, 1));
}

}  // namespace
}  // namespace spate::format
