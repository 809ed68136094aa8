#include "doors/parasol/hub/parasol_facts.h"

#include <gtest/gtest.h>

namespace spate::parasol {
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
  facts.users = {{.name = "ann",
                  .running = 1,
                  .waiting = 2,
                  .finished = 3,
                  .active_batches = 4,
                  .total_batches = 5,
                  .priority = 6,
                  .max_job = -1},
                 {.name = "bob", .max_job = 7}};
  facts.status = HubStatus{.cpus_total = 16,
                           .cpus_free = 9,
                           .cpus_busy = 7,
                           .nodes_total = 5,
                           .nodes_dead = 1,
                           .nodes_sick = 2,
                           .jobs_running = 6,
                           .jobs_waiting = 1'000'000,
                           .jobs_finished = 8,
                           .jobs_crashed = 3,
                           .active_batches = 4,
                           .active_users = 10,
                           .days_up = 12.345678};
  facts.unended = {JobId(3), JobId(4)};
  ParasolFacts read = DecodeFacts(EncodeFacts(facts));
  EXPECT_EQ(read.runs, facts.runs);
  EXPECT_EQ(read.waiting, facts.waiting);
  EXPECT_EQ(MachinesText(read.machines), MachinesText(facts.machines));
  EXPECT_EQ(UsersText(read.users), UsersText(facts.users));
  ASSERT_TRUE(read.status);
  EXPECT_EQ(HubStatusText(*read.status), HubStatusText(*facts.status));
  EXPECT_EQ(read.unended, facts.unended);
  ASSERT_EQ(read.batches.size(), 1u);
  EXPECT_EQ(read.batches[0].job, JobId(3));
  EXPECT_EQ(BatchesText(std::vector{read.batches[0].figures}),
            BatchesText(std::vector{facts.batches[0].figures}));
}

}  // namespace
}  // namespace spate::parasol
