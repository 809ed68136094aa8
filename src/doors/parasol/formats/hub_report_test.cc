#include "doors/parasol/formats/hub_report.h"

#include <gtest/gtest.h>

namespace spate::parasol {
namespace {

std::tm Utc(int64_t seconds) {
  std::tm fields{};
  time_t time = seconds;
  gmtime_r(&time, &fields);
  return fields;
}

TEST(HubReportTest, Status) {
  EXPECT_EQ(HubStatusText({.cpus_total = 8,
                           .cpus_free = 5,
                           .cpus_busy = 3,
                           .nodes_total = 4,
                           .nodes_dead = 1,
                           .nodes_sick = 2,
                           .jobs_running = 10,
                           .jobs_waiting = 11,
                           .jobs_finished = 12,
                           .jobs_crashed = 13,
                           .spokes_free = 30,
                           .spokes_busy = 14,
                           .spokes_dead = 15,
                           .active_batches = 16,
                           .total_batches = 17,
                           .active_users = 18,
                           .total_users = 19,
                           .days_up = 1.5}),
            "CPUs total: 8\nCPUs free: 5\nCPUs busy: 3\nNodes total: 4\nNodes dead: 1\n"
            "Nodes sick?: 2\nJobs running:  10\nJobs waiting:  11\nJobs finished: 12\n"
            "Jobs crashed:  13\nSpokes free: 30\nSpokes busy: 14\nSpokes dead: 15\n"
            "Active batches: 16\nTotal batches: 17\nActive users: 18\nTotal users: 19\n"
            "Days up: 1.500000\nVersion: 12.20\n");
}

TEST(HubReportTest, Machines) {
  HubMachine busy{.name = "n1.cluster.edu", .good = 5, .failed = 1};
  busy.running = {{"ann", "blat a b"}, {"bob-the-builder", "x"}};
  EXPECT_EQ(MachinesText(std::vector<HubMachine>{
                busy, {.name = "n2"}, {.name = "n3", .failed = 2, .dead = true}}),
            "n1.cluster.edu good 5, err 1, running ann        blat a b \n"
            "n1.cluster.edu good 5, err 1, running bob-the-builder x \n"
            "n2         good 0, err 0, idle\n"
            "n3         good 0, err 2, dead\n");
}

TEST(HubReportTest, Jobs) {
  std::vector<HubJob> jobs = {{.id = 7,
                               .user = "ann",
                               .command = "blat a b",
                               .host = "n1.cluster.edu",
                               .submitted = 1795166880,
                               .started = 1795166888,
                               .results = "/d/para.results"},
                              {.id = 123456,
                               .user = "bob",
                               .command = "x",
                               .submitted = 1795166880,
                               .results = "/e/results"}};
  EXPECT_EQ(JobsText(jobs, false, Utc),
            "7    n1         ann        2026/11/20 09:28:08 blat a b\n"
            "123456 none       bob        2026/11/20 09:28:00 x\n");
  EXPECT_EQ(JobsText(jobs, true, Utc),
            "7    n1         ann        2026/11/20 09:28:08 blat a b /d/para.results\n"
            "123456 none       bob        2026/11/20 09:28:00 x /e/results\n");
}

TEST(HubReportTest, UsersBatchesSick) {
  EXPECT_EQ(UsersText(std::vector<HubUser>{{.name = "ann",
                                            .running = 1,
                                            .waiting = 2,
                                            .finished = 3,
                                            .active_batches = 4,
                                            .total_batches = 5,
                                            .priority = 10,
                                            .max_job = -1}}),
            "ann 1 jobs running, 2 waiting, 3 finished, 4 of 5 batches active, priority=10, "
            "maxJob=-1\n");
  EXPECT_EQ(BatchesText(std::vector<HubBatch>{{.user = "ann",
                                               .running = 1,
                                               .waiting = 2,
                                               .done = 3,
                                               .crashed = 4,
                                               .priority = 10,
                                               .cpus = 0.5,
                                               .ram = 5ull << 29,
                                               .planned = 6,
                                               .mean_minutes = 7.9,
                                               .results = "/d/e/para.results"}}),
            "#user     run   wait   done crash pri max cpu  ram  plan min batch\n"
            "ann         1      2      3     4  10  -1   1  2.5g    6   7 /d/e/\n");
  EXPECT_EQ(BatchesText({}),
            "#user     run   wait   done crash pri max cpu  ram  plan min batch\n");
  EXPECT_EQ(SickText(std::vector<std::string>{"n1", "n2"}, 3),
            "n1\nn2\nStrength of evidence: 3 users\n");
  EXPECT_EQ(SickText({}, 3), "");
}

TEST(HubReportTest, Pstat) {
  std::vector<HubJob> jobs = {{.id = 7,
                               .user = "ann",
                               .command = "/bin/blat a b",
                               .host = "n1.edu",
                               .submitted = 1,
                               .started = 2},
                              {.id = 8, .user = "bob", .command = "x y", .submitted = 3}};
  EXPECT_EQ(PstatText(jobs), "r 7 ann blat 2 n1.edu\nq 8 bob x 3 none\n");
  EXPECT_EQ(Pstat2Text(jobs), "r 7 ann blat 2 n1.edu\nq 8\n");
  EXPECT_EQ(Pstat2CountsText(12, 24), "Total Jobs: 12\n");
  EXPECT_EQ(Pstat2CountsText(12, 25),
            "Total Jobs: 12\nSick Batch: consecutive crashes (25) >= sick batch threshold (25)\n");
  EXPECT_EQ(ResultsSizeText(99), "Results Size: 99\n");
}

TEST(HubReportTest, Plan) {
  EXPECT_EQ(PlanText({.cpu_unit = 1,
                      .ram_unit = 2147483648,
                      .default_cpu = 1,
                      .default_ram = 2,
                      .most_cpu = 8,
                      .most_ram = 4,
                      .machines = {{"n1", 8, 4}},
                      .busy = 1,
                      .ready = 2,
                      .blocked = 3,
                      .free = 4,
                      .dead = 5}),
            "cpuUnit=1, ramUnit=2147483648\njob default units: Cpu=1, ram=2\n"
            "max cluster units: Cpu=8, ram=4\n-----\nmach: n1 c=8 cpu units; r=4 ram units\n"
            "# machines: busy 1 ready 2 blocked 3 free 4 dead 5\nend of planning\n");
}

TEST(HubReportTest, NodeStatus) {
  std::vector<NodeStatus> nodes = {{.name = "n1",
                                    .busy = 2,
                                    .cpus = 4,
                                    .job_ids = {"7", "8"},
                                    .running = {"hub 7 ann /d blat", "hub 8 ann /d x"},
                                    .recent = {{"hub 6 ann /d y", 256, 12, 3}}},
                                   {.name = "n2", .busy = 0, .cpus = 2},
                                   {.name = "n3", .reachable = false, .cpus = 9}};
  EXPECT_EQ(NodeStatusText(nodes, false),
            "n1 2 of 4 CPUs busy. Jobs: 7 8\nn2 0 of 2 CPUs busy\nn3 unreachable\n"
            "2 of 6 CPUs busy total\n");
  EXPECT_EQ(NodeStatusText(nodes, true),
            "n1 running hub 7 ann /d blat\nn1 running hub 8 ann /d x\nn1 recent hub 6 ann /d y\n"
            "n1 result 256 12 3\nn1 summary 2 running 1 recent\n\n"
            "n2 summary 0 running 0 recent\n\nn3 unreachable\n2 running, 1 recent\n");
}

}  // namespace
}  // namespace spate::parasol
