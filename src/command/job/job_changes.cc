#include "command/job/job_changes.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

Result<JobSelector> UnfinishedOf(const HubScreen& screen, std::string_view user) {
  constexpr uint32_t kUnfinished = 1u << static_cast<uint32_t>(JobStanding::kRunning) |
                                   1u << static_cast<uint32_t>(JobStanding::kQueued) |
                                   1u << static_cast<uint32_t>(JobStanding::kHeld) |
                                   1u << static_cast<uint32_t>(JobStanding::kFrozen) |
                                   1u << static_cast<uint32_t>(JobStanding::kFreezing);
  JobSelector selector;
  wire::ListJobs question;
  question.kinds = kUnfinished;
  question.most = UINT64_MAX;
  TRY(client::Query(screen.hub, std::move(question), [&](const wire::JobsListed& listed) {
    for (const JobFacts& job : listed.jobs) {
      if (job.user == user) selector.ranges.push_back({job.job.value, job.job.value, 1});
    }
  }));
  if (selector.ranges.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("user {} has no unfinished jobs", EscapeForScreen(user)));
  }
  return selector;
}

}  // namespace

std::string JobsText(const std::vector<JobId>& jobs) {
  if (jobs.size() == 1) return fmt::format("job {}", jobs.front().value);
  return present::CountOf(jobs.size(), "job");
}

Result<JobSelector> NamedJobs(const HubScreen& screen) {
  const auto user = screen.words.Last(opt::kJobsOfUser);
  if (!user && screen.words.words.empty()) {
    return Fail(ErrorKind::kInvalid, "name the jobs, or --user NAME for all of a user's");
  }
  if (!user) return SelectJobs(screen.words.words);
  if (screen.words.words.empty()) return UnfinishedOf(screen, *user);
  return Fail(ErrorKind::kInvalid, "--user means all unfinished jobs of a user; name no other job");
}

Status TellSame(const HubScreen& screen, const std::vector<JobId>& jobs, std::string_view are) {
  for (JobId job : jobs) {
    if (screen.form == OutputForm::kJson) {
      TRY(PutChange(screen, job, "none"));
    } else {
      screen.Report(fmt::format("job {} {}", job.value, are));
    }
  }
  return {};
}

Status PutChange(const HubScreen& screen, JobId job, std::string_view change,
                 std::optional<uint32_t> tasks) {
  return screen.write_out(present::JsonOf("changed", "job", job, "change", change, "tasks", tasks));
}

Result<int> ChangeJobs(const HubScreen& screen, wire::ChangeJobs question, std::string_view text) {
  auto jobs = TRY(NamedJobs(screen));
  question.jobs = std::move(jobs);
  auto done = TRY(client::QueryOne(screen.hub, std::move(question)));
  TRY(TellSame(screen, done.ended));
  const bool by_user = screen.words.Last(opt::kJobsOfUser).has_value();
  if (!by_user) TRY(TellSame(screen, done.free, "is not held"));
  // The order was not carried out as a whole.
  const bool all = done.ended.empty() && (by_user || done.free.empty());
  const int code = all ? kExitSuccess : kExitCouldNotRun;
  if (screen.form == OutputForm::kJson) {
    for (JobId job : done.changed) {
      TRY(PutChange(screen, job, text.substr(0, text.find_first_of(" ;"))));
    }
    return code;
  }
  if (done.changed.empty() && all) screen.Report("no job is running");
  if (!done.changed.empty()) screen.Report(fmt::format("{} {}", JobsText(done.changed), text));
  return code;
}

}  // namespace spate::cli
