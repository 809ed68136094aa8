#include "apps/parasol_facts.h"

#include <gtest/gtest.h>

namespace spate::apps {
namespace {

TEST(ParasolFactsTest, AreWhatTheyWere) {
  ParasolFacts facts;
  facts.runs = {{JobId(3), 7, 1795166880, "n1.cluster.edu"}, {JobId(4), 99'999'999, 0, "n2"}};
  facts.waiting = {{JobId(3), {8, 1'000'000}}};
  facts.machines = {{.name = "n1", .good = 5, .failed = 1}, {.name = "n 2", .dead = true}};
  facts.batches = {{JobId(3),
                    {.user = "ann",
                     .running = 1,
                     .waiting = 2,
                     .done = 3,
                     .crashed = 4,
                     .priority = 100,
                     .max_job = -1,
                     .cpus = 0.5,
                     .ram = 5ull << 30,
                     .planned = 6}}};
  ParasolFacts read = DecodeFacts(EncodeFacts(facts));
  EXPECT_EQ(read.runs, facts.runs);
  EXPECT_EQ(read.waiting, facts.waiting);
  EXPECT_EQ(format::MachinesText(read.machines), format::MachinesText(facts.machines));
  ASSERT_EQ(read.batches.size(), 1u);
  EXPECT_EQ(read.batches[0].job, JobId(3));
  EXPECT_EQ(format::BatchesText(std::vector{read.batches[0].figures}),
            format::BatchesText(std::vector{facts.batches[0].figures}));
}

}  // namespace
}  // namespace spate::apps
