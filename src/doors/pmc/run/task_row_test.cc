#include "doors/pmc/run/task_row.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class TaskRowTest : public testing::Test {
 protected:
  TaskBody Body(const std::string& row, bool strict = false, uint16_t slot = 2) {
    Options options;
    options.strict_limits = strict;
    JobSettings settings;
    settings.row_kind = RowKind::kDagTask;
    settings.cwd = temp_.path();
    const SlotSurroundings second{{"GPU=2", "PMC_TASK=none"}, {3, 5}};
    auto job = MakeDialect(options, {1, 4}, {{}, second})->Compile(settings, JobId(1));
    EXPECT_TRUE(job);
    auto body = (*job)->Body(row, {.index = 0, .slot = slot});
    EXPECT_TRUE(body) << row;
    return body.value_or(TaskBody());
  }
  static bool Has(const TaskBody& body, const std::string& variable) {
    return std::ranges::find(body.environment, variable) != body.environment.end();
  }
  os::TempDir temp_;
};

TEST_F(TaskRowTest, TasksSeeWhatTheyAre) {
  TaskBody body = Body("TASK A.1 -m 10.5 -c 3 /bin/true x");
  for (const char* variable :
       {"PMC_TASK=A.1", "PMC_MEMORY=11", "PMC_CPUS=3", "PMC_RANK=4", "PMC_HOST_RANK=1"}) {
    EXPECT_TRUE(Has(body, variable)) << variable;
  }
  body = Body("TASK B /bin/true", false, 1);
  for (const char* variable : {"PMC_MEMORY=0", "PMC_CPUS=1", "PMC_RANK=1", "PMC_HOST_RANK=0"}) {
    EXPECT_TRUE(Has(body, variable)) << variable;
  }
}

TEST_F(TaskRowTest, TasksHaveTheSurroundingsOfTheirSlot) {
  TaskBody body = Body("TASK A /bin/true");
  EXPECT_TRUE(Has(body, "GPU=2"));
  EXPECT_EQ(body.cpus, (std::vector<uint16_t>{3, 5}));
  EXPECT_EQ(body.environment[1], "PMC_TASK=none") << "PMC_TASK=A comes later, and counts";
  body = Body("TASK A /bin/true", false, 1);
  EXPECT_FALSE(Has(body, "GPU=2"));
  EXPECT_TRUE(body.cpus.empty());
}

TEST_F(TaskRowTest, ProgramsAreLookedForInTheCurrentFolderFirst) {
  auto program = [this](const std::string& name) {
    return Body("TASK A " + name).steps.front().commands.front().argv.front();
  };
  EXPECT_EQ(program("prog"), "prog");
  temp_.Write("prog", "#!/bin/sh\n");
  EXPECT_EQ(program("prog"), "prog") << "it may not be executed";
  ASSERT_EQ(chmod(temp_.Path("prog").c_str(), 0755), 0);
  EXPECT_EQ(program("prog"), temp_.Path("prog"));
  EXPECT_EQ(program("./prog"), "./prog");
}

// The system's limits hold on the host.
TEST_F(TaskRowTest, ArgumentsMayBeLong) {
  const std::string words = "TASK A /bin/true" + std::string(1'999'000, ' ') + "x";
  EXPECT_EQ(Body(words).steps.front().commands.front().argv.size(), 2u);
  std::string many = "TASK A /bin/true";
  for (int i = 0; i < 200'000; ++i) many += " x";
  EXPECT_EQ(Body(many).steps.front().commands.front().argv.size(), 200'001u);
  EXPECT_EQ(Body("TASK A /bin/true " + std::string(140'000, 'y')).steps.size(), 1u);
}

// The original counted in 32 bits: 5000 MB were 904.
TEST_F(TaskRowTest, LimitsAreStrictOnlyWhereAskedAndOfAnySize) {
  EXPECT_TRUE(Body("TASK A -m 100 /bin/true").limits.empty());
  EXPECT_TRUE(Body("TASK A /bin/true", true).limits.empty());
  for (uint64_t mb : {1ull, 5000ull, 100'000ull}) {
    auto limits = Body("TASK A -m " + std::to_string(mb) + " /bin/true", true).limits;
    ASSERT_EQ(limits.size(), 3u);
    for (const ProcessLimit& limit : limits) EXPECT_EQ(limit.most, mb << 20);
  }
}

}  // namespace
}  // namespace spate::pmc
