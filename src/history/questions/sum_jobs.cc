// Totals of jobs.
#include "history/job_rows.h"
#include "history/question.h"

namespace spate::history {
namespace {

Result<JobSums> SumsOf(const Source& source, JobId id) {
  auto job = TRY(JobRows::Open(source, id, std::nullopt));
  auto journal = TRY(source.history->Open(id.value));
  auto pace = TRY(journal->Pace());
  JobSums sums;
  sums.job = id;
  sums.user = job.row().user;
  sums.name = job.Name();
  if (!job.hidden()) sums.cwd = job.row().cwd;
  sums.row_kind = job.kind();
  sums.counts = job.row().counts;
  sums.weight = pace.policy.weight;
  sums.max_running = pace.policy.max_running;
  sums.mean_wall = pace.mean_wall;
  return sums;
}

Status Answer(const Asking& call, const wire::SumJobs& asked) {
  TRY(NeedHub(call.source));
  for (JobId job : asked.jobs) {
    auto sums = SumsOf(call.source, job);
    if (!sums && IsNotThere(sums.error())) continue;
    if (!sums) return std::unexpected(std::move(sums.error()));
    TRY(call.SendAnswer(*sums));
  }
  return {};
}

}  // namespace

extern const JournalQuestion kSumJobs =
    QuestionOf<wire::SumJobs, Answer>({.who = kAnybody, .tells = "user, state and counts of jobs"});

}  // namespace spate::history
