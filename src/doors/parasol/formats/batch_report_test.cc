#include "doors/parasol/formats/batch_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::parasol {
namespace {

constexpr int64_t kStart = 1795166888;  // Friday, 20 November 2026, 09:28:08

std::tm Utc(int64_t seconds) {
  std::tm fields{};
  time_t time = seconds;
  gmtime_r(&time, &fields);
  return fields;
}

ParasolJob Job(std::string command, std::vector<ParasolSubmission> submissions = {}) {
  return {.command = command, .submissions = std::move(submissions), .spec = "{spec} " + command};
}

ParasolSubmission Done(int64_t seconds) {
  return {.id = "1",
          .host = "n1",
          .submitted = kStart,
          .started = kStart,
          .ended = kStart + seconds,
          .got_status = true,
          .ran_ok = true};
}
ParasolSubmission Crashed(int32_t status) {
  return {.id = "2",
          .host = "n2",
          .cpu_seconds = 1.25,
          .submitted = kStart,
          .started = kStart,
          .ended = kStart + 90,
          .status = status,
          .got_status = true,
          .crashed = true};
}
ParasolSubmission Running(int64_t started) {
  return {.id = "3", .host = "n3", .submitted = kStart, .started = started, .running = true};
}

TEST(BatchReportTest, Check) {
  EXPECT_EQ(CheckText({}), "total jobs in batch: 0\n");
  CheckReport report{.counts = {.unsubmitted = 1,
                                .submission_errors = 2,
                                .queue_errors = 3,
                                .tracking_errors = 4,
                                .queued = 5,
                                .crashed = 6,
                                .slow = 7,
                                .hung = 8,
                                .running = 9,
                                .ran_ok = 10,
                                .failed = 11,
                                .jobs = 12},
                     .sick = {{"n1", 3}, {"n2", 4}}};
  EXPECT_EQ(CheckText(report),
            "unsubmitted jobs: 1\nsubmission errors: 2\nqueue errors: 3\ntracking errors: 4\n"
            "queued and waiting: 5\ncrashed: 6\nslow (> 4320 minutes): 7\nhung (> 0 minutes): 8\n"
            "running: 9\nranOk: 10\nfailed 4 times: 11\ntotal jobs in batch: 12\n"
            "total sick machines: 2 failures: 7\n");
  report = {.counts = {.tracking_errors = 1, .slow = 1, .hung = 1, .failed = 1, .jobs = 1},
            .missing_results = "/d/para.results",
            .warn_minutes = 5,
            .kill_minutes = 6,
            .tries = 7};
  EXPECT_EQ(CheckText(report),
            "/d/para.results: file not found.  paraHub can't write to this dir?\n"
            "slow (> 5 minutes): 1\nhung (> 6 minutes): 1\nfailed 7 times: 1\n"
            "total jobs in batch: 1\n");
  report.counts.tracking_errors = 0;
  EXPECT_EQ(CheckText(report).find("paraHub"), std::string::npos);
}

TEST(BatchReportTest, Counts) {
  ParasolSubmission slow = Running(kStart), hung, queued, lost, refused, error;
  slow.slow = hung.hung = queued.in_queue = refused.submit_error = error.queue_error = true;
  lost.tracking_error = 3;
  std::vector<ParasolJob> jobs = {
      Job("a"),
      Job("b", {Done(1), Crashed(256)}),
      Job("c", {Crashed(256), Crashed(11)}),
      Job("d", {Crashed(256)}),
      Job("e", {slow}),
      Job("f", {hung}),
      Job("g", {queued, lost}),
      Job("h", {lost, lost}),
      Job("i", {refused}),
      Job("j", {error}),
  };
  BatchCounts counts = CountJobs(jobs, 2);
  EXPECT_EQ(CheckText({.counts = counts, .tries = 2}),
            "unsubmitted jobs: 1\nsubmission errors: 1\nqueue errors: 1\ntracking errors: 1\n"
            "queued and waiting: 1\ncrashed: 2\nslow (> 4320 minutes): 1\nhung (> 0 minutes): 1\n"
            "running: 1\nranOk: 1\nfailed 2 times: 2\ntotal jobs in batch: 10\n");
  EXPECT_EQ(counts.other, 4u);
}

TEST(BatchReportTest, Times) {
  // Times that Parasol printed.
  std::vector<ParasolJob> jobs = {Job("a", {Done(0)}),      Job("b", {Done(0)}),
                                  Job("c", {Done(0)}),      Job("d", {Done(2)}),
                                  Job("e", {Crashed(256)}), Job("f", {Crashed(256)})};
  EXPECT_EQ(TimesText(SumTimes(jobs, kStart + 100)),
            "Completed: 4 of 6 jobs\n"
            "Crashed: 2 jobs\n"
            "CPU time in finished jobs:          0s       0.00m     0.00h    0.00d  0.000 y\n"
            "IO & Wait Time:                     2s       0.03m     0.00h    0.00d  0.000 y\n"
            "Average job time:                   1s       0.01m     0.00h    0.00d\n"
            "Longest finished job:               2s       0.03m     0.00h    0.00d\n"
            "Submission to last job:             2s       0.03m     0.00h    0.00d\n"
            "Estimated complete:                 0s       0.00m     0.00h    0.00d\n");
  ParasolSubmission queued, lost, long_done = Done(86400 * 400);
  queued.in_queue = true;
  queued.submitted = lost.submitted = kStart;
  lost.tracking_error = 3;
  long_done.cpu_seconds = 86400 * 500;
  jobs = {Job("a", {long_done}),
          Job("b", {Running(kStart)}),
          Job("c", {Running(kStart + 40)}),
          Job("d", {queued}),
          Job("e", {lost}),
          Job("f")};
  EXPECT_EQ(TimesText(SumTimes(jobs, kStart + 100)),
            "Completed: 1 of 6 jobs\n"
            "Jobs currently running: 2\n"
            "Other count: 1 jobs\n"
            "In queue waiting: 1 jobs\n"
            "CPU time in finished jobs:   43200000s  720000.00m 12000.00h  500.00d  1.370 y\n"
            "IO & Wait Time:                     0s       0.00m     0.00h    0.00d  0.000 y\n"
            "Time in running jobs:             160s       2.67m     0.04h    0.00d  0.000 y\n"
            "Average job time:            34560000s  576000.00m  9600.00h  400.00d\n"
            "Longest running job:              100s       1.67m     0.03h    0.00d\n"
            "Longest finished job:        34560000s  576000.00m  9600.00h  400.00d\n"
            "Submission to last job:      34560000s  576000.00m  9600.00h  400.00d\n"
            "Estimated complete:          86400000s 1440000.00m 24000.00h 1000.00d\n");
  ParasolSubmission hung;
  hung.hung = true;
  jobs = {Job("a", {hung}), Job("b", {Crashed(256)})};
  EXPECT_TRUE(TimesText(SumTimes(jobs, kStart))
                  .starts_with("Completed: 0 of 2 jobs\nCrashed: 2 "
                               "jobs\nCPU time"));
  jobs.clear();
  EXPECT_EQ(TimesText(SumTimes(jobs, kStart)),
            "Completed: 0 of 0 jobs\n"
            "CPU time in finished jobs:          0s       0.00m     0.00h    0.00d  0.000 y\n"
            "IO & Wait Time:                     0s       0.00m     0.00h    0.00d  0.000 y\n");
}

TEST(BatchReportTest, Problems) {
  std::vector<std::string> messages = {"o1 does not exist", "o2 is empty"};
  EXPECT_EQ(ProblemText(Job("out.sh a"), Crashed(768), messages, "no\nluck", Utc),
            "job: out.sh a\nid: 2\nfailure type: crash\nhost: n2\n"
            "start time: Fri Nov 20 09:28:08 2026\nreturn: 3\no1 does not exist\no2 is empty\n"
            "stderr:\nno\nluck\n\n");
  EXPECT_EQ(ProblemText(Job("a"), Crashed(11), {}, "", Utc),
            "job: a\nid: 2\nfailure type: crash\nhost: n2\n"
            "start time: Fri Nov 20 09:28:08 2026\nreturn: signal 11\nstderr:\n\n");
  EXPECT_EQ(ProblemText(Job("a"), Crashed(0x8b), {}, "x\n", Utc),
            "job: a\nid: 2\nfailure type: crash\nhost: n2\n"
            "start time: Fri Nov 20 09:28:08 2026\nreturn: signal 11\nstderr:\nx\n\n");
  struct Case {
    bool hung, slow;
    int32_t tracking_error;
    std::string_view problem;
  };
  for (const Case& c : std::vector<Case>{{true, true, 0, "hung"},
                                         {false, true, 0, "slow"},
                                         {false, false, 3, "tracking error"},
                                         {false, false, 0, ""}}) {
    ParasolSubmission submission = Running(kStart);
    submission.hung = c.hung;
    submission.slow = c.slow;
    submission.tracking_error = c.tracking_error;
    EXPECT_EQ(ProblemOf(submission), c.problem);
    EXPECT_EQ(ProblemText(Job("a"), submission, messages, "x", Utc),
              "job: a\nid: 3\nfailure type: " + std::string(c.problem) + "\n\n");
  }
  EXPECT_EQ(ProblemsTotalText(2), "2 problems total\n");
}

TEST(BatchReportTest, Status) {
  ParasolSubmission hung = Running(kStart), queued{.id = "5"}, lost{.id = "6"};
  hung.hung = true;
  queued.in_queue = true;
  lost.tracking_error = 3;
  std::vector<ParasolJob> jobs = {
      Job("a\tb"), Job("c", {Done(7)}), Job("d", {Done(7), Crashed(256)}),
      Job("e", {Running(kStart)}), Job("f", {hung}), Job("g", {queued}), Job("h", {lost}),
      // Once more after a crash: the newest one tells the state, and the first one all else.
      Job("i", {Running(kStart), Crashed(256)}), Job("j", {queued, Crashed(256)})};
  EXPECT_EQ(StatusText(jobs, kStart + 60),
            "#state\ttries\treal\tcpu\thost\tjobid\tcmd\n"
            "unsub\t0\t0.00\t0.00\t\t\ta b\n"
            "done\t1\t7.00\t0.00\tn1\t1\tc\n"
            "done\t2\t90.00\t1.25\tn2\t2\td\n"
            "run\t1\t60.00\t0.00\tn3\t\te\n"
            "hung\t1\t60.00\t0.00\tn3\t\tf\n"
            "queue\t1\t0.00\t0.00\t\t5\tg\n"
            "track\t1\t0.00\t0.00\t\t6\th\n"
            "run\t2\t60.00\t0.00\tn2\t\ti\n"
            "queue\t2\t90.00\t1.25\tn2\t2\tj\n");
}

TEST(BatchReportTest, RunningAndHippos) {
  ParasolSubmission slow = Running(kStart);
  slow.slow = true;
  std::vector<ParasolJob> jobs = {Job("a", {slow}), Job("b", {Running(kStart + 3540)}),
                                  Job("c", {Done(3), Running(kStart)}), Job("d")};
  const std::string a =
      "command: a\njobId: 3\nhost: n3\nstart time: Fri Nov 20 09:28:08 2026\n"
      "run time so far: 3600 sec,  60.00 min, 1.00 hours,  0.04 days\n"
      "This is a slow job, running time > 4320 minutes.\n\n";
  const std::string b =
      "command: b\njobId: 3\nhost: n3\nstart time: Fri Nov 20 10:27:08 2026\n"
      "run time so far: 60 sec,  1.00 min, 0.02 hours,  0.00 days\n\n";
  int64_t now = kStart + 3600;
  EXPECT_EQ(RunningText(jobs, now, std::nullopt, 4320, Utc), a + b + "total jobs running: 2\n");
  EXPECT_EQ(RunningText(jobs, now, 0, 4320, Utc), a + b + "total hippos running: 2\n");
  EXPECT_EQ(RunningText(jobs, now, 1, 4320, Utc), a + "total hippos running: 1\n");
  EXPECT_EQ(RunningText(jobs, now, 60, 4320, Utc), "total hippos running: 0\n");
}

TEST(BatchReportTest, JobLines) {
  ParasolSubmission hung = Running(kStart);
  hung.hung = true;
  std::vector<ParasolJob> jobs = {Job("a"), Job("b", {Done(1), Crashed(1)}),
                                  Job("c", {Crashed(1), Crashed(1)}), Job("d", {Crashed(1)}),
                                  Job("e", {hung})};
  EXPECT_EQ(JobLinesText(jobs, JobsListed::kFinished, 2), "{spec} b\n");
  EXPECT_EQ(JobLinesText(jobs, JobsListed::kCrashed, 2), "{spec} c\n{spec} d\n");
  EXPECT_EQ(JobLinesText(jobs, JobsListed::kFailed, 2), "{spec} c\n");
  EXPECT_EQ(JobLinesText(jobs, JobsListed::kHung, 2), "{spec} e\n");
}

TEST(BatchReportTest, SickNodes) {
  EXPECT_EQ(SickNodesText(std::vector<SickNode>{{"n1", 3}, {"n2", 4}}),
            "n1 3\nn2 4\ntotal sick machines: 2 failures: 7\n");
  EXPECT_EQ(SickNodesText({}), "total sick machines: 0 failures: 0\n");
}

}  // namespace
}  // namespace spate::parasol
